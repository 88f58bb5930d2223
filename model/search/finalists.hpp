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
// pipelines simulated that are not exact in closed form, and put in order by that. The number shown is the number that ranks.
[[nodiscard]] FinalistTiming time_finalists(const Problem& problem, Outcome& outcome);

}  // namespace napkin
