// Residuals of measured runs by class: what prediction intervals are made of (model/run/residuals.json).
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "model/run/spread_input.hpp"
#include "model/validation/replay.hpp"

namespace napkin::validation {

// Of measured / predicted, over the runs of one class.
struct RangeOf {
  long long n = 0;
  double low = 1, high = 1;  // eight in ten of further runs are expected between: quantiles at (n + 1)·0.1 and (n + 1)·0.9 (vovk2005)
  double nine_in_ten = 0;    // of |predicted / measured − 1|
};
struct ResidualClass {
  std::optional<RangeOf> time, memory;  // memory: reserved bytes, or allocated where that is all there is
};

[[nodiscard]] SpreadKey key_of(const Replay& r);
// Every class of the fallback chain with enough runs; suspect and refused rows count for nothing.
[[nodiscard]] std::map<SpreadKey, ResidualClass> residual_classes(const std::vector<Replay>& rows);
// The class that a run's interval comes from; nothing where even all runs together are too few.
[[nodiscard]] std::optional<RangeOf> nearest_time(const std::map<SpreadKey, ResidualClass>& classes, const SpreadKey& run);

// measured / predicted of a row's step time and memory.
[[nodiscard]] std::optional<double> time_ratio(const Replay& r);
[[nodiscard]] std::optional<double> memory_ratio(const Replay& r);

}  // namespace napkin::validation
