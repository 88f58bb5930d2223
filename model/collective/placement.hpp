// Where the members of a group sit: how many inside each tier, and what links carry them out of it.
#pragma once

#include <array>

#include "model/collective/collective.hpp"

namespace napkin {

inline constexpr std::size_t max_tiers = 6;

// Members of a strided group per domain. A domain of tier t holds size_t consecutive accelerators, so it holds
// min(n, max(1, size_t / stride)) members: stride 1 fills the node, stride ≥ node size leaves one member per node. A
// domain that holds whole blocks holds max(1, size_t / jump) of them.
struct Placement {
  int ranks = 1;
  std::size_t tiers = 1;                    // tiers that the group needs: tier `tiers − 1` holds it whole
  std::array<double, max_tiers> members{};  // in one domain of tier t; members[tiers − 1] = ranks
  double nodes = 1;                         // domains of the innermost tier: ceil(ranks / members[0])
  [[nodiscard]] bool one_node() const { return tiers == 1; }
  [[nodiscard]] double per_node() const { return members[0]; }
  // Members in the domain of tier t that has the fewest: the last one, when the ranks do not fill it.
  [[nodiscard]] double narrowest(std::size_t t) const;
  // Bytes for all ranks / bytes for those outside a domain of tier t − 1.
  [[nodiscard]] double spread(std::size_t t) const { return ranks / (ranks - members[t - 1]); }
};
// InputError when the group is larger than the outermost tier or a size or stride is not positive.
[[nodiscard]] Placement place(const Network& network, const Group& group);

// What one accelerator achieves out into a tier: nominal · efficiency / oversubscription.
template <class K>
[[nodiscard]] BytesPerSecondT<K> achieved(const Scope<K>& scope, const Tier& tier);

// The α and B that a collective of this placement sees, in kind K.
template <class K>
struct Links {
  BytesPerSecondT<K> inner;          // one member, inside the innermost tier, achieved by large messages
  BytesPerSecondT<K> inner_nominal;  // the same, nominal
  BytesPerSecondT<K> per_member;     // one member out of its node, in a ring that crosses each tier once per domain
  BytesPerSecondT<K> egress;         // all members of the narrowest domain together, in such a ring
  BytesPerSecondT<K> pair;           // one member to one in another domain of the outermost tier crossed
  BytesPerSecondT<K> spread;         // one member's bytes for all others, its own included, over what leaves the node
  SecondsT<K> hop;                   // latency between nodes at the outermost tier crossed
  SecondsT<K> inner_hop;
};
// Bandwidth of tier t per member: nominal · efficiency / oversubscription. Groups of the same shape run side by side
// and every accelerator brings its own share of the NICs, so a node's egress is members × that share: 8 × 50 GB/s for
// a group that fills the node, 50 GB/s for one with one member per node.
template <class K>
[[nodiscard]] Links<K> links(const Scope<K>& scope, const Network& network, const Placement& p);

}  // namespace napkin
