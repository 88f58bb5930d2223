#include "cli/plan_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/prediction_view.hpp"
#include "cli/cells.hpp"
#include "cli/space_flags.hpp"
#include "model/step/prediction.hpp"
#include "model/text.hpp"

namespace napkin::cli {
namespace {

Run with_layout(const Run& base, const Layout& l) {
  Run run = base;
  run.layout = l;
  return run;
}

Bytes capacity_of(const Run& run) { return run.hardware->accelerator.capacity.value; }

// The figures of a step the search has evaluated.
Prediction<Plain> quoted(const Run& run, const StepCost<Plain>& step) {
  Prediction<Plain> p;
  p.step = step;
  quote(Scope<Plain>(), run.job, run.layout, run.convention, p);
  return p;
}

// The term that grew most from `a` to `b`.
std::string largest_loss(const StepCost<Plain>& a, const StepCost<Plain>& b) {
  std::size_t most = 0;
  for (std::size_t i = 1; i < term_count; ++i)
    if (b.terms[i] - a.terms[i] > b.terms[most] - a.terms[most]) most = i;
  return fmt::format("{} +{}", term_names[most], format(b.terms[most] - a.terms[most]));
}

}  // namespace

Table ranking_table(const Run& base, const Outcome& o, const FinalistTiming& timing, OutputFormat output) {
  const Cells cell(output);
  Table t;
  t.title = fmt::format("{} on {} × {}, {} sequences of {} a step, {}, framework {}", base.model->name,
                        format_count(static_cast<double>(base.job.gpus)), base.hardware->accelerator.title,
                        format_count(static_cast<double>(base.job.batch)),
                        format_count(static_cast<double>(base.job.sequence)), base.job.precision.name,
                        base.profile->name);
  t.columns = {{"rank", true}, {"layout", false},     {cell.title("step", "step_time_s"), true},
               {cell.title("tokens/s/GPU", "tokens_per_s_per_gpu"), true}, {cell.title("MFU", "mfu"), true},
               {cell.title("per GPU", "device_bytes"), true}, {"memory", false}, {"where the time goes", false}};
  for (std::size_t i = 0; i < o.best.size(); ++i) {
    const RankedLayout& c = o.best[i];
    const auto p = quoted(with_layout(base, c.layout), c.cost);
    t.rows.push_back({std::to_string(i + 1), describe(c.layout), cell.time(c.cost.time),
                      fmt::format("{:.1f}", p.tokens_per_gpu.si()),
                      cell.share(double(p.mfu)),
                      cell.gib(c.cost.memory.device),
                      std::string(to_string(verdict(c.cost.memory.device, capacity_of(base)))), reason(c.cost)});
  }
  if (!o.best.empty()) {
    const auto p = quoted(with_layout(base, o.best.front().layout), o.best.front().cost);
    t.notes.push_back(fmt::format("Eight in ten measured runs: the first within {} to {} ({}).", format(p.shortest), format(p.longest),
                                  base.spread->time.basis));
  }
  if (timing.simulated > 0)
    t.notes.push_back(fmt::format("Searched by closed forms; the interleaved finalists are timed by simulation and ranked by that "
                                  "({} layouts, up to {:.1f} % apart).", timing.simulated, 100 * timing.largest_change));
  return t;
}

Table alternatives_table(const Run& base, const Outcome& o) {
  Table t;
  t.title = "Why this one: the best layout with another choice";
  t.columns = {{"instead of", false}, {"take", false}, {"best layout then", false}, {"step", true}, {"slower", true},
               {"mostly", false}};
  const RankedLayout& winner = o.best.front();
  std::vector<Layout> shown;
  for (std::size_t a = 0; a < axis_count; ++a) {
    const auto axis = static_cast<LayoutAxis>(a);
    if (axis == LayoutAxis::micro_batch || axis == LayoutAxis::etp) continue;
    // Between 1F1B and its interleaved form vpp decides.
    if (axis == LayoutAxis::schedule && std::ranges::all_of(o.best_by_axis[a], [](const auto& e) {
          return e.second.layout.schedule == Schedule::one_f_one_b || e.second.layout.schedule == Schedule::interleaved;
        }))
      continue;
    const std::int64_t mine = get_axis(winner.layout, axis);
    const std::pair<const std::int64_t, RankedLayout>* next = nullptr;
    for (const auto& entry : o.best_by_axis[a])
      if (entry.first != mine && (next == nullptr || better(entry.second, next->second))) next = &entry;
    if (next == nullptr || std::find(shown.begin(), shown.end(), next->second.layout) != shown.end()) continue;
    shown.push_back(next->second.layout);
    t.rows.push_back({fmt::format("{} {}", axis_names[a], axis_value(axis, mine)), axis_value(axis, next->first),
                      describe(next->second.layout), format(next->second.cost.time),
                      fmt::format("{:.1f} %", 100 * (double(next->second.cost.time / winner.cost.time) - 1)),
                      largest_loss(winner.cost, next->second.cost)});
  }
  for (const std::string& a : base.assumptions) t.notes.push_back("Assumed: " + a);
  return t;
}

Table dropped_table(const Job& job, const Outcome& o) {
  const RuleSet set(job);
  Table t;
  t.title = "Layouts dropped";
  t.columns = {{"rule", false}, {"layouts", true}};
  for (std::size_t i = 0; i < o.dropped.size(); ++i)
    if (o.dropped[i] > 0) t.rows.push_back({std::string(set.name(i)), format_count(static_cast<double>(o.dropped[i]))});
  t.rows.push_back({"fits in memory", format_count(static_cast<double>(o.searched - o.feasible))});
  return t;
}

std::string infeasible_text(const Run& base, const Outcome& o, const WayOut& out, double margin) {
  if (!o.closest) {
    // No layout passed the rules: name the last rule that any of them came to.
    const RuleSet set(base.job);
    std::size_t most = o.dropped.size();
    for (std::size_t i = 0; i < o.dropped.size(); ++i)
      if (o.dropped[i] > 0 && (most == o.dropped.size() || set.needs(i) >= set.needs(most))) most = i;
    if (most == o.dropped.size()) return "No layout is left: the limits given exclude every one.\n";
    return fmt::format("No layout is valid on {} GPUs with {} sequences of {}: the last rule to drop any was \"{}\" [{}]; "
                       "--rules counts them all.\n",
                       base.job.gpus, base.job.batch, base.job.sequence, set.name(most), set.source(most));
  }
  const StageMemory<Plain>& m = o.closest->cost.memory;
  std::string s = fmt::format("No layout of {} fits: the smallest needs {} of {} per GPU{}, most of it {}: {}.\n",
                              base.model->name, format_gib(m.device), format_gib(capacity_of(base)),
                              m.device > capacity_of(base)
                                  ? fmt::format(" ({} too many)", format_gib(m.device - capacity_of(base)))
                                  : std::string(", which leaves less than the margin free"),
                              dominant_term(m), describe(o.closest->layout));
  if (m.device <= capacity_of(base)) s += "It would fit without the margin: --margin 0 ranks such layouts.\n";
  s += "What would make it fit:\n";
  s += fmt::format("  an accelerator with {} usable ({:.0f} % margin)\n", format_gib(m.device / (1 - margin)), 100 * margin);
  for (const Remedy& r : out.remedies)
    s += r.kind == Remedy::Kind::more_gpus
             ? fmt::format("  {} GPUs: {} in {}\n", format_count(static_cast<double>(r.value)),
                           describe(r.layout.layout), format_gib(r.layout.cost.memory.device))
             : fmt::format("  sequences of {} tokens: {} in {}\n", format_count(static_cast<double>(r.value)),
                           describe(r.layout.layout), format_gib(r.layout.cost.memory.device));
  for (const Fix& f : out.fixes)
    s += fmt::format("  {}: {} in {}, {:+.1f} % GPU time a token{}\n", fmt::join(f.changes, " and "), describe(f.layout),
                     format_gib(f.cost.memory.device), 100 * f.slowdown, f.same_training ? "" : "; changes the training");
  return s;
}

nlohmann::ordered_json plan_json(const RunRequest& request, const Run& base, const Outcome& o, const FinalistTiming& timing,
                                 const WayOut& out, double margin, double elapsed_s) {
  nlohmann::ordered_json j;
  j["schema"] = 1;
  j["layouts"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < o.best.size(); ++i) {
    const RankedLayout& c = o.best[i];
    const Run run = with_layout(base, c.layout);
    const auto p = quoted(run, c.cost);
    auto& breakdown = j["layouts"].emplace_back(nlohmann::ordered_json{
        {"rank", i + 1},
        {"run", run_record_json(request, run)},
        {"step_time_s", c.cost.time.si()},
        {"tokens_per_s_per_gpu", p.tokens_per_gpu.si()},
        {"mfu", double(p.mfu)},
        {"memory", memory_json(c.cost.memory, capacity_of(base))},
        {"interval", interval_json(run, p)},
        {"reason", reason(c.cost)}})["breakdown_s"];
    for (std::size_t t = 0; t < term_count; ++t) breakdown[std::string(term_names[t])] = c.cost.terms[t].si();
  }
  j["searched"] = o.searched;
  j["pruned"] = 0;
  j["feasible"] = o.feasible;
  auto& dropped = j["dropped"];
  const RuleSet set(base.job);
  for (std::size_t i = 0; i < o.dropped.size(); ++i) dropped[std::string(set.name(i))] = o.dropped[i];
  dropped["fits in memory"] = o.searched - o.feasible;
  j["elapsed_s"] = elapsed_s;
  j["finalists"] = {{"simulated", timing.simulated},
                    {"largest_change", timing.largest_change},
                    {"winner_changed", timing.winner_changed}};
  j["mfu_convention"] = to_string(base.convention);
  j["assumptions"] = base.assumptions;
  if (o.why == Outcome::Why::infeasible) {
    auto& why = j["infeasible"];
    why["message"] = infeasible_text(base, o, out, margin);
    if (o.closest) {
      why["closest"] = {{"layout", layout_json(o.closest->layout)},
                        {"memory", memory_json(o.closest->cost.memory, capacity_of(base))},
                        {"bytes_over", (o.closest->cost.memory.device - (1 - margin) * capacity_of(base)).si()},
                        {"dominant_term", dominant_term(o.closest->cost.memory)}};
      for (const Fix& f : out.fixes)
        why["fixes"].push_back({{"changes", f.changes}, {"layout", layout_json(f.layout)}, {"gpus", f.job.gpus},
                                {"device_bytes", f.cost.memory.device.si()}, {"step_time_s", f.cost.time.si()},
                                {"gpu_time_per_token_change", f.slowdown}, {"same_training", f.same_training}});
      for (const Remedy& r : out.remedies)
        why["remedies"].push_back({{r.kind == Remedy::Kind::more_gpus ? "gpus" : "seq_len", r.value},
                                   {"layout", layout_json(r.layout.layout)},
                                   {"device_bytes", r.layout.cost.memory.device.si()}});
    }
  }
  return j;
}

}  // namespace napkin::cli
