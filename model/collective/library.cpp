#include "model/collective/library.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace napkin {

namespace {

constexpr std::size_t index(Protocol p) {
  return static_cast<std::size_t>(p);
}

bool gathers(Operation o) {
  return o == Operation::all_gather || o == Operation::reduce_scatter;
}

// Steps of a ring of n: each moves 1/n of the vector to the neighbour.
double ring_steps(Operation o, double n) {
  return o == Operation::all_reduce ? 2 * (n - 1) : n - 1;
}

// What the rings carry out of the narrowest domain: all its members' links, but no more than the library builds rings.
template <class K>
BytesPerSecondT<K> ring_out(const Scope<K>& scope, const CollectiveTuning& t, const Links<K>& l, Protocol protocol) {
  const auto rings = scope.read("rings", t.net_rings);
  return scope.read("net_share", t.ring[index(protocol)].net_share) * min(l.egress, rings * l.per_member);
}

// The start-up that has grown in when a rank's part is x: ramp · x / (x + x₀).
template <class K>
SecondsT<K> grown(SecondsT<K> ramp, BytesT<K> x, BytesT<K> x0) {
  return ramp * (x / (x + x0));
}

// Bytes in flight per hop of a pipelined algorithm: the vector while it is short, the channels' buffers when long.
template <class K>
BytesT<K> in_flight(BytesT<K> bytes, BytesT<K> chunk) {
  return bytes * (chunk / (bytes + chunk));
}

template <class K>
CollectiveCost<K> total(SecondsT<K> latency, SecondsT<K> bandwidth, const char* algorithm, const char* protocol,
                        const char* source) {
  CollectiveCost<K> c;
  c.latency = let("T_latency", latency);
  c.bandwidth = let("T_bandwidth", bandwidth);
  c.time = let("T", c.latency + c.bandwidth, source);
  c.algorithm = algorithm;
  c.protocol = protocol;
  return c;
}

// One piece of the vector at a time goes from neighbour to neighbour: the vector passes every link once.
template <class K>
CollectiveCost<K> chain(const Scope<K>& scope, const CollectiveTuning& t, BytesT<K> bytes, const Placement& p,
                        const Links<K>& l, Protocol protocol) {
  const RingConstants& c = t.ring[index(protocol)];
  const double net_hops = p.one_node() ? 0 : p.nodes - 1;
  auto hop = l.inner_hop + scope.read("hop", c.hop);
  // A ring's hop waits for both neighbours, a chain's for one.
  if (t.chain_hop.value.si() != 1) hop = let("hop of a chain", scope.read("chain_hop", t.chain_hop) * hop);
  auto latency = scope.read("base", c.base) + scope.input("hops in node", p.ranks - 1 - net_hops) * hop;
  auto bus = scope.read("share", c.share) * l.inner;
  if (!p.one_node()) {
    bus = min(bus, ring_out(scope, t, l, protocol));
    latency = latency + scope.input("hops between nodes", net_hops) * (scope.read("net_hop", c.net_hop) + l.hop);
  }
  return total<K>(latency, bytes / bus, "ring", to_string(protocol).data(), "chan2007collective");
}

// T = base + ramp + Σ over steps of max(hop, n/p / B), rounded + the rank's own part. Between nodes a proxy moves the
// data, and hops no longer hide behind transfers: Σ of hop + n/p / B.
template <class K>
CollectiveCost<K> ring(const Scope<K>& scope, const CollectiveTuning& t, Operation o, BytesT<K> bytes,
                       const Placement& p, const Links<K>& l, Protocol protocol) {
  const RingConstants& c = t.ring[index(protocol)];
  const double steps = ring_steps(o, p.ranks), net_steps = p.one_node() ? 0 : ring_steps(o, p.nodes);
  const auto n = scope.input("p", static_cast<double>(p.ranks));
  const auto hop = let("hop", l.inner_hop + scope.read("hop above the link's", c.hop));
  const auto part = let("part", bytes / n);
  auto latency = scope.read("base", c.base) + grown(SecondsT<K>(scope.read("ramp", c.ramp)), BytesT<K>(part),
                                                    BytesT<K>(scope.read("ramp_size", c.ramp_size)));
  latency = latency + scope.input("steps in node", steps - net_steps) * hop;
  auto bus = scope.read("share", c.share) * l.inner;
  SecondsT<K> transfer{};
  if (p.one_node()) {
    const auto one = part / let("B_bus", bus);
    transfer = scope.input("steps", steps) * (smooth_max(SecondsT<K>(hop), SecondsT<K>(one)) - hop);
  } else {
    bus = let("B_bus", min(bus, ring_out(scope, t, l, protocol)));
    latency = latency + scope.input("steps between nodes", net_steps) * (scope.read("net_hop", c.net_hop) + l.hop);
    transfer = scope.input("steps", steps) * part / bus;
  }
  transfer = transfer + scope.read("copy", gathers(o) ? t.gather_copy : t.reduce_copy) * part / l.inner;
  return total<K>(latency, transfer, "ring", to_string(protocol).data(), "patarasuk2009");
}

// Double binary tree over nodes, a chain inside each. Every NIC carries the vector f times each way: once between two
// nodes, twice beyond (a node is inner in one tree and leaf in the other). sanders2009
template <class K>
CollectiveCost<K> tree(const Scope<K>& scope, const CollectiveTuning& t, BytesT<K> bytes, const Placement& p,
                       const Links<K>& l, Protocol protocol) {
  const RingConstants& c = t.ring[index(protocol)];
  const auto inside = scope.input("hops in node", 2 * (p.per_node() - 1));
  const auto hop = l.inner_hop + scope.read("hop", c.hop);
  const auto bus = scope.read("share", c.share) * l.inner;
  auto latency = scope.read("base", c.base) + inside * hop;
  const auto piece = let("piece", in_flight(bytes, BytesT<K>(scope.read("chunk", t.chunk))));
  // Inside a node the vector goes up and down the chain; both directions of a link work at once.
  const auto limit = scope.input("tree_limit", tree_limit(t.estimate, protocol, by_nodes(p)), "nccl2026tuning");
  auto transfer = max(bytes / bus, 2 * bytes / limit);
  auto fill = inside * piece / bus;
  if (!p.one_node()) {
    const auto between = scope.input("hops between nodes", 2 * std::ceil(std::log2(p.nodes)));
    const auto out = scope.read("net_share", c.net_share) * l.egress;
    latency = latency + between * (scope.read("net_hop", t.tree_net[index(protocol)]) + l.hop);
    transfer = max(transfer, scope.input("f", p.nodes > 2 ? 2.0 : 1.0) * bytes / out);
    fill = fill + between * piece / out;
  }
  return total<K>(latency, transfer + fill, "tree", to_string(protocol).data(), "sanders2009");
}

// In-switch reduction: a rank's link carries the vector once and its own 1/m once more; in a gather or scatter, the
// parts of the others once. Over several nodes, the shard of every rank then climbs and descends a tree.
template <class K>
CollectiveCost<K> in_switch(const Scope<K>& scope, const CollectiveTuning& t, Operation o, BytesT<K> bytes,
                            const Placement& p, const Links<K>& l, bool over_tree) {
  const auto m = scope.input("m", p.per_node());
  const auto bus = scope.read("share", t.nvls.share) * l.inner;
  auto latency = scope.read("base", t.nvls.base) + grown(SecondsT<K>(scope.read("ramp", t.nvls.ramp)), bytes,
                                                         BytesT<K>(scope.read("ramp_size", t.nvls.ramp_size)));
  auto transfer = gathers(o) ? bytes * ((m - 1) / m) / bus : bytes * (1 + 1 / m) / bus;
  if (over_tree) {
    const auto piece = let("piece", in_flight(bytes, BytesT<K>(scope.read("chunk", t.chunk))));
    const auto between = scope.input("hops between nodes", 2 * std::ceil(std::log2(p.nodes)));
    latency = latency + between * (scope.read("net_hop", t.tree_net[index(Protocol::simple)]) + l.hop);
    transfer = max(transfer, scope.input("f", p.nodes > 2 ? 2.0 : 1.0) * bytes / l.egress);
    const auto limit =
        scope.input("tree_limit", p.per_node() * t.estimate.nvls_tree_channel[by_nodes(p)], "nccl2026tuning");
    const auto n = scope.input("p", static_cast<double>(p.ranks));
    transfer = max(transfer, 2 * (n - 1) / n * bytes / limit);
    transfer = transfer + between * piece / l.egress;
  }
  return total<K>(latency, transfer, over_tree ? "nvls-tree" : "nvls", "simple", "nccl2026tuning");
}

// Reduction in the network's switches: every NIC carries its shard once each way.
template <class K>
CollectiveCost<K> collnet(const Scope<K>& scope, const CollectiveTuning& t, BytesT<K> bytes, const Placement& p,
                          const Links<K>& l) {
  const auto m = scope.input("m", p.per_node());
  const auto net_hop = scope.read("net_hop", t.tree_net[index(Protocol::simple)]) + l.hop;
  const auto hop = l.inner_hop + scope.read("hop", t.ring[index(Protocol::simple)].hop);
  const auto latency = scope.read("base", t.ring[index(Protocol::simple)].base) + 2 * hop + 2 * net_hop;
  const auto inside = 2 * (m - 1) / m * bytes / l.inner;
  const auto piece = let("piece", in_flight(bytes, BytesT<K>(scope.read("chunk", t.chunk))));
  const auto transfer = max(inside, bytes / l.egress) + 2 * piece / l.egress;
  return total<K>(latency, transfer, "collnet", "simple", "nccl2026tuning");
}

// Parallel aggregated tree (gather and scatter, one member per node): log₂ p exchanges, each sent as it is ready.
template <class K>
CollectiveCost<K> pat(const Scope<K>& scope, const CollectiveTuning& t, BytesT<K> bytes, const Placement& p,
                      const Links<K>& l) {
  const auto n = scope.input("p", static_cast<double>(p.ranks));
  const auto rounds = scope.input("rounds", std::ceil(std::log2(static_cast<double>(p.ranks))));
  const RingConstants& c = t.ring[index(Protocol::simple)];
  const auto latency = scope.read("base", c.base) + rounds * (scope.read("net_hop", c.net_hop) + l.hop);
  const auto share = scope.input("share", t.estimate.pat_share, "nccl2026tuning");
  return total<K>(latency, (n - 1) / n * bytes / (share * l.egress), "pat", "simple", "nccl2026tuning");
}

}  // namespace

