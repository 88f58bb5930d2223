#include "model/collective/expert_exchange.hpp"

#include <algorithm>
#include <cmath>

#include "model/collective/placement.hpp"

namespace napkin {

double distinct_places(double n, double k) {
  return n * (1 - std::pow(1 - 1 / n, k));
}

double dropped_share(double busiest, double capacity) {
  const double least = 2 - busiest;
  if (capacity >= busiest) return 0;
  if (capacity <= least) return 1 - capacity;  // every expert is full
  return (busiest - capacity) * (busiest - capacity) / (2 * (busiest - least));
}

template <class K>
ExchangeCost<K> expert_exchange_cost(const Scope<K>& scope, const Network& net, const Group& group, const Routing& r,
                                     BytesT<K> bytes_per_token) {
  ExchangeCost<K> c;
  const Placement p = place(net, group);
  if (p.ranks == 1) return c;
  const auto l = links(scope, net, p);
  const auto tokens = let("tokens_busiest", scope.input("tokens", r.tokens) * scope.input("imbalance", r.imbalance));
  const double nodes = p.nodes, m = p.per_node(), n = p.ranks;
  double reached = distinct_places(nodes, r.top_k);  // nodes, its own included
  if (r.node_limit > 0) reached = std::min(reached, r.node_limit);
  // A group of experts lies on one node, or on nodes / groups of them.
  if (r.group_limit > 0) reached = std::min(reached, std::max(1.0, nodes / r.groups) * r.group_limit);
  const double remote = r.remote_nodes >= 0 ? r.remote_nodes : reached * (nodes - 1) / nodes;
  c.nodes = nodes;
  c.remote_nodes = p.one_node() ? 0 : remote;
  // Ranks that get the token; inside a node all but the one where it entered are forwarded to.
  const double ranks = r.once_per_rank ? distinct_places(n, r.top_k) : r.top_k;
  if (net.tiers[0].topology == Tier::Topology::torus || net.tiers[0].topology == Tier::Topology::ring) {
    // Links of its own lead to no node at once: copies travel as an all-to-all.
    const auto sent = let("bytes", scope.input("ranks reached", ranks) * tokens * bytes_per_token);
    c.bytes_inside = let("bytes_inside", (n - 1) / n * sent);
    c.time = c.inside = collective_cost(scope, net, Operation::all_to_all, BytesT<K>(sent), group).time;
    c.remote_nodes = 0;
    return c;
  }
  c.bytes_inside = let("bytes_inside", scope.input("ranks inside", ranks * (m - 1) / m) * tokens * bytes_per_token);
  c.inside = let("T_inside", c.bytes_inside / l.inner);
  auto latency = l.inner_hop;
  if (net.tuning) {
    const auto peers = scope.input("peers", p.one_node() ? n - 1 : m + nodes - 2);
    latency = latency + scope.read("base", net.tuning->direct.base) +
              peers * scope.read("per_peer", net.tuning->direct.per_peer);
  }
  if (!p.one_node()) {
    c.bytes_across = let("bytes_across", scope.input("remote nodes", remote) * tokens * bytes_per_token, "deepep2025");
    c.across = let("T_across", c.bytes_across / l.pair);
    latency = latency + l.hop;
  }
  c.time = let("T", latency + max(c.across, c.inside));
  return c;
}

template ExchangeCost<Plain> expert_exchange_cost(const Scope<Plain>&, const Network&, const Group&, const Routing&,
                                                  Bytes);
template ExchangeCost<Traced> expert_exchange_cost(const Scope<Traced>&, const Network&, const Group&, const Routing&,
                                                   BytesT<Traced>);

}  // namespace napkin
