// What a search found, timed exactly.
#pragma once

#include <cstddef>

#include "model/search/search.hpp"

namespace napkin {

struct FinalistTiming {
  std::size_t simulated = 0;     // layouts whose pipeline was simulated
  double largest_change = 0;     // of a step time, as a share, towards the simulation
  bool winner_changed = false;
};

// A search ranks by closed forms. Its best layouts, and the best of each value of an axis, are timed once more with the
// pipelines simulated that are not exact in closed form, put in order by that and cut to `keep`. The number shown is the
// number that ranks. Search for `finalists(keep)` layouts: where stages differ much (MTP, dense-first layers) a closed form
// can be some 10 % off. A layout that the simulation finds too large is left out.
[[nodiscard]] constexpr std::size_t finalists(std::size_t keep) { return 4 * keep + 40; }
[[nodiscard]] FinalistTiming time_finalists(const Problem& problem, std::size_t keep, Outcome& outcome,
                                            const Executor& executor = run_in_order);

}  // namespace napkin
