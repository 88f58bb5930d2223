#include "model/reliability/failures.hpp"

namespace napkin {

template <class K>
SecondsT<K> unit_mttf(ScalarT<K> units, SecondsT<K> observed, ScalarT<K> failures) {
  return let("M_unit", units * observed / failures, "kokolis2024revisiting");
}
template <class K>
SecondsT<K> job_mttf(SecondsT<K> unit, ScalarT<K> units) {
  return let("M", unit / units, "kokolis2024revisiting");
}
template <class K>
ScalarT<K> failures_in(SecondsT<K> time, SecondsT<K> mttf) {
  return let("failures", time / mttf);
}
template <class K>
ScalarT<K> survival(SecondsT<K> time, SecondsT<K> mttf) {
  return let("P_no_failure", exp(0 - time / mttf));
}

#define NAPKIN_INSTANTIATE(K)                                                  \
  template SecondsT<K> unit_mttf<K>(ScalarT<K>, SecondsT<K>, ScalarT<K>);      \
  template SecondsT<K> job_mttf<K>(SecondsT<K>, ScalarT<K>);                   \
  template ScalarT<K> failures_in<K>(SecondsT<K>, SecondsT<K>);                \
  template ScalarT<K> survival<K>(SecondsT<K>, SecondsT<K>);
NAPKIN_INSTANTIATE(Plain)
NAPKIN_INSTANTIATE(Traced)
#undef NAPKIN_INSTANTIATE

}  // namespace napkin
