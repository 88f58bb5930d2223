// Waiting: requests arrive at random (Poisson), servers are alike, one queue feeds whichever is free.
#pragma once

#include <cstdint>

#include "model/constant.hpp"

namespace napkin {

// Probability that all `servers` are busy under an offered load of a = λ·S servers, a < servers (erlang1917, formula C).
// With B the blocking probability of formula B, by its recursion B_k = a·B_{k−1} / (k + a·B_{k−1}): C = B / (1 − ρ(1 − B)).
[[nodiscard]] double erlang_c(std::int64_t servers, double load);
// Least n with P(N ≤ n) ≥ share for a Poisson N of this mean: sequences under way when none waits for a slot (M/G/∞).
[[nodiscard]] double poisson_quantile(double mean, double share);

template <class K>
struct Wait {
  ScalarT<K> utilisation, busy;  // ρ; probability that an arrival waits
  SecondsT<K> mean, tail;        // time in the queue: mean, and what a share `share` of arrivals stays below
};
// allen1990: mean = C/(s(1−ρ)) · S · (1 + v)/2, v the squared coefficient of variation of the service time (0: all alike;
// 1: exponential, where it is exact). The queue's tail is taken as exponential with that mean: C·exp(−C·t/mean)
// (kingman1961, heavy traffic). λ·S < servers is the caller's business.
template <class K>
[[nodiscard]] Wait<K> queue_wait(const Scope<K>& scope, PerSecondT<K> rate, SecondsT<K> service, ScalarT<K> servers,
                                 ScalarT<K> variation, ScalarT<K> share);

}  // namespace napkin
