// Curves over one axis: which is lowest where, and where they cross.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace napkin {

// Values at the axis' points, in their order; none where there is no value. All curves have as many as the axis.
using Curve = std::vector<std::optional<double>>;

// The index of the lowest curve at point `i` (the first of equals), or none.
[[nodiscard]] std::optional<std::size_t> lowest(std::span<const Curve> curves, std::size_t i);

struct Crossing {
  std::size_t before = 0, after = 0;  // neighbouring points between which the lowest curve changes
  std::size_t from = 0, to = 0;       // curves
  std::optional<double> x;            // where straight lines between the points meet; none when a value is missing
};

// `x` strictly increasing, or empty for an axis without numbers (no crossing has an x then). `logarithmic`: lines are
// straight in log x and log y, which needs positive values. A curve leads until another is lower by more than the share
// `tie`, or it has no value.
[[nodiscard]] std::vector<Crossing> crossings(std::span<const double> x, std::span<const Curve> curves,
                                              bool logarithmic, double tie = 0);

}  // namespace napkin
