#include "model/collective/fat_tree.hpp"

#include <cmath>
#include <string>

#include "model/input_error.hpp"

namespace napkin {

namespace {
std::string whole(double v) { return std::to_string(static_cast<long long>(v)); }
constexpr double most_ports = 1e6;
}  // namespace

template <class K>
FatTree<K> fat_tree(ScalarT<K> radix, ScalarT<K> endpoints, ScalarT<K> unit) {
  if (radix.si() < 2 || std::fmod(radix.si(), 2) != 0)
    throw InputError("a switch of " + whole(radix.si()) + " ports has no two equal halves; write an even number");
  if (radix.si() > most_ports) throw InputError("no switch has more than a million ports");
  if (endpoints.si() < 1) throw InputError("a network joins at least one endpoint");
  FatTree<K> t;
  const auto half = let("radix/2", radix / 2);
  t.largest = let("largest", radix * half, "leiserson1985fat");
  t.largest_three = let("largest_three", radix * half * half, "leiserson1985fat");
  if (endpoints.si() > t.largest_three.si())
    throw InputError(whole(endpoints.si()) + " endpoints are more than the " + whole(t.largest_three.si()) + " that three tiers of " +
                     whole(radix.si()) + "-port switches join; write a larger radix");
  t.tiers = endpoints.si() > t.largest.si() ? 3 : 2;
  t.leaves = let("leaves", ceil(endpoints / half));
  t.cables = let("cables", t.leaves * half);
  t.spines = let("spines", ceil(t.cables / (t.tiers == 3 ? half : radix)));
  if (t.tiers == 3) t.cores = let("cores", ceil(t.spines * half / radix));
  t.leaf_ports_used = let("leaf_ports", half + half);
  if (unit.si() > 0) t.units = let("units", ceil(endpoints / unit));
  return t;
}

template <class K>
WidestTree<K> widest_tree(ScalarT<K> radix, int tiers, ScalarT<K> oversubscription, BytesPerSecondT<K> port) {
  if (radix.si() < 2) throw InputError("a switch has two ports or more");
  if (radix.si() > most_ports) throw InputError("no switch has more than a million ports");
  if (tiers < 2 || tiers > 3) throw InputError("a tree of " + std::to_string(tiers) + " tiers is not known; write 2 or 3");
  if (!(oversubscription.si() >= 1)) throw InputError("an oversubscription is 1 or more (2 for 2:1)");
  WidestTree<K> t;
  t.down = let("down", min(floor(radix * oversubscription / (1 + oversubscription)), radix - 1));
  t.up = let("up", radix - t.down);
  t.endpoints = tiers == 2 ? let("endpoints", t.down * radix, "leiserson1985fat") : let("endpoints", t.down * floor(radix / 2) * radix, "leiserson1985fat");
  t.oversubscription = let("oversubscription", t.down / t.up);
  t.per_endpoint = let("B_endpoint", port / t.oversubscription);
  t.bisection = let("B_bisection", t.endpoints / 2 * t.per_endpoint);
  return t;
}

template <class K>
BytesPerSecondT<K> through_switches(ScalarT<K> switches, ScalarT<K> radix, BytesPerSecondT<K> port, ScalarT<K> endpoints) {
  return let("B_each", switches * radix * port / endpoints);
}

template <class K>
NodeFabric<K> node_fabric(ScalarT<K> switches, ScalarT<K> ports, BytesPerSecondT<K> port, ScalarT<K> accelerators,
                          BytesPerSecondT<K> link) {
  NodeFabric<K> f;
  f.switch_side = let("B_switches", switches * ports * port);
  f.accelerator_side = let("B_accelerators", accelerators * link);
  f.usable = let("B_usable", min(f.switch_side, f.accelerator_side));
  f.bisection = let("B_bisection", 2 * (f.usable / 2));  // half of the accelerators send to the other half, and back
  return f;
}

#define NAPKIN_INSTANTIATE(K)                                                                                                     \
  template FatTree<K> fat_tree<K>(ScalarT<K>, ScalarT<K>, ScalarT<K>);                                                            \
  template WidestTree<K> widest_tree<K>(ScalarT<K>, int, ScalarT<K>, BytesPerSecondT<K>);                                         \
  template BytesPerSecondT<K> through_switches<K>(ScalarT<K>, ScalarT<K>, BytesPerSecondT<K>, ScalarT<K>);                        \
  template NodeFabric<K> node_fabric<K>(ScalarT<K>, ScalarT<K>, BytesPerSecondT<K>, ScalarT<K>, BytesPerSecondT<K>);
NAPKIN_INSTANTIATE(Plain)
NAPKIN_INSTANTIATE(Traced)
#undef NAPKIN_INSTANTIATE

}  // namespace napkin
