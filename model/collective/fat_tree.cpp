#include "model/collective/fat_tree.hpp"

#include <limits>
#include <string>

#include "model/input_error.hpp"

namespace napkin {

namespace {
long long ratio_up(long long a, long long b) {
  return (a + b - 1) / b;
}
}  // namespace

FatTree fat_tree(long long radix, long long endpoints, long long unit) {
  if (radix < 2 || radix % 2 != 0)
    throw InputError("a switch of " + std::to_string(radix) + " ports has no two equal halves; write an even number");
  if (endpoints < 1) throw InputError("a network joins at least one endpoint");
  FatTree t;
  const long long half = radix / 2;
  t.largest = radix * half;
  constexpr long long large = 1'000'000;  // ports; beyond, k³/4 leaves the integers
  t.largest_three = radix > large ? std::numeric_limits<long long>::max() : radix * half * half;
  if (endpoints > t.largest_three)
    throw InputError(std::to_string(endpoints) + " endpoints are more than the " + std::to_string(t.largest_three) +
                     " that three tiers of " + std::to_string(radix) + "-port switches join; write a larger radix");
  t.tiers = endpoints > t.largest ? 3 : 2;
  t.leaves = ratio_up(endpoints, half);
  t.cables = t.leaves * half;
  t.spines = ratio_up(t.cables, t.tiers == 3 ? half : radix);
  t.cores = t.tiers == 3 ? ratio_up(t.spines * half, radix) : 0;
  t.leaf_ports_used = radix;
  t.units = unit > 0 ? ratio_up(endpoints, unit) : 0;
  return t;
}

BytesPerSecond through_switches(long long switches, long long radix, BytesPerSecond port, long long endpoints) {
  return switches * radix * port / static_cast<double>(endpoints);
}

NodeFabric node_fabric(long long switches, long long ports, BytesPerSecond port, long long accelerators,
                       BytesPerSecond link) {
  NodeFabric f;
  f.switch_side = switches * ports * port;
  f.accelerator_side = accelerators * link;
  f.usable = min(f.switch_side, f.accelerator_side);
  f.bisection = 2 * (f.usable / 2.0);  // half of the accelerators send to the other half, and back
  return f;
}

}  // namespace napkin
