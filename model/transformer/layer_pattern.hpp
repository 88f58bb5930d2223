// How kinds of layers follow each other.
#pragma once

#include <cstdint>

#include "model/transformer/architecture.hpp"

namespace napkin {

inline constexpr int max_layer_kinds = 255;

// Appends the layer, as a new kind when no earlier one equals it. InputError above `max_layer_kinds`.
void append_layer(Architecture& a, const LayerKind& kind);
// The index of the kind, added when new, without a layer of it.
int kind_index(Architecture& a, const LayerKind& kind);

// Which layers hold experts.
struct MoePattern {
  int dense_first = 0;  // the first ones do not
  int every = 1;        // of the others, the last of each `every`
  [[nodiscard]] bool is_moe(int layer) const { return layer >= dense_first && (layer - dense_first + 1) % every == 0; }
};

// Which layers see only a window: all, or all but the last of each `full_every` (0 = none is full).
struct WindowPattern {
  int full_every = 0;
  [[nodiscard]] bool is_windowed(int layer) const { return full_every == 0 || (layer + 1) % full_every != 0; }
};

}  // namespace napkin
