// Switches and cables of a two- or three-tier fat tree, and what a node can carry (leiserson1985fat).
#pragma once

#include "model/constant.hpp"

namespace napkin {

template <class K>
struct FatTree {
  int tiers = 2;                         // that the endpoints need
  ScalarT<K> largest, largest_three;     // endpoints of two full tiers, k²/2, and of three, k³/4
  ScalarT<K> leaves, spines, cores;      // cores: of a third tier
  ScalarT<K> cables;                     // between leaves and spines
  ScalarT<K> leaf_ports_used;            // endpoints and uplinks of a full leaf
  ScalarT<K> units;                      // scalable units of `unit` endpoints; 0 when none was asked for
};
// Full bisection: half of a leaf's `radix` ports go down, half go up; under a third tier, half of a spine's too. Whole
// numbers. `unit`: endpoints of a scalable unit, 0 = none. InputError when three tiers do not join the endpoints.
template <class K>
[[nodiscard]] FatTree<K> fat_tree(ScalarT<K> radix, ScalarT<K> endpoints, ScalarT<K> unit);

// A tree that is as wide as its switches allow, `oversubscription` to one at the leaves: of a leaf's ports ⌊radix·o/(1 + o)⌋ go
// down. Two tiers: as many leaves as a spine has ports; three: as many pods as a core has ports, half of them leaves.
template <class K>
struct WidestTree {
  ScalarT<K> down, up;                      // ports of a leaf
  ScalarT<K> endpoints, oversubscription;   // down / up, as whole ports make it
  BytesPerSecondT<K> per_endpoint, bisection;  // one direction: out of a leaf with all endpoints sending; half to half
};
template <class K>
[[nodiscard]] WidestTree<K> widest_tree(ScalarT<K> radix, int tiers, ScalarT<K> oversubscription, BytesPerSecondT<K> port);

// Bandwidth per endpoint through `switches` of `radix` ports, all used.
template <class K>
[[nodiscard]] BytesPerSecondT<K> through_switches(ScalarT<K> switches, ScalarT<K> radix, BytesPerSecondT<K> port, ScalarT<K> endpoints);

// A scale-up node: what its switches, and what its accelerators can carry, one direction; the lesser is usable, and
// is its bisection, both directions counted.
template <class K>
struct NodeFabric {
  BytesPerSecondT<K> switch_side, accelerator_side, usable, bisection;
};
template <class K>
[[nodiscard]] NodeFabric<K> node_fabric(ScalarT<K> switches, ScalarT<K> ports, BytesPerSecondT<K> port, ScalarT<K> accelerators,
                                        BytesPerSecondT<K> link);

}  // namespace napkin
