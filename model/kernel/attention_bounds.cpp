#include "model/kernel/attention_bounds.hpp"

namespace napkin {

template <class K>
IntensityT<K> fused_intensity(ScalarT<K> queries, ScalarT<K> keys, ScalarT<K> group, BytesT<K> element) {
  return let("I", 2 * flop / element * queries * keys * group / (queries * group + keys), "austin2025scaling");
}
template <class K>
IntensityT<K> decode_intensity(ScalarT<K> group, BytesT<K> element) {
  return let("I_decode", 2 * flop / element * group, "austin2025scaling");
}
template <class K>
ScalarT<K> compute_bound_length(IntensityT<K> at, ScalarT<K> group, BytesT<K> element) {
  return let("T_min", at * element / (2 * flop) * (group + 1) / group, "austin2025scaling");
}
template <class K>
BytesT<K> unfused_bytes(ScalarT<K> batch, ScalarT<K> heads, ScalarT<K> queries, ScalarT<K> keys, ScalarT<K> head_dim,
                        BytesT<K> element) {
  return let("bytes_unfused",
             batch * heads * (4 * queries * keys + 2 * (queries + keys) * head_dim) * element, "dao2022flashattention");
}

template <class K>
FlashBlocks<K> flash_blocks(BytesT<K> on_chip, ScalarT<K> head_dim, ScalarT<K> tokens, BytesT<K> element) {
  FlashBlocks<K> f;
  f.columns = let("B_c", ceil(on_chip / (4 * head_dim * element)), "dao2022flashattention");
  f.rows = let("B_r", min(f.columns, head_dim), "dao2022flashattention");
  f.passes = let("passes", ceil(tokens / f.columns), "dao2022flashattention");
  f.traffic = let("V_flash", (2 * f.passes + 2) * tokens * head_dim * element, "dao2022flashattention");
  return f;
}

template <class K>
ScoreBound<K> score_bound(ScalarT<K> head_dim, FlopsPerSecondT<K> peak, PerSecondT<K> exponentials) {
  ScoreBound<K> s;
  s.flops = let("flops_per_exp", 4 * head_dim, "shah2024flashattention3");
  s.throughput = let("throughput_ratio", peak / (exponentials * flop));
  s.math = let("t_math", s.flops * flop / peak);
  s.exponential = let("t_exp", 1 / exponentials);
  s.exponential_share = let("exp_over_math", s.exponential / s.math);
  s.serial_ceiling = let("serial_ceiling", s.math / (s.math + s.exponential));
  s.overlap_ceiling = let("overlap_ceiling", s.math / max(s.math, s.exponential));
  return s;
}

template <class K>
ScalarT<K> least_ring_block(FlopsPerSecondT<K> rate, BytesPerSecondT<K> link, ScalarT<K> group, bool causal,
                            BytesT<K> element) {
  const double mask = causal ? 0.5 : 1;
  return let("c_min", element * rate / (2 * mask * flop * group * link), "liu2023ring");
}

template <class K>
ContextParallel<K> context_parallel(ScalarT<K> sequence, ScalarT<K> ranks, ScalarT<K> heads, ScalarT<K> kv_heads,
                                    ScalarT<K> head_dim, BytesT<K> element, bool causal, FlopsPerSecondT<K> rate,
                                    BytesPerSecondT<K> link) {
  ContextParallel<K> p;
  const auto c = let("c", sequence / ranks);
  const auto others = (ranks - 1) / ranks;
  const auto kv = let("kv_block", 2 * c * kv_heads * head_dim * element);
  p.ulysses = let("V_ulysses", 2 * (heads + kv_heads) * head_dim * c * element * others, "jacobs2023ulysses");
  p.all_gather = let("V_all_gather", kv * (ranks - 1));
  p.ring = let("V_ring", kv * (ranks - 1), "liu2023ring");
  p.megatron_sp = let("V_megatron_sp", 4 * sequence * heads * head_dim * element * others, "korthikanti2022");
  p.ulysses_time = let("T_ulysses", p.ulysses / link);
  p.all_gather_time = let("T_all_gather", p.all_gather / link);
  p.hop = let("T_hop", kv / link);
  p.block = let("T_block", 4 * c * c * heads * head_dim * (causal ? 0.5 : 1) * flop / rate);
  p.exposed = let("T_exposed", (ranks - 1) * (max(p.hop, p.block) - p.block), "liu2023ring");
  p.ring_time = let("T_ring", ranks * p.block + p.exposed);
  p.contiguous_slowdown = let("contiguous_slowdown", causal ? (2 * ranks - 1) / ranks : ScalarT<K>(1));
  return p;
}

#define NAPKIN_INSTANTIATE(K)                                                                                         \
  template IntensityT<K> fused_intensity<K>(ScalarT<K>, ScalarT<K>, ScalarT<K>, BytesT<K>);                           \
  template IntensityT<K> decode_intensity<K>(ScalarT<K>, BytesT<K>);                                                  \
  template ScalarT<K> compute_bound_length<K>(IntensityT<K>, ScalarT<K>, BytesT<K>);                                  \
  template BytesT<K> unfused_bytes<K>(ScalarT<K>, ScalarT<K>, ScalarT<K>, ScalarT<K>, ScalarT<K>, BytesT<K>);         \
  template FlashBlocks<K> flash_blocks<K>(BytesT<K>, ScalarT<K>, ScalarT<K>, BytesT<K>);                              \
  template ScoreBound<K> score_bound<K>(ScalarT<K>, FlopsPerSecondT<K>, PerSecondT<K>);                               \
  template ScalarT<K> least_ring_block<K>(FlopsPerSecondT<K>, BytesPerSecondT<K>, ScalarT<K>, bool, BytesT<K>);       \
  template ContextParallel<K> context_parallel<K>(ScalarT<K>, ScalarT<K>, ScalarT<K>, ScalarT<K>, ScalarT<K>,         \
                                                  BytesT<K>, bool, FlopsPerSecondT<K>, BytesPerSecondT<K>);
NAPKIN_INSTANTIATE(Plain)
NAPKIN_INSTANTIATE(Traced)
#undef NAPKIN_INSTANTIATE

}  // namespace napkin
