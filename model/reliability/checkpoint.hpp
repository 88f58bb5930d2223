// When to write checkpoints, and what failures and checkpoints leave of the time.
//   δ  time a checkpoint blocks training     M  mean time to failure of the job
//   τ  computing between two checkpoints     R  detecting, restarting and loading after a failure
#pragma once

#include "model/constant.hpp"

namespace napkin {

// young1974: τ = √(2 δ M)
template <class K>
[[nodiscard]] SecondsT<K> young_interval(SecondsT<K> write, SecondsT<K> mttf);
// daly2006: τ = √(2 δ M) · (1 + ⅓ √(δ/2M) + ⅑ δ/2M) − δ while δ < 2M, else M
template <class K>
[[nodiscard]] SecondsT<K> daly_interval(SecondsT<K> write, SecondsT<K> mttf);
// The τ that maximises exact_goodput: x = τ/M solves (1 − x) eˣ = e^(−δ/M); independent of R.
template <class K>
[[nodiscard]] SecondsT<K> exact_interval(const Scope<K>& scope, SecondsT<K> write, SecondsT<K> mttf);

// First order: 1 − δ/τ − (τ/2 + R)/M; below zero where the approximation has no meaning.
template <class K>
[[nodiscard]] ScalarT<K> first_order_goodput(SecondsT<K> interval, SecondsT<K> write, SecondsT<K> restart,
                                             SecondsT<K> mttf);
// daly2006, exponential failures, also while restarting: τ / (M e^(R/M) (e^((τ+δ)/M) − 1))
template <class K>
[[nodiscard]] ScalarT<K> exact_goodput(SecondsT<K> interval, SecondsT<K> write, SecondsT<K> restart,
                                       SecondsT<K> mttf);
// kokolis2024revisiting: ETTR = (1 − (u₀ + Δt/2)/M) / (1 + w/Δt), without queueing
template <class K>
[[nodiscard]] ScalarT<K> effective_training_time_ratio(SecondsT<K> interval, SecondsT<K> write, SecondsT<K> restart,
                                                       SecondsT<K> mttf);

template <class K>
[[nodiscard]] BytesT<K> checkpoint_bytes(ScalarT<K> parameters, BytesT<K> per_parameter);
template <class K>
[[nodiscard]] SecondsT<K> checkpoint_time(BytesT<K> size, BytesPerSecondT<K> bandwidth);

}  // namespace napkin
