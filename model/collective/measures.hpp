// What a collective moves, what no algorithm can beat, and where the choice changes.
#pragma once

#include <vector>

#include "model/collective/collective.hpp"

namespace napkin {

// busbw / algbw, as nccl-tests counts: 2(n−1)/n all-reduce, (n−1)/n gather, scatter and all-to-all, 1 otherwise.
[[nodiscard]] double bus_factor(Operation o, int ranks);
// Bytes that the busiest rank sends at least; `many` for the limit of many ranks (2V, V, V).
[[nodiscard]] Bytes bytes_sent(Operation o, Bytes bytes, int ranks);
[[nodiscard]] Bytes bytes_sent_by_many(Operation o, Bytes bytes);

// No algorithm is faster: at nominal bandwidth, without any latency, the bytes that have to leave a rank and a node. Where a
// switch reduces, a rank sends an all-reduced vector once instead of 2(n−1)/n times.
// `many`: in the limit of many ranks and domains, (n−1)/n → 1, as it is often quoted.
[[nodiscard]] Seconds lower_bound(const Network& network, Operation o, Bytes bytes, const Group& group,
                                  bool many = false);

// The sizes between `from` and `to` at which the chosen method changes, to within 1 %.
struct Crossover {
  Bytes bytes;
  Method below, above;
};
[[nodiscard]] std::vector<Crossover> crossovers(const Network& network, Operation o, const Group& group, Bytes from,
                                                Bytes to);
// The size between `from` and `to` at which two wishes tie; nothing when one is faster throughout.
[[nodiscard]] std::optional<Bytes> tie(const Network& network, Operation o, const Group& group, const Wish& a,
                                       const Wish& b, Bytes from, Bytes to);

// Below this size the latency part of the chosen method is the longer one (α·B for a single message).
[[nodiscard]] std::optional<Bytes> latency_bound_below(const Network& network, Operation o, const Group& group,
                                                       Method method, Bytes from, Bytes to);

}  // namespace napkin
