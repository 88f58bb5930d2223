// Why one layout is faster, or smaller, than another: term by term.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "model/step/compose.hpp"

namespace napkin {

template <class Q>
struct TermDifference {
  std::string_view name;
  Q first{}, second{};
  [[nodiscard]] Q change() const { return second - first; }
};

// The second (b) against the first (a). Time: the terms of the step; their changes add up to the change of the step
// time. Memory: of each layout's fullest stage; the changes add up to the change of the device's bytes.
struct Difference {
  std::vector<TermDifference<Seconds>> time;  // in the order of the terms
  std::vector<TermDifference<Bytes>> memory;
  [[nodiscard]] Seconds time_change() const;
  [[nodiscard]] Bytes memory_change() const;
};
[[nodiscard]] Difference difference(const StepCost<Plain>& a, const StepCost<Plain>& b);

}  // namespace napkin
