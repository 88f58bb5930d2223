#include "model/serving/decode.hpp"

namespace napkin {

template <class K>
DecodeStep<K> decode_step(BytesT<K> weights, BytesT<K> caches, ScalarT<K> active, ScalarT<K> batch,
                          ScalarT<K> accelerators, BytesPerSecondT<K> memory_bandwidth, FlopsPerSecondT<K> rate) {
  DecodeStep<K> s;
  s.weights = let("T_weights", weights / (accelerators * memory_bandwidth), "pope2022efficiently");
  s.cache = let("T_cache", caches / (accelerators * memory_bandwidth), "pope2022efficiently");
  s.math = let("T_math", 2 * active * batch * flop / (accelerators * rate), "pope2022efficiently");
  s.time = let("T_step", s.cache + max(s.weights, s.math), "austin2025scaling");
  s.tokens_per_s = let("tokens_per_s", batch / s.time);
  s.per_accelerator = let("tokens_per_s_each", s.tokens_per_s / accelerators);
  return s;
}

template <class K>
Prefill<K> prefill(ScalarT<K> active, ScalarT<K> tokens, ScalarT<K> attention_width, bool causal,
                   FlopsPerSecondT<K> rate) {
  Prefill<K> p;
  p.linear = let("F_linear", 2 * active * tokens * flop);
  p.attention = let("F_attention", (causal ? 2 : 4) * attention_width * tokens * tokens * flop);
  p.time = let("T_prefill", (p.linear + p.attention) / rate);
  return p;
}

template <class K>
ScalarT<K> critical_batch(FlopsPerSecondT<K> rate, BytesPerSecondT<K> memory_bandwidth, BytesT<K> weight) {
  return let("B_crit", rate * weight / (2 * flop * memory_bandwidth), "williams2009roofline");
}

#define NAPKIN_INSTANTIATE(K)                                                                                         \
  template DecodeStep<K> decode_step<K>(BytesT<K>, BytesT<K>, ScalarT<K>, ScalarT<K>, ScalarT<K>, BytesPerSecondT<K>, \
                                        FlopsPerSecondT<K>);                                                          \
  template Prefill<K> prefill<K>(ScalarT<K>, ScalarT<K>, ScalarT<K>, bool, FlopsPerSecondT<K>);                       \
  template ScalarT<K> critical_batch<K>(FlopsPerSecondT<K>, BytesPerSecondT<K>, BytesT<K>);
NAPKIN_INSTANTIATE(Plain)
NAPKIN_INSTANTIATE(Traced)
#undef NAPKIN_INSTANTIATE

}  // namespace napkin
