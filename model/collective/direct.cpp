#include "model/collective/direct.hpp"

namespace napkin {

template <class K>
CollectiveCost<K> direct_cost(const Scope<K>& scope, const CollectiveTuning& t, Operation o, BytesT<K> bytes,
                              const Placement& p, const Links<K>& l) {
  const DirectConstants& d = t.direct;
  const bool one = o == Operation::send_recv;
  const auto n = scope.input("p", one ? 2.0 : static_cast<double>(p.ranks));
  const auto part = one ? bytes : let("part", bytes / n);  // for one peer
  const auto x0 = scope.read("ramp_size", d.ramp_size);
  auto latency = scope.read("base", d.base) + (n - 1) * scope.read("per_peer", d.per_peer) +
                 scope.read("ramp", d.ramp) * (part * part / (part * part + x0 * x0));
  const auto bus = scope.read("share", d.share) * l.inner;
  CollectiveCost<K> c;
  c.algorithm = to_string(Algorithm::direct).data();
  c.protocol = to_string(Protocol::simple).data();
  SecondsT<K> transfer{};
  if (one) {
    // A single message has the link to itself.
    if (!p.one_node()) latency = latency + l.hop;
    transfer = part / (p.one_node() ? l.inner : l.pair);
  } else if (p.one_node()) {
    transfer = (n - 1) * part / bus + scope.read("copy", d.copy) * part / l.inner;
  } else {
    const auto m = scope.input("m", p.per_node());
    latency = latency + l.hop;
    transfer = max((m - 1) * part / bus, bytes / l.spread);
  }
  c.latency = let("T_latency", latency);
  c.bandwidth = let("T_bandwidth", transfer);
  c.time = let("T", c.latency + c.bandwidth);
  return c;
}

template <class K>
CollectiveCost<K> custom_cost(const Scope<K>& scope, const CollectiveTuning& t, BytesT<K> bytes, const Placement& p,
                              const Links<K>& l, Algorithm a) {
  const bool one = a == Algorithm::one_shot;
  const CustomConstants& k = one ? t.one_shot.value() : t.two_shot.value();
  const auto n = scope.input("p", static_cast<double>(p.ranks));
  const auto bus = scope.read("share", k.share) * l.inner;
  CollectiveCost<K> c;
  c.algorithm = to_string(a).data();
  c.protocol = to_string(Protocol::simple).data();
  c.latency = let("T_latency", scope.read("base", k.base) + (n - 1) * scope.read("per_peer", k.per_peer));
  const auto moved = one ? (n - 1) * bytes : 2 * (n - 1) / n * bytes;
  c.bandwidth = let("T_bandwidth", moved / bus);
  c.time = let("T", c.latency + c.bandwidth);
  return c;
}

template CollectiveCost<Plain> direct_cost(const Scope<Plain>&, const CollectiveTuning&, Operation, Bytes,
                                           const Placement&, const Links<Plain>&);
template CollectiveCost<Traced> direct_cost(const Scope<Traced>&, const CollectiveTuning&, Operation, BytesT<Traced>,
                                            const Placement&, const Links<Traced>&);
template CollectiveCost<Plain> custom_cost(const Scope<Plain>&, const CollectiveTuning&, Bytes, const Placement&,
                                           const Links<Plain>&, Algorithm);
template CollectiveCost<Traced> custom_cost(const Scope<Traced>&, const CollectiveTuning&, BytesT<Traced>,
                                            const Placement&, const Links<Traced>&, Algorithm);

}  // namespace napkin
