// Switches and cables of a two- or three-tier fat tree, and what a node can carry (leiserson1985fat).
#pragma once

#include "model/quantity.hpp"

namespace napkin {

struct FatTree {
  long long largest = 0;        // endpoints of two full tiers: k²/2
  long long largest_three = 0;  // and of three: k³/4
  int tiers = 2;                // that the endpoints need
  long long leaves = 0, spines = 0, cores = 0;  // cores: of a third tier
  long long cables = 0;           // between leaves and spines
  long long leaf_ports_used = 0;  // endpoints and uplinks of a full leaf
  long long units = 0;            // scalable units of `unit` endpoints; 0 when none was asked for
};
// Full bisection: half of a leaf's `radix` ports go down, half go up; under a third tier, half of a spine's too. `unit`:
// endpoints of a scalable unit, 0 = none. InputError when three tiers do not join the endpoints.
[[nodiscard]] FatTree fat_tree(long long radix, long long endpoints, long long unit);

// Bandwidth per endpoint through `switches` of `radix` ports, all used.
[[nodiscard]] BytesPerSecond through_switches(long long switches, long long radix, BytesPerSecond port,
                                              long long endpoints);

// A scale-up node: what its switches, and what its accelerators can carry, one direction; the lesser is usable, and
// is its bisection, both directions counted.
struct NodeFabric {
  BytesPerSecond switch_side, accelerator_side, usable, bisection;
};
[[nodiscard]] NodeFabric node_fabric(long long switches, long long ports, BytesPerSecond port, long long accelerators,
                                     BytesPerSecond link);

}  // namespace napkin
