#include "cli/plan_decisions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/cells.hpp"
#include "cli/prediction_view.hpp"
#include "cli/run_flags.hpp"
#include "model/input/number_input.hpp"
#include "model/search/finalists.hpp"
#include "model/text.hpp"

namespace napkin::cli {

std::string robustness_line(const Robustness& r, const std::vector<RankedLayout>& candidates) {
  if (r.holds.empty() || r.interval <= 0) return {};  // no run measured: no interval
  const Hold& w = r.weakest();
  const double percent = 100 * r.interval;
  double regret = 0;
  for (const Hold& h : r.holds) regret = std::max(regret, h.regret);
  if (w.share >= 1)
    return fmt::format(
        "Robust: rank 1 stays first when any one kind of term is off by +-{:.0f} % (the framework's interval) in all "
        "layouts alike.",
        percent);
  std::string s = fmt::format(
      "Robustness, one kind of term off by +-{:.0f} % in all layouts alike: the order hangs most on {}, where rank 1 "
      "stays first over {:.0f} % of the interval",
      percent, w.cause, 100 * w.share);
  if (w.above) s += fmt::format("; from {:+.1f} % on {}", 100 * w.to, describe(candidates[*w.above].layout));
  if (w.below) s += fmt::format("; below {:+.1f} % {}", 100 * w.from, describe(candidates[*w.below].layout));
  return s + fmt::format(". At worst rank 1 is {:.1f} % slower than the best then.", 100 * regret);
}

nlohmann::ordered_json robustness_json(const Robustness& r, const std::vector<RankedLayout>& candidates) {
  nlohmann::ordered_json j{{"interval", r.interval}};
  double regret = 0;
  for (const Hold& h : r.holds) regret = std::max(regret, h.regret);
  j["share"] = r.holds.empty() ? 1.0 : r.weakest().share;
  j["regret"] = regret;
  j["causes"] = nlohmann::ordered_json::array();
  for (const Hold& h : r.holds) {
    auto& c = j["causes"].emplace_back(nlohmann::ordered_json{
        {"cause", h.cause}, {"from", h.from}, {"to", h.to}, {"share", h.share}, {"regret", h.regret}});
    if (h.below)
      c["first_below"] = {{"layout", layout_json(candidates[*h.below].layout)},
                          {"words", describe(candidates[*h.below].layout)}};
    if (h.above)
      c["first_above"] = {{"layout", layout_json(candidates[*h.above].layout)},
                          {"words", describe(candidates[*h.above].layout)}};
  }
  return j;
}

void add_goodput_options(CLI::App& command, GoodputFlags& f) {
  command.add_flag("--goodput", f.on,
                   "Also rank by effective step time: failures, checkpoints, loading the states again");
  command.add_option("--gpu-mttf", f.gpu_mttf, "Mean time to failure of one accelerator (default 50676h: Llama 3)")
      ->type_name("TIME");
  command.add_option("--restart", f.restart, "Detecting and restarting, without loading (default 5min)")
      ->type_name("TIME");
  command.add_option("--node-bandwidth", f.node_bandwidth, "Of one node to the checkpoint store (default 2GB/s)")
      ->type_name("RATE");
}

std::optional<Reliability> read_reliability(const GoodputFlags& f) {
  Reliability r = usual_reliability();
  const auto given = std::make_shared<const Source>(Source{Evidence::assumed, "as given"});
  const auto take = [&](const char* flag, const std::string& text, auto& into, auto read) {
    into.place = flag;
    if (text.empty()) return;
    if (!f.on) throw InputError(std::string(flag) + ": belongs to a ranking by goodput; give --goodput too");
    into.value = read_flag(flag, [&] { return read(text); });
    into.source = given;
    if (!(into.value.si() > 0)) throw InputError(fmt::format("{}: \"{}\" is not above zero", flag, text));
  };
  take("--gpu-mttf", f.gpu_mttf, r.unit_mttf, parse_seconds);
  take("--restart", f.restart, r.restart, parse_seconds);
  take("--node-bandwidth", f.node_bandwidth, r.node_bandwidth, parse_bandwidth);
  return f.on ? std::optional(r) : std::nullopt;
}

EffectiveRanking goodput_ranking(Problem problem, std::size_t top, const Reliability& r, const Executor& executor) {
  constexpr std::size_t most = 5000;
  for (;; problem.keep *= 4) {
    Outcome outcome = search(problem, executor);
    const bool complete = outcome.best.size() < problem.keep;
    // The search leaves out what is slower than this by its closed form; simulation makes that faster by no more than it
    // changed the finalists.
    const Seconds slowest = outcome.best.empty() ? Seconds{} : outcome.best.back().cost.time;
    const FinalistTiming timing = time_finalists(problem, problem.keep, outcome, executor);
    const auto left_out = complete ? std::nullopt : std::optional(std::max(0.0, 1 - timing.largest_change) * slowest);
    EffectiveRanking ranking = rank_by_goodput(problem.job, outcome.best, left_out, r, top);
    if (ranking.proven || problem.keep > most) return ranking;
  }
}

Table goodput_table(const Run& base, const EffectiveRanking& ranking, const std::vector<RankedLayout>& by_time,
                    const Reliability& r, OutputFormat output) {
  const Cells cell(output);
  Table t;
  const Goodput<Plain>& first = ranking.best.front().goodput;
  t.title =
      fmt::format("{} on {} × {}, with failures: ranked by the effective step, step time / goodput", base.model->name,
                  format_count(static_cast<double>(base.job.gpus)), base.hardware->accelerator.title);
  t.columns = {{"rank", true},
               {"by step", true},
               {"layout", false},
               {cell.title("step", "step_time_s"), true},
               {"goodput", true},
               {cell.title("effective step", "effective_step_time_s"), true},
               {cell.title("loading", "load_s"), true},
               {cell.title("per GPU", "device_bytes"), true}};
  for (std::size_t i = 0; i < ranking.best.size(); ++i) {
    const EffectiveLayout& e = ranking.best[i];
    const auto at = std::find_if(by_time.begin(), by_time.end(),
                                 [&](const RankedLayout& l) { return l.layout == e.layout.layout; });
    t.rows.push_back({std::to_string(i + 1), at == by_time.end() ? cell.none() : std::to_string(at - by_time.begin() + 1),
                      describe(e.layout.layout), cell.time(e.layout.cost.time), cell.share(double(e.goodput.goodput)),
                      cell.time(e.goodput.effective), cell.time(e.goodput.load),
                      cell.gib(e.layout.cost.memory.device)});
  }
  t.notes.push_back(
      fmt::format("effective = step / goodput; goodput = tau / (M e^(R/M) (e^((tau + delta)/M) - 1)) at the best tau "
                  "[daly2006]. M = {} / {} GPUs = {}; checkpoint {}, written by all "
                  "nodes at {} in delta = {} each tau = {}; R = {} + what a node's GPUs hold / {}.",
                  format(r.unit_mttf.value), format_count(static_cast<double>(base.job.gpus)), format(first.mttf),
                  format(first.checkpoint), format(r.node_bandwidth.value), format(first.write), format(first.interval),
                  format(r.restart.value), format(r.node_bandwidth.value)));
  const auto given = [](const auto& c) {
    return fmt::format("{} {} ({}: {})", c.place, format(c.value), to_string(c.source->kind), c.source->text);
  };
  t.notes.push_back(given(r.unit_mttf) + "; " + given(r.restart) + "; " + given(r.node_bandwidth));
  if (!ranking.proven)
    t.notes.push_back(
        "Of the fastest layouts by step time only: a slower one might load so much faster that it belongs here.");
  return t;
}

nlohmann::ordered_json goodput_json(const EffectiveRanking& ranking, const Reliability& r) {
  nlohmann::ordered_json j{{"gpu_mttf_s", r.unit_mttf.value.si()},
                           {"restart_s", r.restart.value.si()},
                           {"node_bandwidth_bytes_per_s", r.node_bandwidth.value.si()},
                           {"proven", ranking.proven}};
  j["layouts"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < ranking.best.size(); ++i) {
    const auto& [layout, g] = ranking.best[i];
    j["layouts"].push_back({{"rank", i + 1},
                            {"layout", layout_json(layout.layout)},
                            {"words", describe(layout.layout)},
                            {"step_time_s", layout.cost.time.si()},
                            {"goodput", double(g.goodput)},
                            {"effective_step_time_s", g.effective.si()},
                            {"mttf_s", g.mttf.si()},
                            {"checkpoint_bytes", g.checkpoint.si()},
                            {"write_s", g.write.si()},
                            {"load_s", g.load.si()},
                            {"restart_s", g.restart.si()},
                            {"interval_s", g.interval.si()}});
  }
  return j;
}

}  // namespace napkin::cli
