// What bounds an attention kernel, and what splitting a sequence over accelerators costs, as arithmetic on a page.
//   T queries, S keys, N query heads, K key-value heads (G = N/K), H head width, b bytes of an element
#pragma once

#include "model/kernel/roofline.hpp"

namespace napkin {

// flash-style, no mask: 4·T·S·N·H over b·(2·T·N·H + 2·S·K·H) = (2/b)·T·S·G / (T·G + S)  (austin2025scaling)
template <class K>
[[nodiscard]] IntensityT<K> fused_intensity(ScalarT<K> queries, ScalarT<K> keys, ScalarT<K> group, BytesT<K> element);
// One query against many keys: (2/b)·G.
template <class K>
[[nodiscard]] IntensityT<K> decode_intensity(ScalarT<K> group, BytesT<K> element);
// Prefill (T = S) is compute-bound above T = ridge·b/2·(G + 1)/G.
template <class K>
[[nodiscard]] ScalarT<K> compute_bound_length(IntensityT<K> ridge, ScalarT<K> group, BytesT<K> element);

// Bytes when scores are materialised: write S, read S, write P, read P, and Q, K, V, O once (dao2022flashattention).
template <class K>
[[nodiscard]] BytesT<K> unfused_bytes(ScalarT<K> batch, ScalarT<K> heads, ScalarT<K> queries, ScalarT<K> keys,
                                      ScalarT<K> head_dim, BytesT<K> element);

// Blocks of FlashAttention-1 in a memory of M bytes on chip: columns Bc = ⌈M/(4·d·b)⌉, rows Br = min(Bc, d); the
// queries are read ⌈S/Bc⌉ times (dao2022flashattention, alg. 1).
template <class K>
struct FlashBlocks {
  ScalarT<K> columns, rows, passes;
  BytesT<K> traffic;  // queries and outputs once a pass, keys and values once, of one head
};
template <class K>
[[nodiscard]] FlashBlocks<K> flash_blocks(BytesT<K> on_chip, ScalarT<K> head_dim, ScalarT<K> tokens, BytesT<K> element);

// One score: two products of 2·H FLOPs against one exponential (shah2024flashattention3 §3.1).
template <class K>
struct ScoreBound {
  ScalarT<K> flops;                          // of the tensor units per exponential
  ScalarT<K> throughput;                     // tensor FLOP/s over exponentials per second
  SecondsT<K> math, exponential;
  ScalarT<K> exponential_share;              // exponential / math
  ScalarT<K> serial_ceiling, overlap_ceiling;  // share of the peak: one after the other; both at once
};
template <class K>
[[nodiscard]] ScoreBound<K> score_bound(ScalarT<K> head_dim, FlopsPerSecondT<K> peak, PerSecondT<K> exponentials);

// ---- context parallelism: c tokens of the sequence on each of n accelerators, one link of bandwidth W each ---------
// Ring (liu2023ring): a block of keys and values moves while a block is computed. Hidden when
// 4·c²·N·H·mask / rate ≥ 2·b·c·K·H / W, so c ≥ b·rate / (2·mask·G·W); mask = ½ when causal and balanced (zig-zag).
template <class K>
[[nodiscard]] ScalarT<K> least_ring_block(FlopsPerSecondT<K> rate, BytesPerSecondT<K> link, ScalarT<K> group,
                                          bool causal, BytesT<K> element);
template <class K>
struct ContextParallel {
  BytesT<K> ulysses, all_gather, ring, megatron_sp;  // sent by one accelerator, forward of one layer
  SecondsT<K> ulysses_time, all_gather_time, ring_time;
  SecondsT<K> hop, block;         // ring: moving one block of keys and values; computing against one
  SecondsT<K> exposed;            // ring: (n − 1)·max(0, hop − block)
  ScalarT<K> contiguous_slowdown; // causal without zig-zag: the last rank computes (2n − 1)/n of the mean
};
// Ulysses (jacobs2023ulysses): q, k, v and the output each cross once: b·(2N + 2K)·H·c·(n−1)/n. All-gather of keys and
// values: 2·b·K·H·c·(n−1). Megatron sequence parallelism: two gathers and two scatters of the width N·H.
template <class K>
[[nodiscard]] ContextParallel<K> context_parallel(ScalarT<K> sequence, ScalarT<K> ranks, ScalarT<K> heads,
                                                  ScalarT<K> kv_heads, ScalarT<K> head_dim, BytesT<K> element,
                                                  bool causal, FlopsPerSecondT<K> rate, BytesPerSecondT<K> link);

}  // namespace napkin
