#include "model/collective/alpha_beta.hpp"

#include "model/collective/textbook.hpp"

namespace napkin {

bool alpha_beta_runs(Operation o, const Placement& p, bool switch_reduces, Algorithm a) {
  const bool gathers = o == Operation::all_gather || o == Operation::reduce_scatter;
  switch (a) {
    case Algorithm::ring: return o != Operation::all_to_all && o != Operation::send_recv;
    case Algorithm::recursive_doubling: return o == Operation::all_reduce || gathers;
    case Algorithm::rabenseifner:
    case Algorithm::tree:
    case Algorithm::one_shot:
    case Algorithm::two_shot: return o == Operation::all_reduce;
    case Algorithm::nvls: return o == Operation::all_reduce && switch_reduces && p.one_node();
    case Algorithm::mst: return o == Operation::all_reduce || o == Operation::broadcast || o == Operation::reduce;
    case Algorithm::hierarchical:  // twins meet across domains, so all must be filled alike
      return (o == Operation::all_reduce || gathers) && !p.one_node() && p.per_node() > 1 &&
             p.narrowest(0) == p.per_node();
    case Algorithm::direct: return o == Operation::send_recv || o == Operation::all_to_all || gathers;
    default: return false;
  }
}

namespace {

template <class K>
textbook::Cost<K> counted(Operation o, ScalarT<K> p, BytesT<K> n, Algorithm a) {
  using namespace textbook;
  const bool all_reduce = o == Operation::all_reduce;
  switch (a) {
    case Algorithm::ring:
      if (all_reduce) return ring_all_reduce(p, n);
      if (o == Operation::broadcast) return long_broadcast(p, n);
      if (o == Operation::reduce) return long_reduce(p, n);
      return o == Operation::reduce_scatter ? ring_reduce_scatter(p, n) : ring_all_gather(p, n);
    case Algorithm::recursive_doubling:
      if (all_reduce) return recursive_doubling_all_reduce(p, n);
      return o == Operation::reduce_scatter ? recursive_halving_reduce_scatter(p, n)
                                            : recursive_doubling_all_gather(p, n);
    case Algorithm::rabenseifner: return rabenseifner_all_reduce(p, n);
    case Algorithm::tree: return double_tree_all_reduce(p, n);
    case Algorithm::mst:
      return all_reduce ? mst_all_reduce(p, n) : o == Operation::reduce ? mst_reduce(p, n) : mst_broadcast(p, n);
    case Algorithm::nvls: return in_network_all_reduce(p, n);
    case Algorithm::one_shot: return one_shot_all_reduce(p, n);
    case Algorithm::two_shot: return two_shot_all_reduce(p, n);
    default:  // direct: every part leaves at once
      if (o == Operation::send_recv) return {1, n, {}};
      return {1, (p - 1) / p * n, {}};
  }
}

}  // namespace

template <class K>
CollectiveCost<K> alpha_beta_cost(const Scope<K>& scope, Operation o, BytesT<K> bytes, const Placement& p,
                                  const Links<K>& l, Algorithm a) {
  using Link = textbook::Link<K>;
  const auto n = scope.input("p", static_cast<double>(p.ranks));
  const textbook::PerByteT<K> reduced = 0 / l.inner;  // memory-bound reduction hides behind the link
  CollectiveCost<K> c;
  c.algorithm = to_string(a).data();
  c.protocol = to_string(Protocol::simple).data();
  const auto done = [&](SecondsT<K> latency, SecondsT<K> bandwidth) {
    c.latency = let("T_latency", latency);
    c.bandwidth = let("T_bandwidth", bandwidth);
    c.time = let("T", c.latency + c.bandwidth, "chan2007collective");
    return c;
  };
  if (a == Algorithm::hierarchical) {
    // Shards meet across nodes in groups of one member per node, all at once, each through its own NIC.
    const auto m = scope.input("m", p.per_node());
    const Link inner{l.inner_hop, 1 / l.inner, reduced}, outer{l.hop, 1 / l.per_member, reduced};
    if (o == Operation::all_reduce) {
      const auto all = textbook::hierarchical_all_reduce(n, m, bytes, inner, outer);
      const auto hops = 2 * (m - 1) * l.inner_hop + 2 * (n / m - 1) * l.hop;
      return done(hops, all - hops);
    }
    const auto inside = textbook::ring_all_gather(m, bytes), across = textbook::ring_all_gather(n / m, bytes / m);
    return done(inside.rounds * l.inner_hop + across.rounds * l.hop,
                inside.sent / l.inner + across.sent / l.per_member);
  }
  const auto cost = counted(o, n, bytes, a);
  auto bandwidth = l.inner;
  if (!p.one_node()) bandwidth = a == Algorithm::ring ? min(l.inner, l.egress) : min(l.inner, l.pair);
  if (a == Algorithm::direct && o == Operation::all_to_all && !p.one_node()) {
    // What stays in the node goes over its links while the rest goes over the NICs.
    const auto m = scope.input("m", p.per_node());
    const auto inside = (m - 1) / n * bytes / l.inner, outside = bytes / l.spread;
    return done(l.hop, max(inside, outside));
  }
  const auto alpha = p.one_node() ? l.inner_hop : l.hop;
  return done(cost.rounds * alpha, cost.sent / bandwidth);
}

template CollectiveCost<Plain> alpha_beta_cost(const Scope<Plain>&, Operation, Bytes, const Placement&,
                                               const Links<Plain>&, Algorithm);
template CollectiveCost<Traced> alpha_beta_cost(const Scope<Traced>&, Operation, BytesT<Traced>, const Placement&,
                                                const Links<Traced>&, Algorithm);

}  // namespace napkin
