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

// Which shapes a fit must not see: `share` of them; with `fold` another share of the same size, so that 1 / share fits
// hold out every shape once.
struct HeldOut {
  double share = 0;
  int fold = 0;
  HeldOut(double s = 0, int f = 0) : share(s), fold(f) {}  // NOLINT(google-explicit-constructor)
};
// By FNV-1a of the shape's text, so that the split is the same everywhere.
[[nodiscard]] bool is_held_out(const std::string& shape, HeldOut held_out);

}  // namespace napkin::fit
