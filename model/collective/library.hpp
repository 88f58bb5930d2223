// Collectives as a tuned communication library (NCCL, RCCL) runs them on a switched scale-up domain.
#pragma once

#include "model/collective/placement.hpp"

namespace napkin {

// Measured behaviour: seconds of one method. Protocols and algorithms: hardware/tuning/*.json.
template <class K>
[[nodiscard]] CollectiveCost<K> library_cost(const Scope<K>& scope, const CollectiveTuning& tuning, Operation operation,
                                             BytesT<K> bytes, const Placement& p, const Links<K>& links, Method method);

// The library's own estimate of a method: latency + bytes · per_byte. `runs` is false where it would not consider it.
struct Estimate {
  bool runs = false;
  double latency = 0, per_byte = 0;  // s, s/B
  [[nodiscard]] double time(double bytes) const { return latency + bytes * per_byte; }
};
[[nodiscard]] Estimate library_estimate(const CollectiveTuning& tuning, Operation operation, const Placement& p,
                                        const Links<Plain>& links, bool in_network, Method method);

// Column of LibraryEstimate::ByNodes: one node, two, more.
[[nodiscard]] std::size_t by_nodes(const Placement& p);
// Most bus bandwidth of a tree, as the library's authors measured it.
[[nodiscard]] BytesPerSecond tree_limit(const LibraryEstimate& e, Protocol protocol, std::size_t nodes);

}  // namespace napkin
