#include "model/step/experts.hpp"

namespace napkin {

template <class K>
ScalarT<K> expected_places(ScalarT<K> places, ScalarT<K> choices) {
  return let("places", places * (1 - pow(1 - 1 / places, choices)));
}
template <class K>
TokenExchange<K> token_exchange(ScalarT<K> tokens, ScalarT<K> destinations, ScalarT<K> hidden, BytesT<K> dispatch,
                                BytesT<K> combine, BytesPerSecondT<K> bandwidth) {
  TokenExchange<K> e;
  e.per_token = let("V_token", destinations * hidden * (dispatch + combine), "deepep2025");
  e.dispatch = let("T_dispatch", tokens * destinations * hidden * dispatch / bandwidth, "deepep2025");
  e.combine = let("T_combine", tokens * destinations * hidden * combine / bandwidth, "deepep2025");
  e.time = let("T_exchange", e.dispatch + e.combine);
  return e;
}
template <class K>
SecondsT<K> expert_time(ScalarT<K> tokens, ScalarT<K> experts_of_token, ScalarT<K> hidden, ScalarT<K> ffn,
                        FlopsPerSecondT<K> rate) {
  return let("T_experts", 6 * tokens * experts_of_token * hidden * ffn * flop / rate, "shazeer2020");
}
template <class K>
ScalarT<K> dropped_share(ScalarT<K> hottest, ScalarT<K> capacity) {
  if (!(hottest > capacity)) return let("dropped", choose("the capacity holds the hottest expert", 0 * hottest));
  const auto over = hottest - capacity;
  return let("dropped", over * over / (2 * (2 * hottest - 2)), "lepikhin2020gshard");
}
template <class K>
ScalarT<K> experts_touched(ScalarT<K> experts, ScalarT<K> top_k, ScalarT<K> tokens) {
  return let("touched", experts * (1 - pow(1 - top_k / experts, tokens)));
}

#define NAPKIN_INSTANTIATE(K)                                                                                        \
  template ScalarT<K> expected_places<K>(ScalarT<K>, ScalarT<K>);                                                    \
  template TokenExchange<K> token_exchange<K>(ScalarT<K>, ScalarT<K>, ScalarT<K>, BytesT<K>, BytesT<K>,              \
                                              BytesPerSecondT<K>);                                                   \
  template SecondsT<K> expert_time<K>(ScalarT<K>, ScalarT<K>, ScalarT<K>, ScalarT<K>, FlopsPerSecondT<K>);           \
  template ScalarT<K> dropped_share<K>(ScalarT<K>, ScalarT<K>);                                                      \
  template ScalarT<K> experts_touched<K>(ScalarT<K>, ScalarT<K>, ScalarT<K>);
NAPKIN_INSTANTIATE(Plain)
NAPKIN_INSTANTIATE(Traced)
#undef NAPKIN_INSTANTIATE

}  // namespace napkin
