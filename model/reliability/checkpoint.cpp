#include "model/reliability/checkpoint.hpp"

#include <cmath>

namespace napkin {

template <class K>
SecondsT<K> young_interval(SecondsT<K> write, SecondsT<K> mttf) {
  return let("tau_young", sqrt(2 * write * mttf), "young1974");
}
template <class K>
SecondsT<K> daly_interval(SecondsT<K> write, SecondsT<K> mttf) {
  if (write.si() >= 2 * mttf.si()) return let("tau_daly", choose("writing takes two MTTFs or more", mttf), "daly2006");
  const auto half = write / (2 * mttf);
  return let("tau_daly", sqrt(2 * write * mttf) * (1 + sqrt(half) / 3 + half / 9) - write, "daly2006");
}
template <class K>
SecondsT<K> exact_interval(const Scope<K>& scope, SecondsT<K> write, SecondsT<K> mttf) {
  // f(x) = (1 − x) eˣ falls from 1 at 0 to 0 at 1: bisection cannot miss.
  const double wanted = std::exp(-write.si() / mttf.si());
  double low = 0, high = 1;
  for (int i = 0; i < 200; ++i) {
    const double x = (low + high) / 2;
    ((1 - x) * std::exp(x) > wanted ? low : high) = x;
  }
  return let("tau_exact", scope.input("x", (low + high) / 2, "solves (1 - x) e^x = e^(-delta/M)") * mttf, "daly2006");
}

template <class K>
ScalarT<K> first_order_goodput(SecondsT<K> interval, SecondsT<K> write, SecondsT<K> restart, SecondsT<K> mttf) {
  return let("goodput_1", 1 - write / interval - (interval / 2 + restart) / mttf, "young1974");
}
template <class K>
ScalarT<K> exact_goodput(SecondsT<K> interval, SecondsT<K> write, SecondsT<K> restart, SecondsT<K> mttf) {
  return let("goodput", interval / (mttf * exp(restart / mttf) * (exp((interval + write) / mttf) - 1)), "daly2006");
}
template <class K>
ScalarT<K> effective_training_time_ratio(SecondsT<K> interval, SecondsT<K> write, SecondsT<K> restart,
                                         SecondsT<K> mttf) {
  return let("ETTR", (1 - (restart + interval / 2) / mttf) / (1 + write / interval), "kokolis2024revisiting");
}

template <class K>
BytesT<K> checkpoint_bytes(ScalarT<K> parameters, BytesT<K> per_parameter) {
  return let("size", parameters * per_parameter);
}
template <class K>
SecondsT<K> checkpoint_time(BytesT<K> size, BytesPerSecondT<K> bandwidth) {
  return let("T_checkpoint", size / bandwidth);
}

#define NAPKIN_INSTANTIATE(K)                                                                                        \
  template SecondsT<K> young_interval<K>(SecondsT<K>, SecondsT<K>);                                                  \
  template SecondsT<K> daly_interval<K>(SecondsT<K>, SecondsT<K>);                                                   \
  template SecondsT<K> exact_interval<K>(const Scope<K>&, SecondsT<K>, SecondsT<K>);                                 \
  template ScalarT<K> first_order_goodput<K>(SecondsT<K>, SecondsT<K>, SecondsT<K>, SecondsT<K>);                    \
  template ScalarT<K> exact_goodput<K>(SecondsT<K>, SecondsT<K>, SecondsT<K>, SecondsT<K>);                          \
  template ScalarT<K> effective_training_time_ratio<K>(SecondsT<K>, SecondsT<K>, SecondsT<K>, SecondsT<K>);          \
  template BytesT<K> checkpoint_bytes<K>(ScalarT<K>, BytesT<K>);                                                     \
  template SecondsT<K> checkpoint_time<K>(BytesT<K>, BytesPerSecondT<K>);
NAPKIN_INSTANTIATE(Plain)
NAPKIN_INSTANTIATE(Traced)
#undef NAPKIN_INSTANTIATE

}  // namespace napkin