template <class K>
CollectiveCost<K> library_cost(const Scope<K>& scope, const CollectiveTuning& t, Operation o, BytesT<K> bytes,
                               const Placement& p, const Links<K>& l, Method method) {
  switch (method.algorithm) {
    case Algorithm::tree: return tree(scope, t, bytes, p, l, method.protocol);
    case Algorithm::nvls: return in_switch(scope, t, o, bytes, p, l, false);
    case Algorithm::nvls_tree: return in_switch(scope, t, o, bytes, p, l, true);
    case Algorithm::collnet: return collnet(scope, t, bytes, p, l);
    case Algorithm::pat: return pat(scope, t, bytes, p, l);
    default:
      return o == Operation::broadcast || o == Operation::reduce ? chain(scope, t, bytes, p, l, method.protocol)
                                                                 : ring(scope, t, o, bytes, p, l, method.protocol);
  }
}

template CollectiveCost<Plain> library_cost(const Scope<Plain>&, const CollectiveTuning&, Operation, Bytes,
                                            const Placement&, const Links<Plain>&, Method);
template CollectiveCost<Traced> library_cost(const Scope<Traced>&, const CollectiveTuning&, Operation, BytesT<Traced>,
                                             const Placement&, const Links<Traced>&, Method);

}  // namespace napkin
