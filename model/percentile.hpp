// The one percentile of the project.
#pragma once

#include <vector>

namespace napkin {

// The q-quantile (0 ≤ q ≤ 1) by linear interpolation between order statistics: position q·(n − 1). logic_error for an
// empty set.
[[nodiscard]] double percentile(std::vector<double> values, double q);

}  // namespace napkin
