// Below how many tokens each kind of parallelism waits for its network (austin2025scaling, "Training", "GPUs").
//   α = rate / bandwidth: FLOPs that one byte on the wire must buy; F = feed-forward width, N = accelerators
// A layer of D × F computes 4BDF/N FLOPs forward and moves 4DF bytes of weights (data parallel, FSDP) or 4BD of
// activations (tensor parallel): D drops out.
#pragma once

#include "model/kernel/roofline.hpp"

namespace napkin {

// `axes` links work together: mesh axes of a torus; 1 at a switch.
template <class K>
[[nodiscard]] IntensityT<K> wire_intensity(FlopsPerSecondT<K> rate, BytesPerSecondT<K> link, ScalarT<K> axes);
// Tokens per accelerator above which data parallelism or FSDP is compute-bound: α·(X − 1)/X over X domains (∞: α),
// divided by the ways of model parallelism whose members share the wire, times E/k for sparse experts.
template <class K>
[[nodiscard]] ScalarT<K> data_parallel_tokens(IntensityT<K> alpha, ScalarT<K> domains, ScalarT<K> model_parallel,
                                              ScalarT<K> sparsity);
// Most ways of tensor parallelism while compute-bound: Y < F/α; across two or more domains of size n: Y < n + F/α
// for X = 2, in general Y·(X−1)/X < F/α.
template <class K>
[[nodiscard]] ScalarT<K> tensor_parallel_limit(IntensityT<K> alpha, ScalarT<K> ffn);
template <class K>
[[nodiscard]] ScalarT<K> tensor_parallel_limit_two_domains(IntensityT<K> alpha, ScalarT<K> ffn, ScalarT<K> domain);
// Feed-forward width that fills `ways` of tensor parallelism.
template <class K>
[[nodiscard]] ScalarT<K> width_for(IntensityT<K> alpha, ScalarT<K> ways);
// FSDP over X and tensor parallelism over Y = N/X together, the best split: tokens per accelerator above α²/(2F), with
// X = √(2·B·N/F) (an axis each: M_X = M_Y = 1 → √(B·N/F); M_X = 2·M_Y as on a 3-axis torus → √(2·B·N/F)).
template <class K>
[[nodiscard]] ScalarT<K> mixed_tokens(IntensityT<K> alpha, ScalarT<K> ffn);
template <class K>
[[nodiscard]] ScalarT<K> mixed_data_ways(ScalarT<K> batch, ScalarT<K> accelerators, ScalarT<K> ffn,
                                         ScalarT<K> axes_ratio);

// Decode: activations on the wire against weights from memory: tensor parallelism pays off while Y < F/(B·β),
// β = memory bandwidth / link bandwidth.
template <class K>
[[nodiscard]] ScalarT<K> decode_tensor_limit(ScalarT<K> ffn, ScalarT<K> batch, BytesPerSecondT<K> memory_bandwidth,
                                             BytesPerSecondT<K> link);
// One projection D × F of a decode step on Y ways, in 16-bit: wire 2·B·D, memory 2·D·F/Y, math 2·B·D·F/Y.
template <class K>
struct DecodeProjection {
  SecondsT<K> wire, memory, math;
};
template <class K>
[[nodiscard]] DecodeProjection<K> decode_projection(ScalarT<K> batch, ScalarT<K> hidden, ScalarT<K> ffn, ScalarT<K> ways,
                                                    BytesT<K> element, BytesPerSecondT<K> link,
                                                    BytesPerSecondT<K> memory_bandwidth, FlopsPerSecondT<K> rate);
// Two-dimensional weight-stationary sharding (pope2022efficiently §3.2.2), f = F/D: X = √(N/2f), Y = √(2fN); it moves
// √(32·f/N)·BD/W against 4/axes·BD/W of one dimension over all axes.
template <class K>
struct WeightStationary {
  ScalarT<K> x, yz, coefficient, fewest;  // fewest: accelerators above which two dimensions move less
};
template <class K>
[[nodiscard]] WeightStationary<K> weight_stationary(ScalarT<K> accelerators, ScalarT<K> width_ratio, ScalarT<K> axes);

}  // namespace napkin
