#include "model/collective/direct.hpp"

#include <string>

#include "model/input_error.hpp"

namespace napkin {

namespace {

// Starting up transfers of x bytes to each peer: ramp · x² / (x² + x₀²) [+ fill · x / (x + x₁)].
template <class K>
SecondsT<K> starting(const Scope<K>& scope, const DirectConstants& d, BytesT<K> x) {
  const auto x0 = scope.read("ramp_size", d.ramp_size);
  const SecondsT<K> ramp = scope.read("ramp", d.ramp) * (x * x / (x * x + x0 * x0));
  if (!(d.fill.value.si() > 0)) return ramp;
  return ramp + scope.read("fill", d.fill) * (x / (x + scope.read("fill_size", d.fill_size)));
}

}  // namespace

template <class K>
CollectiveCost<K> direct_cost(const Scope<K>& scope, const CollectiveTuning& t, Operation o, BytesT<K> bytes,
                              const Placement& p, const Links<K>& l) {
  const DirectConstants& d = t.direct;
  const bool one = o == Operation::send_recv;
  const auto n = scope.input("p", one ? 2.0 : static_cast<double>(p.ranks));
  const auto part = one ? bytes : let("part", bytes / n);  // for one peer
  auto latency = scope.read("base", d.base) + (n - 1) * scope.read("per_peer", d.per_peer) + starting<K>(scope, d, part);
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
RaggedCost<K> ragged_cost(const Scope<K>& scope, const Network& net, const Group& group,
                          std::span<const double> sizes) {
  const Placement p = place(net, group);
  if (sizes.size() != static_cast<std::size_t>(p.ranks))
    throw InputError(std::to_string(sizes.size()) + " sizes for " + std::to_string(p.ranks) +
                     " ranks; write one for each, the rank's own part first");
  if (net.tiers[0].topology == Tier::Topology::torus || net.tiers[0].topology == Tier::Topology::ring)
    throw InputError("transfers of unequal sizes are not known on a torus; ask for an all-to-all of the largest");
  RaggedCost<K> r;
  if (p.ranks == 1) return r;
  const auto l = links(scope, net, p);
  // Bytes for members beyond the rank's own domain of tier t − 1 leave through its link into tier t.
  std::array<double, max_tiers> beyond{};
  double inside = 0;
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    if (sizes[i] <= 0) continue;
    r.peers += 1;
    std::size_t t = 0;
    while (t + 1 < p.tiers && static_cast<double>(i) >= p.members[t]) ++t;
    (t == 0 ? inside : beyond[t]) += sizes[i];
  }
  for (std::size_t t = p.tiers - 1; t > 1; --t) beyond[t - 1] += beyond[t];
  const auto own = scope.input("own part", Bytes::si(sizes[0]));
  r.inside = scope.input("bytes inside the node", Bytes::si(inside));
  auto bus = l.inner;
  SecondsT<K> latency = beyond[1] > 0 ? l.hop : l.inner_hop;
  SecondsT<K> copied{};
  const auto peers = scope.input("peers", r.peers);
  if (net.tuning && r.peers > 0) {
    const DirectConstants& d = net.tuning->direct;
    bus = scope.read("share", d.share) * l.inner;
    const auto part = let("part", (r.inside + scope.input("bytes across", Bytes::si(beyond[1]))) / peers);
    latency = scope.read("base", d.base) + peers * scope.read("per_peer", d.per_peer) + starting<K>(scope, d, part);
    if (beyond[1] > 0) latency = latency + l.hop;
    if (p.one_node()) copied = scope.read("copy", d.copy) * own / l.inner;
  }
  SecondsT<K> transfer = let("T_inside", r.inside / bus);
  for (std::size_t t = 1; t < p.tiers; ++t) {
    const auto out = scope.input("bytes across", Bytes::si(beyond[t]), net.tiers[t].name);
    if (t == 1) r.across = out;
    transfer = max(transfer, let("T_across", out / achieved(scope, net.tiers[t])));
  }
  r.sent = r.inside + r.across;
  r.cost.algorithm = to_string(Algorithm::direct).data();
  r.cost.protocol = to_string(Protocol::simple).data();
  if (r.peers == 0) latency = SecondsT<K>{};
  r.cost.latency = let("T_latency", latency);
  r.cost.bandwidth = let("T_bandwidth", transfer + copied);
  r.cost.time = let("T", r.cost.latency + r.cost.bandwidth);
  return r;
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
template RaggedCost<Plain> ragged_cost(const Scope<Plain>&, const Network&, const Group&, std::span<const double>);
template RaggedCost<Traced> ragged_cost(const Scope<Traced>&, const Network&, const Group&, std::span<const double>);
template CollectiveCost<Plain> custom_cost(const Scope<Plain>&, const CollectiveTuning&, Bytes, const Placement&,
                                           const Links<Plain>&, Algorithm);
template CollectiveCost<Traced> custom_cost(const Scope<Traced>&, const CollectiveTuning&, BytesT<Traced>,
                                            const Placement&, const Links<Traced>&, Algorithm);

}  // namespace napkin
