// Transfers that every rank makes to its peers at once: all-to-all, point to point, and the custom all-reduce of
// serving engines.
#pragma once

#include "model/collective/placement.hpp"

namespace napkin {

// All-to-all or send/recv on a tuned scale-up domain; across nodes the part that leaves goes through the rank's NIC.
template <class K>
[[nodiscard]] CollectiveCost<K> direct_cost(const Scope<K>& scope, const CollectiveTuning& tuning, Operation operation,
                                            BytesT<K> bytes, const Placement& p, const Links<K>& links);

// One shot: every rank reads the vectors of all others. Two shots: 1/p of each, then the results. One node only.
template <class K>
[[nodiscard]] CollectiveCost<K> custom_cost(const Scope<K>& scope, const CollectiveTuning& tuning, BytesT<K> bytes,
                                            const Placement& p, const Links<K>& links, Algorithm algorithm);

}  // namespace napkin
