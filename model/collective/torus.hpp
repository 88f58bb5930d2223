// Collectives on a torus or mesh of point-to-point links (TPU, Trainium), axis by axis (austin2025scaling).
#pragma once

#include <array>
#include <cstddef>

#include "model/collective/collective.hpp"

namespace napkin {

struct Axis {
  int length = 1;
  bool wraps = false;         // the last chip is linked to the first
  bool bidirectional = true;  // both directions of the links are used at once
};
inline constexpr std::size_t max_axes = 4;
struct Axes {
  std::array<Axis, max_axes> axis{};
  std::size_t count = 0;
  [[nodiscard]] const Axis* begin() const { return axis.data(); }
  [[nodiscard]] const Axis* end() const { return axis.data() + count; }
};

// The axes that a group lies on: ranks fill the first axis, then the second ... A group that is shorter than an axis is
// a line without wrap; one that is no box of the torus is a line that snakes through it.
[[nodiscard]] Axes axes_of(const Tier& torus, const Group& group);

// Seconds of a collective over `axes`, `link` = one link, one direction, `hop` = one hop; bytes as in collective.hpp.
// Gather along a closed axis of length L, both directions: ⌊L/2⌋ hops of V/L on each link; one direction or open: L
// − 1. Several axes share the work: 1/T = Σ 1/T_axis. All-reduce = reduce-scatter + all-gather. All-to-all is bound by
// the longest axis (send/recv: between the farthest two, over the links of all axes): a link carries v·L/8 (closed,
// both directions), v·L/4 (open), v·(L−1)/2 (closed, one direction).
template <class K>
[[nodiscard]] CollectiveCost<K> torus_cost(const Scope<K>& scope, Operation operation, BytesT<K> bytes,
                                           const Axes& axes, BytesPerSecondT<K> link, SecondsT<K> hop);

}  // namespace napkin
