// How far predictions are from measurements, and which samples a fit must not see.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace napkin::fit {

// Size of |predicted/measured − 1| over a set of samples.
struct Residual {
  std::size_t n = 0;
  double median = 0, p90 = 0, bias = 0;  // bias: median signed error
};

// Zeros for an empty set.
[[nodiscard]] Residual residual_of(std::vector<double> relative_errors);

// Whether a shape belongs to the held-out share: FNV-1a of its text, so that the split is the same everywhere.
[[nodiscard]] bool is_held_out(const std::string& shape, double share);

}  // namespace napkin::fit
