#include "model/collective/measures.hpp"

#include <cmath>

#include "model/collective/placement.hpp"

namespace napkin {

double bus_factor(Operation o, int ranks) {
  const double n = ranks;
  if (ranks <= 1) return 0;
  switch (o) {
    case Operation::all_reduce: return 2 * (n - 1) / n;
    case Operation::all_gather:
    case Operation::reduce_scatter:
    case Operation::all_to_all: return (n - 1) / n;
    default: return 1;
  }
}

Bytes bytes_sent(Operation o, Bytes bytes, int ranks) {
  return bus_factor(o, ranks) * bytes;
}
Bytes bytes_sent_by_many(Operation o, Bytes bytes) {
  return (o == Operation::all_reduce ? 2 : 1) * bytes;
}

Seconds lower_bound(const Network& net, Operation o, Bytes bytes, const Group& group, bool many) {
  const Placement p = place(net, group);
  if (p.ranks == 1) return {};
  const auto sent = [&](double n, bool reduces) {
    if (o == Operation::all_reduce && reduces) return bytes;
    return many ? bytes_sent_by_many(o, bytes) : bus_factor(o, static_cast<int>(n)) * bytes;
  };
  Seconds bound = sent(p.ranks, net.tiers[0].in_network_reduction) / net.tiers[0].bandwidth.value;
  for (std::size_t t = 1; t < p.tiers; ++t) {
    // Of the vector, a domain sends at least what a rank would if domains were ranks, through all its members' links.
    const Tier& tier = net.tiers[t];
    const double domains = std::ceil(p.ranks / p.members[t - 1]);
    const auto link = tier.bandwidth.value / (tier.oversubscription ? tier.oversubscription->value : Scalar(1));
    const bool each = o == Operation::all_to_all;  // every member has its own bytes
    const double beyond = each ? (many ? 1.0 : (p.ranks - p.members[t - 1]) / p.ranks) : 1.0;
    const Bytes out = each ? beyond * bytes : sent(domains, tier.in_network_reduction);
    const bool alone = each || o == Operation::send_recv;
    bound = max(bound, out / ((alone ? 1.0 : p.members[t - 1]) * link));
  }
  return bound;
}

namespace {

Method chosen(const Network& net, Operation o, Bytes bytes, const Group& group) {
  for (const Candidate& c : candidates(net, o, bytes, group))
    if (c.chosen) return c.method;
  return {};
}

constexpr double tolerance = 1.0001;  // of a bisected size

// The size in [lo, hi] where `above` turns true, by bisection of the logarithm.
template <class Above>
Bytes turning(double lo, double hi, Above above) {
  while (hi / lo > tolerance) {
    const double mid = std::sqrt(lo * hi);
    (above(Bytes::si(mid)) ? hi : lo) = mid;
  }
  return Bytes::si(std::sqrt(lo * hi));
}

}  // namespace

std::vector<Crossover> crossovers(const Network& net, Operation o, const Group& group, Bytes from, Bytes to) {
  std::vector<Crossover> out;
  if (group.size <= 1) return out;
  constexpr double step = 1.5;
  double lo = from.si();
  Method below = chosen(net, o, from, group);
  while (lo < to.si()) {
    const double hi = std::min(lo * step, to.si());
    const Method above = chosen(net, o, Bytes::si(hi), group);
    if (above != below) {
      const Bytes at = turning(lo, hi, [&](Bytes b) { return chosen(net, o, b, group) != below; });
      out.push_back({at, below, above});
      below = above;
    }
    lo = hi;
  }
  return out;
}

std::optional<Bytes> tie(const Network& net, Operation o, const Group& group, const Wish& a, const Wish& b, Bytes from,
                         Bytes to) {
  const auto slower = [&](Bytes n) {
    return wished_cost(net, o, n, group, a).cost.time > wished_cost(net, o, n, group, b).cost.time;
  };
  const bool first = slower(from);
  if (first == slower(to)) return {};
  return turning(from.si(), to.si(), [&](Bytes n) { return slower(n) != first; });
}

std::optional<Bytes> latency_bound_below(const Network& net, Operation o, const Group& group, Method m, Bytes from,
                                         Bytes to) {
  const auto bandwidth_bound = [&](Bytes n) {
    const auto c = collective_cost(Scope<Plain>(), net, o, n, group, m);
    return c.bandwidth > c.latency;
  };
  if (group.size <= 1 || bandwidth_bound(from) || !bandwidth_bound(to)) return {};
  return turning(from.si(), to.si(), bandwidth_bound);
}

}  // namespace napkin
