#include "model/search/finalists.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace napkin {

namespace {

FinalistTiming time_these(const Problem& problem, std::size_t keep, Outcome& outcome, const Executor& executor) {
  FinalistTiming timing;
  if (outcome.best.empty()) return timing;
  const Layout first = outcome.best.front().layout;
  for (const auto& of_axis : outcome.best_by_axis)
    for (const auto& [value, c] : of_axis) outcome.best.push_back(c);
  outcome.best.insert(outcome.best.end(), outcome.front.begin(), outcome.front.end());
  std::ranges::sort(outcome.best, better);
  const auto same = std::ranges::unique(outcome.best, {}, &RankedLayout::layout);
  outcome.best.erase(same.begin(), same.end());

  // 1. Those that a simulation times otherwise than a closed form.
  std::vector<RankedLayout*> simulated;
  for (RankedLayout& c : outcome.best)
    if (is_simulated(c.layout, Timing::exact)) simulated.push_back(&c);
  // Layouts of one cut share what their layers cost; a few at a time, so that threads have enough to do.
  const auto cut = [](const RankedLayout* c) { return std::tuple(c->layout.tp, c->layout.cp, c->layout.ep, c->layout.etp); };
  std::ranges::stable_sort(simulated, {}, cut);
  constexpr std::size_t few = 4;
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i < simulated.size(); ++i)
    if (i == 0 || i - begins.back() == few || cut(simulated[i]) != cut(simulated[i - 1])) begins.push_back(i);
  std::vector<StepCost<Plain>> exact(simulated.size());
  executor(begins.size(), [&](std::size_t g) {
    Evaluator<Plain> evaluator(problem.job, Scope<Plain>());
    const std::size_t end = g + 1 < begins.size() ? begins[g + 1] : simulated.size();
    for (std::size_t i = begins[g]; i < end; ++i) exact[i] = evaluator.evaluate(simulated[i]->layout, Timing::exact);
  });
  for (std::size_t i = 0; i < simulated.size(); ++i) {
    const double change = std::abs(double(exact[i].time / simulated[i]->cost.time) - 1);
    timing.largest_change = std::max(timing.largest_change, change);
    simulated[i]->cost = exact[i];
  }
  timing.simulated = simulated.size();

  // 2. A schedule may hold more than its closed form says.
  const Bytes capacity = (1 - problem.margin) * problem.job.hardware->accelerator.capacity.value;
  const auto smallest = std::ranges::min_element(outcome.best, {}, [](const RankedLayout& c) { return c.cost.memory.device.si(); });
  if (smallest->cost.memory.device > capacity) {
    outcome.closest = *smallest;
    outcome.why = Outcome::Why::infeasible;
  }
  std::erase_if(outcome.best, [&](const RankedLayout& c) { return c.cost.memory.device > capacity; });
  std::ranges::sort(outcome.best, better);
  for (auto& of_axis : outcome.best_by_axis)
    for (auto at = of_axis.begin(); at != of_axis.end();) {
      const auto timed = std::ranges::find(outcome.best, at->second.layout, &RankedLayout::layout);
      if (timed == outcome.best.end()) {
        at = of_axis.erase(at);
      } else {
        (at++)->second = *timed;
      }
    }
  if (!outcome.front.empty()) {
    Front front;
    for (const RankedLayout& c : outcome.best) front.add(c);
    outcome.front = front.layouts();
  }
  if (outcome.best.size() > keep) outcome.best.resize(keep);
  timing.winner_changed = outcome.best.empty() || outcome.best.front().layout != first;
  return timing;
}

}  // namespace

FinalistTiming time_finalists(const Problem& problem, std::size_t keep, Outcome& outcome, const Executor& executor) {
  auto timed = static_cast<std::int64_t>(outcome.best.size());
  FinalistTiming timing = time_these(problem, keep, outcome, executor);
  // None of the finalists fits by its exact bytes: others may, of those that fit by their closed forms.
  Problem wider = problem;
  while (outcome.best.empty() && timed < outcome.feasible) {
    wider.keep = std::max<std::size_t>(64, 8 * static_cast<std::size_t>(timed));
    outcome = search(wider, executor);
    timed = static_cast<std::int64_t>(outcome.best.size());
    timing = time_these(problem, keep, outcome, executor);
    timing.winner_changed = true;
  }
  return timing;
}

}  // namespace napkin
