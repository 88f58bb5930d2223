// Requests: how many are under way, how many servers they need, and what a step may hold.
#pragma once

#include "model/constant.hpp"

namespace napkin {

// little1961: L = λ W, W = prefill + outputs · step
template <class K>
[[nodiscard]] ScalarT<K> concurrency(PerSecondT<K> rate, SecondsT<K> prefill, ScalarT<K> outputs, SecondsT<K> step);
// Disaggregated (zhong2024distserve): prefill servers per decode server = T_prefill · batch / (step · outputs).
template <class K>
[[nodiscard]] ScalarT<K> prefill_servers_per_decode_server(SecondsT<K> prefill, ScalarT<K> batch, SecondsT<K> step,
                                                           ScalarT<K> outputs);
// Requests that a full batch finishes in a second: batch / (step · outputs).
template <class K>
[[nodiscard]] PerSecondT<K> requests_per_second(ScalarT<K> batch, SecondsT<K> step, ScalarT<K> outputs);
// leviathan2023speculative: k drafted tokens, each accepted with probability a: (1 − a^(k+1)) / (1 − a) a step.
template <class K>
[[nodiscard]] ScalarT<K> tokens_per_verification(ScalarT<K> acceptance, ScalarT<K> drafted);
// ... and the speed-up when drafting one token costs `draft_cost` of a step of the target.
template <class K>
[[nodiscard]] ScalarT<K> speculative_speedup(ScalarT<K> tokens, ScalarT<K> drafted, ScalarT<K> draft_cost);
// agrawal2024sarathi: prompt tokens that fill what a step limit leaves beside the decodes; rate = of all accelerators.
template <class K>
[[nodiscard]] ScalarT<K> chunk_tokens(SecondsT<K> limit, SecondsT<K> decode, FlopsPerSecondT<K> rate, ScalarT<K> active);

}  // namespace napkin
