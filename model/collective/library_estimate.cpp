// NCCL's tuning model, restated: what the library believes, which is what it acts on (nccl2026tuning).
#include <algorithm>
#include <cmath>

#include "model/collective/library.hpp"

namespace napkin {

namespace {

struct Question {
  const LibraryEstimate& e;
  Operation operation;
  double n, nodes, ppn;
  std::size_t column;  // of the tables by nodes: one, two, more
  double bus;          // bandwidth that the channels of the search carry, B/s
  std::size_t protocol;
};

double steps(const Question& q) {
  switch (q.operation) {
    case Operation::all_reduce: return 2 * (q.n - 1);
    case Operation::all_gather:
    case Operation::reduce_scatter: return q.n - 1;
    default: return q.n;
  }
}
double net_steps(const Question& q) {
  return q.nodes <= 1 ? 0 : q.operation == Operation::all_reduce ? 2 * (q.nodes - 1) : q.nodes - 1;
}

Estimate ring(const Question& q) {
  const LibraryEstimate& e = q.e;
  double bandwidth = q.bus;
  if (q.protocol == 0) bandwidth = std::min(e.ll_max[q.column].si(), e.ring_ll_share * q.bus);
  if (q.protocol == 1) bandwidth = std::min(e.ll128_share * q.bus, e.channels * e.ring_ll128_channel[q.column].si());
  // One member per node: a ring's hop is as long as a tree's.
  const double net = (q.ppn <= 1 ? e.tree_net : e.ring_net)[q.protocol].si();
  double latency =
      e.ring_base[q.protocol].si() + (steps(q) - net_steps(q)) * e.ring_node[q.protocol].si() + net_steps(q) * net;
  if (q.protocol == 2 && q.nodes > 1 && q.operation == Operation::all_reduce) latency *= e.ring_simple_net_factor;
  return {true, latency, steps(q) / q.n / bandwidth};
}

Estimate tree(const Question& q) {
  const LibraryEstimate& e = q.e;
  const double b = std::min(e.tree_share * q.bus, e.channels * e.tree_channel[q.column].si());
  double bandwidth = b;
  if (q.protocol == 0) bandwidth = b / e.tree_ll_divisor;
  if (q.protocol == 1) bandwidth = b * (q.nodes > 1 ? e.tree_ll128_net : e.tree_ll128_node);
  bandwidth = std::min(bandwidth, tree_limit(e, static_cast<Protocol>(q.protocol), q.column).si());
  const double latency = e.tree_base[q.protocol].si() + 2 * ((q.ppn - 1) * e.tree_node[q.protocol].si() +
                                                             std::log2(q.nodes) * e.tree_net[q.protocol].si());
  return {true, latency, 2 / bandwidth};
}

// One channel per head (a GPU of the node); the switch reduces, so a channel carries its bytes up or down once. The
// search gives a channel an equal part of the link, up to the fastest speed that it tries.
Estimate in_switch(const Question& q, double link, double per_member, bool over_tree) {
  const LibraryEstimate& e = q.e;
  const double heads = q.ppn;
  double channel =
      std::min(e.nvls_channel.si(), e.search_share * link / heads) * e.nvls_efficiency * (heads - 1) / heads * 2;
  double latency = e.nvls.si();
  if (over_tree) {
    channel = std::min({channel, q.nodes <= 2 ? 2 * per_member : per_member, e.nvls_tree_channel[q.column].si()});
    latency += 2 * std::log2(q.nodes) * e.nvls_tree_net.si();
  }
  return {true, latency, 2 * (q.n - 1) / q.n / (heads * channel)};
}

}  // namespace

std::size_t by_nodes(const Placement& p) {
  return p.nodes <= 1 ? 0 : p.nodes <= 2 ? 1 : 2;
}

BytesPerSecond tree_limit(const LibraryEstimate& e, Protocol protocol, std::size_t nodes) {
  switch (protocol) {
    case Protocol::ll: return e.ll_max[nodes];
    case Protocol::ll128: return e.channels * e.tree_ll128_channel[nodes];
    case Protocol::simple: return e.channels * e.tree_channel[nodes];
  }
  return {};
}

Estimate library_estimate(const CollectiveTuning& t, Operation operation, const Placement& p, const Links<Plain>& l,
                          bool in_network, Method method) {
  const LibraryEstimate& e = t.estimate;
  Question q{e, operation, static_cast<double>(p.ranks), p.nodes, p.per_node(), 0, 0, 0};
  const double link = l.inner_nominal.si();
  q.column = by_nodes(p);
  q.bus = e.search_share * link;
  if (!p.one_node()) q.bus = std::min(q.bus, l.egress.si());
  q.protocol = static_cast<std::size_t>(method.protocol);
  const bool all_reduce = operation == Operation::all_reduce;
  const bool gathers = operation == Operation::all_gather || operation == Operation::reduce_scatter;
  const bool switched = e.nvls_efficiency > 0 && in_network && q.ppn >= 2;
  switch (method.algorithm) {
    case Algorithm::ring: {
      if (!p.one_node()) q.bus = std::min(q.bus, t.net_rings.value.si() * l.per_member.si());
      return ring(q);
    }
    case Algorithm::tree: {
      if (!all_reduce) return {};
      // Between two nodes a tree crosses the NICs half as often as a ring.
      if (q.column == 1) q.bus = std::min(e.search_share * link, 2 * l.egress.si());
      return tree(q);
    }
    case Algorithm::nvls: {
      if (!switched || !p.one_node() || !(all_reduce || gathers)) return {};
      Estimate nvls = in_switch(q, link, 0, false);
      // A gather's figure is its algorithm bandwidth: channels · (heads − 1)/heads · (ppn − 1)/ppn, for once the vector.
      if (gathers) nvls.per_byte = nvls.per_byte * q.n / (q.n - 1) * q.ppn / (q.ppn - 1);
      return nvls;
    }
    case Algorithm::nvls_tree:
      return all_reduce && switched && !p.one_node() && q.ppn <= t.nvls.tree_members.value.si()
                 ? in_switch(q, link, l.per_member.si(), true)
                 : Estimate{};
    case Algorithm::collnet: {
      if (!all_reduce || p.one_node()) return {};
      const double chain = 2 * (q.ppn - 1) * e.collnet_node.si() + e.collnet_net.si();
      return {true, chain, 2 / q.bus};
    }
    case Algorithm::pat: {
      if (!gathers || p.one_node() || q.ppn > 1) return {};
      const double latency = e.pat_base.si() + std::log2(q.nodes) * e.pat_net.si() + q.n * e.pat_rank.si();
      return {true, latency, 1 / (e.pat_share * q.bus)};
    }
    default: return {};
  }
}

}  // namespace napkin
