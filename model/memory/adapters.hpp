// Low-rank adapters (hu2021lora): r·(d_in + d_out) for every adapted linear.
#pragma once

#include <string_view>
#include <vector>

#include "model/constant.hpp"

namespace napkin {

// "q" "k" "v" "o" "gate" "up" "down", by their shapes; a target the layer lacks (gate of an ungated one) counts nothing.
struct LinearShape {
  std::string_view name;
  double in = 0, out = 0;
};
[[nodiscard]] std::vector<LinearShape> layer_linears(double hidden, double heads, double kv_heads, double head_dim,
                                                     double ffn, bool gated);
template <class K>
[[nodiscard]] ScalarT<K> adapter_parameters(const Scope<K>& scope, const std::vector<LinearShape>& targets,
                                            ScalarT<K> rank, ScalarT<K> layers);

}  // namespace napkin
