// What computation can hide of data-parallel communication, by rule of thumb.
//   P parameters of one rank, d replicas, B bandwidth of one rank, c = tokens of a micro-batch of one rank, k of them
#pragma once

#include "model/constant.hpp"

namespace napkin {

template <class K>
struct DataParallelWork {
  SecondsT<K> forward, backward;    // of one micro-batch: 2Pc, 4Pc (6Pc when the forward is recomputed) at the rate
  SecondsT<K> all_reduce;           // 2·g·P·(d−1)/d / B once a step, g = bytes of a gradient
  SecondsT<K> reduce_scatter;       // g·P·(d−1)/d / B
  SecondsT<K> reduce_scatter_each;  // the same after every micro-batch (ZeRO-2/3 in a pipeline, accumulation without no_sync)
  BytesT<K> all_reduce_sent;        // 2·g·P·(d−1)/d: data parallelism, ZeRO-1, ZeRO-2
  BytesT<K> zero3_sent;             // weights gathered twice, gradients scattered: (2w + g)·P·(d−1)/d
  ScalarT<K> ratio;                 // all_reduce / backward of one micro-batch
  SecondsT<K> exposed;              // what the last backward does not hide
  SecondsT<K> exposed_micro;        // ... per micro-batch
  ScalarT<K> loss;                  // exposed / (k·(forward + backward) + exposed)
};
template <class K>
[[nodiscard]] DataParallelWork<K> data_parallel_work(ScalarT<K> parameters, ScalarT<K> tokens, ScalarT<K> replicas,
                                                     ScalarT<K> micro_batches, BytesT<K> weight, BytesT<K> gradient,
                                                     bool recompute, FlopsPerSecondT<K> rate, BytesPerSecondT<K> bandwidth);

// Tokens of one rank that hide the communication; the size of the model drops out.
template <class K>
struct HidingTokens {
  ScalarT<K> all_reduce;          // gradients behind one backward
  ScalarT<K> gather_forward;      // ZeRO-3: the next layer's weights behind a forward
  ScalarT<K> backward;            // ZeRO-3: gather and reduce-scatter behind 4P a token
  ScalarT<K> backward_recompute;  // ... behind 6P
  ScalarT<K> step_recompute;      // ZeRO-3: three passes of weights a step behind 8P a token, without (d−1)/d
};
template <class K>
[[nodiscard]] HidingTokens<K> hiding_tokens(ScalarT<K> replicas, BytesT<K> weight, BytesT<K> gradient,
                                            FlopsPerSecondT<K> rate, BytesPerSecondT<K> bandwidth);

// ZeRO-Offload (ren2021zerooffload): gradients down and weights up over the host link, Adam on the host.
template <class K>
struct Offload {
  SecondsT<K> down, up, adam;
};
template <class K>
[[nodiscard]] Offload<K> optimizer_offload(ScalarT<K> parameters, BytesT<K> weight, BytesT<K> gradient,
                                           BytesT<K> adam_traffic, BytesPerSecondT<K> host_link,
                                           BytesPerSecondT<K> host_memory);

}  // namespace napkin
