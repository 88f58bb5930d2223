#include "model/collective/order_statistics.hpp"

#include <numbers>

#include "model/collective/textbook.hpp"

namespace napkin {
namespace {

template <class K>
textbook::Link<K> link(const Workers<K>& w) {
  return {w.alpha, 1 / w.bandwidth, {}};
}
template <class K>
SecondsT<K> tree_down_and_up(const Workers<K>& w) {
  return let("T_round", 2 * ceil(log2(w.count)) * w.alpha, "chan2007collective");
}

}  // namespace

template <class K>
Way<K> gather_all(const Workers<K>& w) {
  const auto bytes = let("V", (w.count - 1) * w.values * w.value);
  return {1, bytes, let("T", (w.count - 1) * w.alpha + bytes / w.bandwidth)};
}
template <class K>
Way<K> bisect(const Workers<K>& w) {
  return {w.bits, let("V", w.bits * (w.count - 1) * (w.value + w.counter)), let("T", w.bits * tree_down_and_up(w))};
}
template <class K>
Way<K> radix_histogram(const Workers<K>& w, ScalarT<K> passes) {
  const auto histogram = let("V_histogram", pow(ScalarT<K>(2), ceil(w.bits / passes)) * w.counter);
  const auto pass = let("T_pass", textbook::ring_all_reduce<K>(w.count, histogram).time(link(w)), "patarasuk2009");
  return {passes, histogram, let("T", passes * pass)};
}
template <class K>
Way<K> hash_shuffle(const Workers<K>& w, ScalarT<K> distinct) {
  const auto each = let("V_worker", (w.count - 1) / w.count * distinct * (w.value + w.counter));
  return {1, let("V", w.count * each), let("T", (w.count - 1) * w.alpha + each / w.bandwidth)};
}
template <class K>
Way<K> merge_top(const Workers<K>& w, ScalarT<K> k) {
  const auto rounds = ceil(log2(w.count));
  return {rounds, let("V", (w.count - 1) * k * w.value), let("T", rounds * (w.alpha + k * w.value / w.bandwidth))};
}
template <class K>
ScalarT<K> misra_gries_counters(ScalarT<K> error) {
  return let("k", 1 / error - 1, "misra1982");
}
template <class K>
Way<K> merge_counters(const Workers<K>& w, ScalarT<K> counters) {
  const auto one = let("V_summary", counters * (w.value + w.counter), "misra1982");
  const auto rounds = ceil(log2(w.count));
  return {rounds, let("V", w.count * one), let("T", rounds * (w.alpha + one / w.bandwidth))};
}
template <class K>
Way<K> quickselect(const Workers<K>& w, SecondsT<K> per_round) {
  const auto rounds = let("rounds", 2 * log(w.count * w.values), "hoare1961find");
  return {rounds, let("V", rounds * (w.count - 1) * (w.value + w.counter)), let("T", rounds * per_round)};
}
template <class K>
ScalarT<K> quickselect_comparisons() {
  return ScalarT<K>(2 + 2 * std::numbers::ln2);
}

#define NAPKIN_INSTANTIATE(K)                                               \
  template Way<K> gather_all<K>(const Workers<K>&);                         \
  template Way<K> bisect<K>(const Workers<K>&);                             \
  template Way<K> radix_histogram<K>(const Workers<K>&, ScalarT<K>);        \
  template Way<K> hash_shuffle<K>(const Workers<K>&, ScalarT<K>);           \
  template Way<K> merge_top<K>(const Workers<K>&, ScalarT<K>);              \
  template ScalarT<K> misra_gries_counters<K>(ScalarT<K>);                  \
  template Way<K> merge_counters<K>(const Workers<K>&, ScalarT<K>);         \
  template Way<K> quickselect<K>(const Workers<K>&, SecondsT<K>);           \
  template ScalarT<K> quickselect_comparisons<K>();
NAPKIN_INSTANTIATE(Plain)
NAPKIN_INSTANTIATE(Traced)
#undef NAPKIN_INSTANTIATE

}  // namespace napkin
