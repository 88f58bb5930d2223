// Sparse experts by rule of thumb: how far tokens spread, what moves, what imbalance costs, what is read.
// The exchange with its latencies and tiers is expert_exchange_cost.
#pragma once

#include "model/constant.hpp"

namespace napkin {

// Expected distinct places of k uniform choices among n: n·(1 − (1 − 1/n)^k).
template <class K>
[[nodiscard]] ScalarT<K> expected_places(ScalarT<K> places, ScalarT<K> choices);

template <class K>
struct TokenExchange {
  BytesT<K> per_token;                  // dispatch and combine
  SecondsT<K> dispatch, combine, time;  // of one layer, forward
};
// Each of `tokens` goes to `destinations` other places; one rank sends at `bandwidth`.
template <class K>
[[nodiscard]] TokenExchange<K> token_exchange(ScalarT<K> tokens, ScalarT<K> destinations, ScalarT<K> hidden,
                                              BytesT<K> dispatch, BytesT<K> combine, BytesPerSecondT<K> bandwidth);
// Gated experts, forward: 6·h·f a token and expert.
template <class K>
[[nodiscard]] SecondsT<K> expert_time(ScalarT<K> tokens, ScalarT<K> experts_of_token, ScalarT<K> hidden, ScalarT<K> ffn,
                                      FlopsPerSecondT<K> rate);
// Loads spread evenly from 2 − hottest to hottest times the mean: share above `capacity` times the mean.
template <class K>
[[nodiscard]] ScalarT<K> dropped_share(ScalarT<K> hottest, ScalarT<K> capacity);
// Experts that B tokens touch: E·(1 − (1 − k/E)^B).
template <class K>
[[nodiscard]] ScalarT<K> experts_touched(ScalarT<K> experts, ScalarT<K> top_k, ScalarT<K> tokens);

}  // namespace napkin
