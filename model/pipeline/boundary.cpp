#include "model/pipeline/boundary.hpp"

namespace napkin {

template <class K>
BytesT<K> boundary_bytes(ScalarT<K> micro_batch, ScalarT<K> sequence, ScalarT<K> hidden, BytesT<K> element,
                         ScalarT<K> tensor_parallel, bool scattered) {
  const BytesT<K> whole = let("B_boundary", micro_batch * sequence * hidden * element, "narayanan2021");
  return scattered ? let("B_scattered", whole / tensor_parallel, "narayanan2021") : whole;
}

template <class K>
SecondsT<K> message_chain(ScalarT<K> micro_batches, ScalarT<K> stages, SecondsT<K> message) {
  return let("T_messages", (micro_batches + stages - 2) * message, "austin2025scaling");
}

template <class K>
PassFlops<K> gpt_layer_passes(ScalarT<K> s, ScalarT<K> b, ScalarT<K> h) {
  const ScalarT<K> tokens_wide = s * b * h;
  return {let("F", tokens_wide * (24 * h + 4 * s) * flop, "qi2024zerobubble"),
          let("B", tokens_wide * (24 * h + 8 * s) * flop, "qi2024zerobubble"),
          let("W", tokens_wide * (24 * h) * flop, "qi2024zerobubble")};
}

template BytesT<Plain> boundary_bytes<Plain>(ScalarT<Plain>, ScalarT<Plain>, ScalarT<Plain>, BytesT<Plain>,
                                             ScalarT<Plain>, bool);
template BytesT<Traced> boundary_bytes<Traced>(ScalarT<Traced>, ScalarT<Traced>, ScalarT<Traced>, BytesT<Traced>,
                                               ScalarT<Traced>, bool);
template SecondsT<Plain> message_chain<Plain>(ScalarT<Plain>, ScalarT<Plain>, SecondsT<Plain>);
template SecondsT<Traced> message_chain<Traced>(ScalarT<Traced>, ScalarT<Traced>, SecondsT<Traced>);
template PassFlops<Plain> gpt_layer_passes<Plain>(ScalarT<Plain>, ScalarT<Plain>, ScalarT<Plain>);
template PassFlops<Traced> gpt_layer_passes<Traced>(ScalarT<Traced>, ScalarT<Traced>, ScalarT<Traced>);

}  // namespace napkin
