// Which constants the step time hangs on, and what a better machine would buy.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/search/search.hpp"
#include "model/step/constants.hpp"

namespace napkin {

// d ln(step time) / d ln(constant) by differences over ± `step`, one-sided at a bound of the constant, through the evaluator itself: −0.3 means that
// 10 % more of the constant takes about 3 % off the step. `replanned` lets the layout change with the constant.
struct Elasticity {
  ConstantInfo constant;
  double kept = 0;
  std::optional<double> replanned;
  bool layout_changes = false;  // the best layout is another on either side
};
inline constexpr double elasticity_step = 0.05;  // wide enough to average over waves of tiles

// Of every constant that is not zero, in the order of constants_of. The layout must be valid.
// Rates count −1 and times +1 in the unit of time, so the elasticities weighted by that add up to 1 (time_weight):
// every second of the step comes from some constant.
[[nodiscard]] std::vector<Elasticity> elasticities(const Job& job, const Layout& layout);
[[nodiscard]] double time_weight(const std::vector<Elasticity>& all);

// Fills `replanned` and `layout_changes` of each; `best` is the problem's best layout. Two searches a constant.
void replan(const Problem& problem, const Layout& best, const Executor& executor, std::vector<Elasticity>& some);

// A purchase: a group of constants twice as good.
struct Upgrade {
  std::string name;  // "memory bandwidth x2", "nvlink latency / 2"
  std::vector<Scaling> by;
  Seconds kept{};                    // step time of the layout as it is, on the better machine
  std::optional<RankedLayout> best;  // of the best layout there; none where no problem was given
};
// Best first: by the best layout's time, else by the kept one's. `problem` null: the layout is kept.
[[nodiscard]] std::vector<Upgrade> upgrades(const Job& job, const Layout& layout, const Problem* problem,
                                            const Executor& executor);

// The best layout of a problem, timed as the planner times it; none when nothing fits.
[[nodiscard]] std::optional<RankedLayout> best_layout(const Problem& problem, const Executor& executor);

}  // namespace napkin
