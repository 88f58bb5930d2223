// Constants of a communication library fitted to measured collectives.
#pragma once

#include <vector>

#include "model/collective/record_input.hpp"

namespace napkin {

struct CollectiveFit {
  CollectiveTuning tuning;
  double mean_error = 0;  // mean |log(predicted / measured)| over the records fitted
  int passes = 0;
};
// Coordinate descent from `start` to the least mean |log(predicted/measured)|; all records are of its generation. Sources
// and kinds of the constants are left as they are.
[[nodiscard]] CollectiveFit fit_collectives(CollectiveTuning start, const std::vector<CollectiveRecord>& records);

}  // namespace napkin
