#include "model/serving/kv_cache.hpp"

namespace napkin {

template <class K>
std::vector<KvLayers<K>> kv_layers(const Scope<K>& scope, const Architecture& a) {
  std::vector<double> counts(a.kinds.size());
  for (const auto kind : a.layers) ++counts[kind];
  std::vector<KvLayers<K>> out;
  for (std::size_t i = 0; i < a.kinds.size(); ++i) {
    if (!a.kinds[i].attention || counts[i] == 0) continue;
    const Attention& t = *a.kinds[i].attention;
    const auto width =
        t.is_mla ? let("width", scope.input("d_c", t.kv_lora_rank, a.name) + scope.input("d_rope", t.rope_head_dim, a.name),
                       "deepseek-ai2024v2")
        : t.keys_are_values ? let("width", scope.input("K", t.kv_heads, a.name) * scope.input("H", t.head_dim, a.name))
                            : let("width", scope.input("K", t.kv_heads, a.name) *
                                               (scope.input("H", t.head_dim, a.name) + scope.input("H_v", t.v_head_dim, a.name)),
                                  "ainslie2023gqa");
    out.push_back({scope.input("L", counts[i], a.name + ", " + a.kinds[i].name), width, t.window > 0 ? t.window : t.chunk,
                   scope.input("K", t.is_mla ? 1 : t.kv_heads, a.name)});
  }
  return out;
}

template <class K>
BytesT<K> kv_bytes_per_token(const std::vector<KvLayers<K>>& layers, BytesT<K> element) {
  BytesT<K> sum{};
  for (const auto& l : layers) sum = sum + l.count * l.width * element;
  return let("kv_token", sum);
}

template <class K>
BytesT<K> kv_bytes_per_token_of_rank(const std::vector<KvLayers<K>>& layers, BytesT<K> element, ScalarT<K> tp) {
  BytesT<K> sum{};
  for (const auto& l : layers) sum = sum + l.count * l.width * element * max(1 / tp, 1 / l.heads);
  return let("kv_token_rank", sum, "shoeybi2019megatron");
}

template <class K>
BytesT<K> kv_bytes_of_sequence(const std::vector<KvLayers<K>>& layers, BytesT<K> element, ScalarT<K> tokens) {
  BytesT<K> sum{};
  for (const auto& l : layers) {
    const auto kept = l.window > 0 ? min(tokens, static_cast<double>(l.window)) : tokens;
    sum = sum + l.count * l.width * element * kept;
  }
  return let("kv_sequence", sum);
}

template <class K>
PagingWaste<K> paging_waste(ScalarT<K> page, ScalarT<K> mean, ScalarT<K> longest) {
  const auto tokens = let("waste", page / 2, "kwon2023vllm");
  return {tokens, let("waste_share", tokens / (mean + tokens)), let("reserved_waste", 1 - mean / longest)};
}

template <class K>
ScalarT<K> power_of_two_above(ScalarT<K> x) {
  return let("power_of_two", pow(ScalarT<K>(2), ceil(log2(max(x, 1)))));
}

#define NAPKIN_INSTANTIATE(K)                                                                                     \
  template std::vector<KvLayers<K>> kv_layers<K>(const Scope<K>&, const Architecture&);                           \
  template BytesT<K> kv_bytes_per_token<K>(const std::vector<KvLayers<K>>&, BytesT<K>);                           \
  template BytesT<K> kv_bytes_per_token_of_rank<K>(const std::vector<KvLayers<K>>&, BytesT<K>, ScalarT<K>);       \
  template BytesT<K> kv_bytes_of_sequence<K>(const std::vector<KvLayers<K>>&, BytesT<K>, ScalarT<K>);             \
  template PagingWaste<K> paging_waste<K>(ScalarT<K>, ScalarT<K>, ScalarT<K>);                                    \
  template ScalarT<K> power_of_two_above<K>(ScalarT<K>);
NAPKIN_INSTANTIATE(Plain)
NAPKIN_INSTANTIATE(Traced)
#undef NAPKIN_INSTANTIATE

}  // namespace napkin
