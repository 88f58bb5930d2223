#include "model/search/finalists.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace napkin {

FinalistTiming time_finalists(const Problem& problem, std::size_t keep, Outcome& outcome) {
  FinalistTiming timing;
  if (outcome.best.empty()) return timing;
  Evaluator<Plain> evaluator(problem.job, Scope<Plain>());
  std::map<Layout, StepCost<Plain>> exact;
  const auto time = [&](RankedLayout& c) {
    if (!is_simulated(c.layout, Timing::exact)) return;
    auto [it, fresh] = exact.try_emplace(c.layout);
    if (fresh) {
      it->second = evaluator.evaluate(c.layout, Timing::exact);
      const double change = std::abs(double(it->second.time / c.cost.time) - 1);
      timing.largest_change = std::max(timing.largest_change, change);
    }
    c.cost = it->second;
  };
  const Layout first = outcome.best.front().layout;
  for (RankedLayout& c : outcome.best) time(c);
  for (auto& of_axis : outcome.best_by_axis) {
    for (auto& [value, c] : of_axis) {
      time(c);
      if (std::ranges::find(outcome.best, c.layout, &RankedLayout::layout) == outcome.best.end()) outcome.best.push_back(c);
    }
  }
  std::ranges::sort(outcome.best, better);
  if (outcome.best.size() > keep) outcome.best.resize(keep);
  timing.simulated = exact.size();
  timing.winner_changed = outcome.best.front().layout != first;
  return timing;
}

}  // namespace napkin
