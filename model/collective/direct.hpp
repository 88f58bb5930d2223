// Transfers that every rank makes to its peers at once: all-to-all, point to point, and the custom all-reduce of
// serving engines.
#pragma once

#include <span>

#include "model/collective/placement.hpp"

namespace napkin {

// All-to-all or send/recv on a tuned scale-up domain; across nodes the part that leaves goes through the rank's NIC.
template <class K>
[[nodiscard]] CollectiveCost<K> direct_cost(const Scope<K>& scope, const CollectiveTuning& tuning, Operation operation,
                                            BytesT<K> bytes, const Placement& p, const Links<K>& links);

// Transfers of unequal sizes, started together: the busiest rank, member 0 of the group, sends sizes[i] to member i
// (its own part is copied; 0 = none). All sizes alike make an all-to-all; few above zero are grouped p2p calls. The
// bytes that leave each tier's domain go through the rank's own link there; the slowest tier counts. InputError on a
// torus, or when sizes are not one a rank.
template <class K>
struct RaggedCost {
  CollectiveCost<K> cost;
  BytesT<K> sent{}, inside{}, across{};  // sent = inside the node + across
  double peers = 0;
};
template <class K>
[[nodiscard]] RaggedCost<K> ragged_cost(const Scope<K>& scope, const Network& network, const Group& group,
                                        std::span<const double> sizes);

// One shot: every rank reads the vectors of all others. Two shots: 1/p of each, then the results. One node only.
template <class K>
[[nodiscard]] CollectiveCost<K> custom_cost(const Scope<K>& scope, const CollectiveTuning& tuning, BytesT<K> bytes,
                                            const Placement& p, const Links<K>& links, Algorithm algorithm);

}  // namespace napkin
