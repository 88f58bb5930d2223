#include "model/serving/traffic.hpp"

namespace napkin {

template <class K>
ScalarT<K> concurrency(PerSecondT<K> rate, SecondsT<K> prefill, ScalarT<K> outputs, SecondsT<K> step) {
  return let("concurrency", rate * (prefill + outputs * step), "little1961");
}
template <class K>
ScalarT<K> prefill_servers_per_decode_server(SecondsT<K> prefill, ScalarT<K> batch, SecondsT<K> step,
                                             ScalarT<K> outputs) {
  return let("prefill_per_decode", prefill * batch / (step * outputs), "zhong2024distserve");
}
template <class K>
PerSecondT<K> requests_per_second(ScalarT<K> batch, SecondsT<K> step, ScalarT<K> outputs) {
  return let("requests_per_s", batch / (step * outputs), "little1961");
}
template <class K>
ScalarT<K> tokens_per_verification(ScalarT<K> acceptance, ScalarT<K> drafted) {
  if (acceptance == 1) return let("tokens_per_step", choose("every draft is accepted", drafted + 1));
  return let("tokens_per_step", (1 - pow(acceptance, drafted + 1)) / (1 - acceptance), "leviathan2023speculative");
}
template <class K>
ScalarT<K> speculative_speedup(ScalarT<K> tokens, ScalarT<K> drafted, ScalarT<K> draft_cost) {
  return let("speedup", tokens / (1 + drafted * draft_cost), "leviathan2023speculative");
}
template <class K>
ScalarT<K> chunk_tokens(SecondsT<K> limit, SecondsT<K> decode, FlopsPerSecondT<K> rate, ScalarT<K> active) {
  return let("chunk", (limit - decode) * rate / (2 * active * flop), "agrawal2024sarathi");
}

#define NAPKIN_INSTANTIATE(K)                                                                                     \
  template ScalarT<K> concurrency<K>(PerSecondT<K>, SecondsT<K>, ScalarT<K>, SecondsT<K>);                        \
  template ScalarT<K> prefill_servers_per_decode_server<K>(SecondsT<K>, ScalarT<K>, SecondsT<K>, ScalarT<K>);     \
  template PerSecondT<K> requests_per_second<K>(ScalarT<K>, SecondsT<K>, ScalarT<K>);                             \
  template ScalarT<K> tokens_per_verification<K>(ScalarT<K>, ScalarT<K>);                                         \
  template ScalarT<K> speculative_speedup<K>(ScalarT<K>, ScalarT<K>, ScalarT<K>);                                 \
  template ScalarT<K> chunk_tokens<K>(SecondsT<K>, SecondsT<K>, FlopsPerSecondT<K>, ScalarT<K>);
NAPKIN_INSTANTIATE(Plain)
NAPKIN_INSTANTIATE(Traced)
#undef NAPKIN_INSTANTIATE

}  // namespace napkin
