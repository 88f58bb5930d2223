// The key-value cache: bytes a token leaves behind, bytes of a sequence, what is wasted, how many fit.
#pragma once

#include <cstdint>
#include <vector>

#include "model/constant.hpp"
#include "model/transformer/architecture.hpp"

namespace napkin {

// Layers that keep the same cache. MHA, GQA, MQA: width = K·(d_k + d_v) elements a token; MLA: d_c + d_rope
// (deepseek-ai2024v2); a layer with a window keeps the last `window` tokens (beltagy2020longformer), 0 = all.
template <class K>
struct KvLayers {
  ScalarT<K> count, width;
  std::int64_t window = 0;
  ScalarT<K> heads = 1;  // that tensor parallelism can split; MLA: 1, every rank keeps the whole
};
// Mamba and linear-attention layers keep a state of fixed size: not here.
template <class K>
[[nodiscard]] std::vector<KvLayers<K>> kv_layers(const Scope<K>& scope, const Architecture& a);

// What one more token adds while no window is full: Σ count · width · element.
template <class K>
[[nodiscard]] BytesT<K> kv_bytes_per_token(const std::vector<KvLayers<K>>& layers, BytesT<K> element);
// ... on one of `tp` ranks; heads fewer than ranks are copied.
template <class K>
[[nodiscard]] BytesT<K> kv_bytes_per_token_of_rank(const std::vector<KvLayers<K>>& layers, BytesT<K> element,
                                                   ScalarT<K> tp);
// Σ count · width · element · min(S, window)
template <class K>
[[nodiscard]] BytesT<K> kv_bytes_of_sequence(const std::vector<KvLayers<K>>& layers, BytesT<K> element,
                                             ScalarT<K> tokens);

// kwon2023vllm: the last page of a sequence is half empty on average; a slot of the longest length wastes the rest.
template <class K>
struct PagingWaste {
  ScalarT<K> tokens;    // per sequence, paged
  ScalarT<K> share;     // of what is held
  ScalarT<K> reserved;  // share wasted by reserving `longest` for each
};
template <class K>
[[nodiscard]] PagingWaste<K> paging_waste(ScalarT<K> page, ScalarT<K> mean, ScalarT<K> longest);

// The least power of two that is not below x, at least 1.
template <class K>
[[nodiscard]] ScalarT<K> power_of_two_above(ScalarT<K> x);

}  // namespace napkin
