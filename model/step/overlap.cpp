#include "model/step/overlap.hpp"

namespace napkin {

template <class K>
DataParallelWork<K> data_parallel_work(ScalarT<K> parameters, ScalarT<K> tokens, ScalarT<K> replicas,
                                       ScalarT<K> micro_batches, BytesT<K> weight, BytesT<K> gradient, bool recompute,
                                       FlopsPerSecondT<K> rate, BytesPerSecondT<K> bandwidth) {
  DataParallelWork<K> w;
  const auto pass = parameters * tokens * flop / rate;
  w.forward = let("T_forward", 2 * pass);
  w.backward = let("T_backward", (recompute ? 6 : 4) * pass);
  const auto once = let("T_pass", gradient * parameters * (replicas - 1) / replicas / bandwidth, "patarasuk2009");
  w.all_reduce = let("T_all_reduce", 2 * once, "patarasuk2009");
  w.reduce_scatter = let("T_reduce_scatter", once);
  w.reduce_scatter_each = let("T_reduce_scatter_each", micro_batches * once, "rajbhandari2020zero");
  w.all_reduce_sent = let("V_all_reduce", 2 * gradient * parameters * (replicas - 1) / replicas, "patarasuk2009");
  w.zero3_sent = let("V_zero3", (2 * weight + gradient) * parameters * (replicas - 1) / replicas, "rajbhandari2020zero");
  w.ratio = let("comm_over_backward", w.all_reduce / w.backward);
  w.exposed = let("T_exposed", max(w.all_reduce, w.backward) - w.backward);
  w.exposed_micro = let("T_exposed_micro", w.exposed / micro_batches);
  w.loss = let("loss", w.exposed / (micro_batches * (w.forward + w.backward) + w.exposed));
  return w;
}

template <class K>
HidingTokens<K> hiding_tokens(ScalarT<K> replicas, BytesT<K> weight, BytesT<K> gradient, FlopsPerSecondT<K> rate,
                              BytesPerSecondT<K> bandwidth) {
  HidingTokens<K> h;
  const auto share = (replicas - 1) / replicas;
  h.all_reduce = let("tok_all_reduce", 2 * gradient * rate * share / (4 * flop * bandwidth));
  h.gather_forward = let("tok_gather", weight * rate * share / (2 * flop * bandwidth), "rajbhandari2020zero");
  h.backward = let("tok_backward", (weight + gradient) * rate * share / (4 * flop * bandwidth), "rajbhandari2020zero");
  h.backward_recompute =
      let("tok_backward_recompute", (weight + gradient) * rate * share / (6 * flop * bandwidth), "rajbhandari2020zero");
  h.step_recompute =
      let("tok_step_recompute", (2 * weight + gradient) * rate / (8 * flop * bandwidth), "rajbhandari2020zero");
  return h;
}

template <class K>
Offload<K> optimizer_offload(ScalarT<K> parameters, BytesT<K> weight, BytesT<K> gradient, BytesT<K> adam_traffic,
                             BytesPerSecondT<K> host_link, BytesPerSecondT<K> host_memory) {
  return {let("T_down", parameters * gradient / host_link, "ren2021zerooffload"),
          let("T_up", parameters * weight / host_link, "ren2021zerooffload"),
          let("T_adam", parameters * adam_traffic / host_memory, "ren2021zerooffload")};
}

#define NAPKIN_INSTANTIATE(K)                                                                                          \
  template DataParallelWork<K> data_parallel_work<K>(ScalarT<K>, ScalarT<K>, ScalarT<K>, ScalarT<K>, BytesT<K>, BytesT<K>, bool, \
                                                     FlopsPerSecondT<K>, BytesPerSecondT<K>);                          \
  template HidingTokens<K> hiding_tokens<K>(ScalarT<K>, BytesT<K>, BytesT<K>, FlopsPerSecondT<K>, BytesPerSecondT<K>); \
  template Offload<K> optimizer_offload<K>(ScalarT<K>, BytesT<K>, BytesT<K>, BytesT<K>, BytesPerSecondT<K>, BytesPerSecondT<K>);
NAPKIN_INSTANTIATE(Plain)
NAPKIN_INSTANTIATE(Traced)
#undef NAPKIN_INSTANTIATE

}  // namespace napkin
