#include "model/collective/placement.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "model/input_error.hpp"

namespace napkin {

Placement place(const Network& network, const Group& group) {
  if (group.size < 1 || group.stride < 1 || (group.block > 0 && (group.size % group.block != 0 || group.jump < 1)))
    throw InputError("a group of " + std::to_string(group.size) + " ranks with stride " + std::to_string(group.stride) +
                     " does not exist; write a size and a stride of at least 1");
  if (network.tiers.empty() || network.tiers.size() > max_tiers)
    throw InputError("a network has 1 to " + std::to_string(max_tiers) + " tiers, this one has " +
                     std::to_string(network.tiers.size()));
  Placement p;
  p.ranks = group.size;
  const long long span = group.span();
  for (std::size_t t = 0; t < network.tiers.size(); ++t) {
    const long long size = network.tiers[t].size;
    const bool whole = group.size == 1 || size == 0 || span <= size;
    const long long of_block = std::max(1LL, size / group.stride);
    const long long inside = group.block == 0 || of_block < group.block ? of_block : group.block * std::max(1LL, size / group.jump);
    p.members[t] = whole ? group.size : static_cast<double>(inside);
    p.tiers = t + 1;
    if (whole) {
      p.nodes = std::ceil(p.ranks / p.members[0]);
      return p;
    }
  }
  throw InputError("a group that spans " + std::to_string(span) + " accelerators does not fit: the outermost tier, " +
                   network.tiers.back().name + ", joins " + std::to_string(network.tiers.back().size));
}

namespace {
BytesPerSecond plain_bandwidth(const Tier& tier) {
  const auto b = tier.bandwidth.value * tier.efficiency.value;
  return tier.oversubscription ? b / tier.oversubscription->value : b;
}
}  // namespace

template <class K>
BytesPerSecondT<K> achieved(const Scope<K>& scope, const Tier& tier) {
  const auto nominal = scope.read("B_" + tier.name, tier.bandwidth);
  const auto efficiency = scope.read("e_" + tier.name, tier.efficiency);
  if (!tier.oversubscription) return nominal * efficiency;
  return nominal * efficiency / scope.read("oversubscription_" + tier.name, *tier.oversubscription);
}
// Plain names nothing: the names above would cost allocations.
template <>
BytesPerSecond achieved<Plain>(const Scope<Plain>&, const Tier& tier) {
  return plain_bandwidth(tier);
}
template BytesPerSecondT<Traced> achieved(const Scope<Traced>&, const Tier&);

double Placement::narrowest(std::size_t t) const {
  const double rest = std::fmod(ranks, members[t]);
  return rest > 0 ? rest : members[t];
}

template <class K>
Links<K> links(const Scope<K>& scope, const Network& network, const Placement& p) {
  const Tier& inner = network.tiers[0];
  Links<K> l;
  l.inner_nominal = scope.read("B_link", inner.bandwidth);
  l.inner = achieved(scope, inner);
  if (inner.topology == Tier::Topology::mesh && inner.size > 2 && p.per_node() < static_cast<double>(inner.size)) {
    // Every pair has its own link: a group uses those between its members.
    const auto part =
        scope.input("links in the group", p.per_node() - 1) / scope.input("links", static_cast<double>(inner.size - 1));
    l.inner = max(part, 1 / static_cast<double>(inner.size - 1)) * l.inner;
  }
  l.inner = let("B_inner", l.inner);
  l.inner_hop = scope.read("hop_link", inner.latency);
  if (p.one_node()) return l;
  // The members of a domain leave it together. A ring crosses tier t once per domain, so what limits it is the least
  // (members of the narrowest domain) · B_t; of an all-to-all, (n − members[t−1]) / n of the bytes cross tier t: the
  // least n/(n − m) · B_t.
  std::size_t ring = 1, all = 1;
  for (std::size_t t = 2; t < p.tiers; ++t) {
    if (p.narrowest(t - 1) * plain_bandwidth(network.tiers[t]) <
        p.narrowest(ring - 1) * plain_bandwidth(network.tiers[ring]))
      ring = t;
    if (p.spread(t) * plain_bandwidth(network.tiers[t]) < p.spread(all) * plain_bandwidth(network.tiers[all])) all = t;
  }
  const std::size_t outermost = p.tiers - 1;
  l.per_member = achieved(scope, network.tiers[ring]);
  l.egress = let("B_egress", scope.input("members per domain", p.narrowest(ring - 1)) * l.per_member);
  l.pair = outermost == ring ? l.per_member : achieved(scope, network.tiers[outermost]);
  l.spread = let("B_spread", scope.input("n / (n - m)", p.spread(all)) *
                                 (all == ring ? l.per_member : achieved(scope, network.tiers[all])));
  l.hop = scope.read("hop_net", network.tiers[outermost].latency);
  return l;
}

template Links<Plain> links(const Scope<Plain>&, const Network&, const Placement&);
template Links<Traced> links(const Scope<Traced>&, const Network&, const Placement&);

}  // namespace napkin
