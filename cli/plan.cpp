// napkin plan: every layout, ranked.
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/executor.hpp"
#include "cli/plan_decisions.hpp"
#include "cli/plan_view.hpp"
#include "cli/run_flags.hpp"
#include "cli/space_flags.hpp"
#include "model/input/number_input.hpp"

namespace napkin::cli {
namespace {

struct Options {
  JobFlags job;
  SpaceFlags space;
  int top = 10;
  double margin = 1 - fits_below;
  unsigned threads = 0;
  bool rules = false, goodput = false;
  std::string gpu_mttf, restart, node_bandwidth;
  OutputFormat format = OutputFormat::table;
};

Reliability reliability(const Options& o) {
  Reliability r = usual_reliability();
  const auto given = std::make_shared<const Source>(Source{Evidence::assumed, "as given"});
  const auto take = [&](const char* flag, const std::string& text, auto& into, auto read) {
    if (text.empty()) return;
    if (!o.goodput) throw InputError(std::string(flag) + ": belongs to a ranking by goodput; give --goodput too");
    into.value = read_flag(flag, [&] { return read(text); });
    into.source = given;
    if (!(into.value.si() > 0)) throw InputError(fmt::format("{}: \"{}\" is not above zero", flag, text));
  };
  take("--gpu-mttf", o.gpu_mttf, r.unit_mttf, parse_seconds);
  take("--restart", o.restart, r.restart, parse_seconds);
  take("--node-bandwidth", o.node_bandwidth, r.node_bandwidth, parse_bandwidth);
  return r;
}

// By effective step time, of as many of the fastest layouts as it takes to know that none is missing.
EffectiveRanking goodput_ranking(Problem problem, std::size_t top, const Reliability& r, const Executor& executor) {
  constexpr std::size_t most = 5000;
  for (;; problem.keep *= 4) {
    Outcome outcome = search(problem, executor);
    const bool complete = outcome.best.size() < problem.keep;
    (void)time_finalists(problem, problem.keep, outcome, executor);
    EffectiveRanking ranking = rank_by_goodput(problem.job, outcome.best, complete, r, top);
    if (ranking.proven || problem.keep > most) return ranking;
  }
}

void run(const Options& o, Session& session) {
  const Reliability failures = reliability(o);
  RunRequest request;
  request.place = flag_of;
  apply(o.job, request);
  const Run base = resolve(request, false);
  const auto top = static_cast<std::size_t>(o.top);
  const Problem problem{.job = base.job, .space = read_space(o.space), .keep = finalists(top), .margin = o.margin};
  const Executor executor = threads(o.threads);
  const auto start = std::chrono::steady_clock::now();
  Outcome outcome = search(problem, executor);
  const FinalistTiming timing = time_finalists(problem, problem.keep, outcome, executor);
  const std::vector<RankedLayout> candidates = outcome.best;
  if (outcome.best.size() > top) outcome.best.resize(top);
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const Robustness robust = robustness(candidates, base.spread->time.nine_in_ten);
  EffectiveRanking effective;
  if (o.goodput && !outcome.best.empty()) effective = goodput_ranking(problem, top, failures, executor);
  std::vector<Remedy> remedy;
  if (outcome.why == Outcome::Why::infeasible) {
    session.exit_code = 1;
    if (outcome.closest) remedy = remedies(problem, executor);
  }

  if (o.format == OutputFormat::json) {
    auto j = plan_json(request, base, outcome, timing, remedy, o.margin, elapsed);
    if (!outcome.best.empty()) j["robustness"] = robustness_json(robust, candidates);
    if (!effective.best.empty()) j["goodput"] = goodput_json(effective, failures);
    print(j.dump(2) + "\n");
    return;
  }
  if (outcome.best.empty()) {
    print(infeasible_text(base, outcome, remedy, o.margin));
  } else {
    if (o.goodput) print(render(goodput_table(base, effective, candidates, failures, o.format), o.format));
    if (o.goodput && o.format == OutputFormat::csv) return;
    if (o.goodput) print("\n");
    Table ranking = ranking_table(base, outcome, timing, o.format);
    if (std::string line = robustness_line(robust, candidates); !line.empty()) ranking.notes.push_back(std::move(line));
    print(render(ranking, o.format));
    if (o.format != OutputFormat::csv) print("\n" + render(alternatives_table(base, outcome), o.format));
  }
  if (o.rules && o.format != OutputFormat::csv) print("\n" + render(dropped_table(outcome), o.format));
  note(fmt::format("{} layouts evaluated, {} fit; {:.0f} ms", outcome.searched, outcome.feasible, 1e3 * elapsed));
}

}  // namespace

void add_plan(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("plan", "Rank every parallel layout of a model on a cluster, with the reason");
  auto o = std::make_shared<Options>();
  add_job_options(*command, o->job);
  add_space_options(*command, o->space);
  command->add_option("--top", o->top, "Layouts to show (default 10)")->check(CLI::Range(1, 1'000));
  command
      ->add_option("--margin", o->margin,
                   "Share of memory a layout must leave free (default 0.06: runs nearer to the limit often fail)")
      ->check(CLI::Range(0.0, 0.9));
  command->add_option("--threads", o->threads, "Threads of the search (default: one per core)")
      ->check(CLI::Range(1U, 4096U));
  command->add_flag("--rules", o->rules, "Also show how many layouts each rule dropped");
  command->add_flag("--goodput", o->goodput, "Also rank by effective step time: failures, checkpoints, loading the states again");
  command->add_option("--gpu-mttf", o->gpu_mttf, "Mean time to failure of one accelerator (default 50676h: Llama 3)")->type_name("TIME");
  command->add_option("--restart", o->restart, "Detecting and restarting, without loading (default 5min)")->type_name("TIME");
  command->add_option("--node-bandwidth", o->node_bandwidth, "Of one node to the checkpoint store (default 2GB/s)")->type_name("RATE");
  add_format(*command, o->format);
  command->footer("Examples:\n"
                  "  napkin plan --model 100B --gpus 1024 --hw h100.json --seq 4k --batch 4M-tokens\n"
                  "  napkin plan --model deepseek-v3 --gpus 2048 --hw h100 --framework megatron-lm --require ep=64 --max-tp 8");
  command->callback([o, &session] { run(*o, session); });
}

}  // namespace napkin::cli
