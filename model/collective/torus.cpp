#include "model/collective/torus.hpp"

#include <algorithm>

namespace napkin {

Axes axes_of(const Tier& torus, const Group& group) {
  Axes a;
  long long before = 1, left = group.size;  // accelerators in a block of the axes passed; members still to place
  const auto snake = [&] {
    Axes line;
    line.axis[line.count++] = {group.size, false, torus.bidirectional};
    return line;
  };
  for (std::size_t i = 0; i < torus.dims.size() && left > 1; ++i) {
    const long long length = torus.dims[i];
    const long long stride = std::max(group.stride, before);  // along this axis, in accelerators
    const long long room = length * before / stride;          // members that the axis can hold
    before *= length;
    if (room <= 1) continue;
    const long long members = std::min(room, left);
    if (left % members != 0 || a.count == max_axes) return snake();
    const bool whole = stride == before / length && members == length;
    const bool wraps = whole && i < torus.wraps.size() && torus.wraps[i];
    a.axis[a.count++] = {static_cast<int>(members), wraps, torus.bidirectional};
    left /= members;
  }
  if (left > 1) return snake();
  return a;
}

namespace {

// Shards of V/L that pass over the busiest link of an axis, which is also the number of hops.
double gather_hops(const Axis& a) {
  return a.wraps && a.bidirectional ? std::floor(a.length / 2.0) : a.length - 1.0;
}
// Bytes over the busiest link in an all-to-all, per byte that one rank sends.
double all_to_all_load(const Axis& a) {
  if (a.wraps) return a.bidirectional ? a.length / 8.0 : (a.length - 1) / 2.0;
  return a.length / 4.0;
}

template <class K>
BytesPerSecondT<K> gather_bandwidth(const Scope<K>& scope, const Axes& axes, BytesPerSecondT<K> link) {
  BytesPerSecondT<K> sum{};
  for (const Axis& a : axes)
    sum = sum + scope.input("L", static_cast<double>(a.length)) / scope.input("hops", gather_hops(a)) * link;
  return sum;
}

}  // namespace

template <class K>
CollectiveCost<K> torus_cost(const Scope<K>& scope, Operation o, BytesT<K> bytes, const Axes& axes,
                             BytesPerSecondT<K> link, SecondsT<K> hop) {
  double hops = 0;
  for (const Axis& a : axes) hops += gather_hops(a);
  CollectiveCost<K> c;
  c.algorithm = to_string(Algorithm::torus).data();
  c.protocol = to_string(Protocol::simple).data();
  const auto done = [&](SecondsT<K> latency, SecondsT<K> bandwidth) {
    c.latency = let("T_latency", latency);
    c.bandwidth = let("T_bandwidth", bandwidth);
    c.time = let("T", c.latency + c.bandwidth, "austin2025scaling");
    return c;
  };
  if (o == Operation::send_recv)
    return done(scope.input("hops", hops) * hop,
                bytes / (scope.input("ports", static_cast<double>(axes.count)) * link));
  if (o == Operation::all_to_all) {
    double load = 0;
    for (const Axis& a : axes) load = std::max(load, all_to_all_load(a));
    return done(scope.input("hops", hops) * hop, scope.input("load of a link", load) * bytes / link);
  }
  // One pass over the axes: all-gather, reduce-scatter, a broadcast or reduce in pieces. An all-reduce is two.
  const double passes = o == Operation::all_reduce ? 2 : 1;
  const auto pass = let("T_pass", bytes / let("B_axes", gather_bandwidth(scope, axes, link)));
  return done(scope.input("hops", passes * hops) * hop, passes * pass);
}

template CollectiveCost<Plain> torus_cost(const Scope<Plain>&, Operation, Bytes, const Axes&, BytesPerSecond, Seconds);
template CollectiveCost<Traced> torus_cost(const Scope<Traced>&, Operation, BytesT<Traced>, const Axes&,
                                           BytesPerSecondT<Traced>, SecondsT<Traced>);

}  // namespace napkin
