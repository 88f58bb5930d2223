// One training step and one training run by rule of thumb: 6 FLOPs a parameter and token, everything else added on top.
// The engine (compose) works from operators and must agree with these in the limit.
#pragma once

#include "model/constant.hpp"

namespace napkin {

// F = 6·P·T (8 with the forward recomputed): kaplan2020
template <class K>
[[nodiscard]] FlopsT<K> training_flops(ScalarT<K> parameters, ScalarT<K> tokens, ScalarT<K> flops_per_parameter);
// Scores and values, forward and backward, per token: 12·L·h·s; half of it causal (chowdhery2022palm).
template <class K>
[[nodiscard]] FlopsT<K> attention_flops_per_token(ScalarT<K> layers, ScalarT<K> width, ScalarT<K> sequence, bool causal);
template <class K>
[[nodiscard]] SecondsT<K> time_at(FlopsT<K> flops, ScalarT<K> accelerators, FlopsPerSecondT<K> peak, ScalarT<K> utilisation);
// Compute-optimal tokens, 20 a parameter: hoffmann2022
template <class K>
[[nodiscard]] ScalarT<K> optimal_tokens(ScalarT<K> parameters, ScalarT<K> ratio);

// One layer over `tokens` of a sequence of `keys`, linears of P parameters, attention of width N·H (qi2024zerobubble
// table 1): F = 2Pt + 4tsw, B (gradient of the input) = 2Pt + 8tsw, W (of the weights) = 2Pt.
template <class K>
struct PassFlops {
  FlopsT<K> forward, input_gradient, weight_gradient;
};
template <class K>
[[nodiscard]] PassFlops<K> pass_flops(ScalarT<K> linear_parameters, ScalarT<K> tokens, ScalarT<K> keys, ScalarT<K> width);

struct StepShape {
  double tp = 1, pp = 1, dp = 1, chunks = 1;
  bool zero3 = false, recompute = false, sequence_parallel = false;
};
template <class K>
struct StepEstimate {
  ScalarT<K> micro_batches, bubble, bubble_of_total;  // (p−1)/(v·m), over ideal and over total
  SecondsT<K> compute, compute_with_bubble;
  SecondsT<K> tensor, tensor_with_bubble;             // 4 all-reduces of b·s·h a layer and micro-batch (6 recomputing)
  SecondsT<K> sends;                                  // (m + p − 2) messages of 2·b·s·h between stages, none hidden
  ScalarT<K> sends_fill;                              // ... over m of them
  SecondsT<K> data;                                   // all-reduce of the gradients; ZeRO-3: three passes of weights
  SecondsT<K> exposed, hidden;                        // step with nothing, and with all communication hidden
};
// `rate` is what kernels reach; `data_bandwidth` of one rank in its data-parallel group.
template <class K>
[[nodiscard]] StepEstimate<K> step_estimate(const Scope<K>& scope, ScalarT<K> parameters, ScalarT<K> batch,
                                            ScalarT<K> sequence, ScalarT<K> micro_batch, ScalarT<K> layers,
                                            ScalarT<K> hidden, const StepShape& shape, FlopsPerSecondT<K> rate,
                                            BytesPerSecondT<K> tensor_bandwidth, BytesPerSecondT<K> data_bandwidth);

// Slowest of n ranks whose times are normal with deviation σ: σ·(b − (ln ln n + ln 4π)/(2b) + γ/b), b = √(2 ln n)
// (gumbel1958statistics).
template <class K>
[[nodiscard]] ScalarT<K> expected_maximum(ScalarT<K> ranks, ScalarT<K> sigma);

}  // namespace napkin
