// Prefill and decode of a dense or sparse decoder on n accelerators that share its weights and caches evenly
// (austin2025scaling, "Inference"; pope2022efficiently).
#pragma once

#include "model/constant.hpp"

namespace napkin {

template <class K>
struct DecodeStep {
  SecondsT<K> weights, cache, math, time;  // time = cache + max(weights, math): attention streams, linears do either
  PerSecondT<K> tokens_per_s, per_accelerator;
};
// `weights` and `caches` are the bytes read in one step over all accelerators; `active` the parameters of one token.
template <class K>
[[nodiscard]] DecodeStep<K> decode_step(BytesT<K> weights, BytesT<K> caches, ScalarT<K> active, ScalarT<K> batch,
                                        ScalarT<K> accelerators, BytesPerSecondT<K> memory_bandwidth,
                                        FlopsPerSecondT<K> rate);

template <class K>
struct Prefill {
  FlopsT<K> linear, attention;
  SecondsT<K> time;
};
// linear = 2 P S; attention = 4 L h S² (2 L h S² causal), h = heads · head_dim; rate = of all accelerators together.
template <class K>
[[nodiscard]] Prefill<K> prefill(ScalarT<K> active, ScalarT<K> tokens, ScalarT<K> attention_width, bool causal,
                                 FlopsPerSecondT<K> rate);

// Batch above which the linears of a decode step are compute-bound: each weight byte is used 2·B/bytes times.
template <class K>
[[nodiscard]] ScalarT<K> critical_batch(FlopsPerSecondT<K> rate, BytesPerSecondT<K> memory_bandwidth, BytesT<K> weight);

}  // namespace napkin
