// How often a job of many parts fails, when each part fails independently at a constant rate (kokolis2024revisiting).
#pragma once

#include "model/constant.hpp"

namespace napkin {

// MTTF of one unit from failures counted: units · time / failures.
template <class K>
[[nodiscard]] SecondsT<K> unit_mttf(ScalarT<K> units, SecondsT<K> observed, ScalarT<K> failures);
// MTTF of a job of `units`: one over the sum of the rates. Measured MTTFs of small jobs lie below it: software fails too.
template <class K>
[[nodiscard]] SecondsT<K> job_mttf(SecondsT<K> unit, ScalarT<K> units);
template <class K>
[[nodiscard]] ScalarT<K> failures_in(SecondsT<K> time, SecondsT<K> mttf);
// P(no failure in `time`) = e^(−t/M)
template <class K>
[[nodiscard]] ScalarT<K> survival(SecondsT<K> time, SecondsT<K> mttf);

}  // namespace napkin
