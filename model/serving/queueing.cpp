#include "model/serving/queueing.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace napkin {

double erlang_c(std::int64_t servers, double load) {
  double b = 1;
  for (std::int64_t k = 1; k <= servers; ++k) b = load * b / (static_cast<double>(k) + load * b);
  const double utilisation = load / static_cast<double>(servers);
  return b / (1 - utilisation * (1 - b));
}

double poisson_quantile(double mean, double share) {
  if (!(mean > 0)) return 0;
  if (mean > 1e6) {  // the normal limit: its relative error is below 1e-6 here
    double low = -40, high = 40;
    for (int i = 0; i < 100; ++i) {
      const double z = (low + high) / 2;
      (0.5 * std::erfc(-z / std::numbers::sqrt2) < share ? low : high) = z;
    }
    return std::ceil(mean + high * std::sqrt(mean));
  }
  // Terms from the mode outwards would be as good; from well below it, logarithms keep them from vanishing.
  const double from = std::max(0.0, std::floor(mean - 40 * std::sqrt(mean) - 40));
  double below = 0, n = from;
  for (double log_term = from * std::log(mean) - mean - std::lgamma(from + 1);; log_term += std::log(mean) - std::log(n)) {
    below += std::exp(log_term);
    if (below >= share || n > mean + 40 * std::sqrt(mean) + 40) return n;
    n += 1;
  }
}

template <class K>
Wait<K> queue_wait(const Scope<K>& scope, PerSecondT<K> rate, SecondsT<K> service, ScalarT<K> servers, ScalarT<K> variation,
                   ScalarT<K> share) {
  Wait<K> w;
  const auto load = let("load", rate * service);
  w.utilisation = let("rho", load / servers);
  w.busy = scope.input("C", erlang_c(static_cast<std::int64_t>(servers.si()), load.si()), "Erlang's formula C of servers and load, erlang1917");
  w.mean = let("W_q", w.busy / (servers * (1 - w.utilisation)) * service * ((1 + variation) / 2), "allen1990");
  const auto ratio = w.busy / (1 - share);
  if (ratio.si() <= 1) w.tail = let("W_q_tail", choose("fewer than that share wait at all", 0 * w.mean));
  else w.tail = let("W_q_tail", w.mean / w.busy * (std::numbers::ln2 * log2(ratio)), "kingman1961");
  return w;
}

#define NAPKIN_INSTANTIATE(K)                                                                                  \
  template Wait<K> queue_wait<K>(const Scope<K>&, PerSecondT<K>, SecondsT<K>, ScalarT<K>, ScalarT<K>, ScalarT<K>);
NAPKIN_INSTANTIATE(Plain)
NAPKIN_INSTANTIATE(Traced)
#undef NAPKIN_INSTANTIATE

}  // namespace napkin
