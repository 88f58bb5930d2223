// Roofline: one operator → seconds on one accelerator.
#pragma once

#include <cstdint>
#include <string_view>

#include "hardware/hardware.hpp"
#include "model/constant.hpp"
#include "model/transformer/shapes.hpp"

namespace napkin {

// Training runs at the sustained rate; a short benchmark at the burst rate (clocks not yet limited by power).
enum class Regime : std::uint8_t { sustained, burst };
enum class Pass : std::uint8_t { forward, backward };

template <class K>
struct KernelCost {
  SecondsT<K> time{};
  FlopsT<K> flops{};  // executed
  BytesT<K> bytes{};  // to and from device memory
};

// time = floor + min over tiles and split-k of smooth_max(compute, memory), waves quantised on the units
// (the form and its constants: model/kernel/gemm.cpp). `input` is the format multiplied, `input_bytes` and
// `output_bytes` the bytes of an element read and written. A format the machine lacks falls to no other: InputError;
// has_format() asks. A product without elements costs nothing.
template <class K>
[[nodiscard]] KernelCost<K> gemm_cost(Scope<K> scope, const Accelerator& a, Format input, double input_bytes,
                                      double output_bytes, const GemmShape<K>& shape, Regime regime);
[[nodiscard]] bool has_format(const Accelerator& a, Format f);

// `kernel` names an entry of Accelerator::attention ("fa2", "fa3", "cudnn", ...) or "unfused" (scores materialised: two
// batched GEMMs and a memory-bound softmax). Backward of a fused kernel recomputes the scores: 2.5 × the forward FLOPs
// (dao2022flashattention).
template <class K>
[[nodiscard]] KernelCost<K> attention_cost(Scope<K> scope, const Accelerator& a, std::string_view kernel, Format format,
                                           const AttentionShape<K>& shape, Pass pass, Regime regime);
// Pairs (query, key) that the mask keeps, of one head of one sequence.
template <class K>
[[nodiscard]] ScalarT<K> attention_pairs(const AttentionShape<K>& shape);
// FLOPs of the two matrix products over those pairs, forward, all heads and sequences.
template <class K>
[[nodiscard]] FlopsT<K> attention_flops(const AttentionShape<K>& shape);

// A memory-bound kernel that moves `bytes`: time = floor + bytes / (fraction · bandwidth). `row`: bytes of a row that one
// block reduces (norm, softmax); 0 where that does not matter or is not known.
template <class K>
[[nodiscard]] KernelCost<K> elementwise_cost(Scope<K> scope, const Accelerator& a, BytesT<K> bytes,
                                             Traffic traffic = Traffic::stream, BytesT<K> row = {});

}  // namespace napkin
