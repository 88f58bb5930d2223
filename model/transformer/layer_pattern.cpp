#include "model/transformer/layer_pattern.hpp"

#include <algorithm>

#include "model/input_error.hpp"

namespace napkin {

int kind_index(Architecture& a, const LayerKind& kind) {
  const auto found = std::find(a.kinds.begin(), a.kinds.end(), kind);
  if (found != a.kinds.end()) return int(found - a.kinds.begin());
  if (a.kinds.size() >= max_layer_kinds) {
    throw InputError("model: more than 255 different kinds of layers are not supported");
  };
  a.kinds.push_back(kind);
  return int(a.kinds.size() - 1);
}

void append_layer(Architecture& a, const LayerKind& kind) { a.layers.push_back(std::uint8_t(kind_index(a, kind))); }

}  // namespace napkin
