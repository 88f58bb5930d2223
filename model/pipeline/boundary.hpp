// What crosses a stage boundary, and the passes a zero-bubble schedule cuts a layer into.
#pragma once

#include "model/constant.hpp"

namespace napkin {

// Activations of one micro-batch between two stages: element · b · s · h. Tensor-parallel ranks hold the same output, so
// with `scattered` each sends 1/t of it and the receivers gather it (narayanan2021 §4.1).
template <class K>
[[nodiscard]] BytesT<K> boundary_bytes(ScalarT<K> micro_batch, ScalarT<K> sequence, ScalarT<K> hidden, BytesT<K> element,
                                       ScalarT<K> tensor_parallel, bool scattered);

// Messages of one direction through a whole pipeline, were nothing else to be waited for: the last of m leaves after m − 1
// others and crosses p − 1 boundaries (austin2025scaling, pipelining): (m + p − 2)·t.
template <class K>
[[nodiscard]] SecondsT<K> message_chain(ScalarT<K> micro_batches, ScalarT<K> stages, SecondsT<K> message);

template <class K>
struct PassFlops {
  FlopsT<K> forward{}, input_gradient{}, weight_gradient{};
};
// qi2024zerobubble, table 1, for a GPT layer with h → 4h → h and full attention scores:
// F sbh(24h + 4s), B sbh(24h + 8s), W sbh·24h.
template <class K>
[[nodiscard]] PassFlops<K> gpt_layer_passes(ScalarT<K> sequence, ScalarT<K> micro_batch, ScalarT<K> hidden);

}  // namespace napkin
