// Order statistics of values that lie on w workers: mode, median, top-k, heavy hitters. Rounds, bytes and time of each
// way on an α–β network; n values in all, b bytes each.
#pragma once

#include "model/constant.hpp"

namespace napkin {

template <class K>
struct Way {
  ScalarT<K> rounds;
  BytesT<K> bytes;  // over all workers
  SecondsT<K> time;
};
template <class K>
struct Workers {
  ScalarT<K> count, values, bits;  // values on each; bits of a value
  BytesT<K> value, counter;
  SecondsT<K> alpha;
  BytesPerSecondT<K> bandwidth;
};
// All values to one worker, which receives them one after another.
template <class K>
[[nodiscard]] Way<K> gather_all(const Workers<K>& w);
// Median by bisecting the range of values: a pivot down and a count up a binomial tree, once a bit.
template <class K>
[[nodiscard]] Way<K> bisect(const Workers<K>& w);
// Median by histograms of 2^(bits/passes) counters, all-reduced in a ring, one bucket refined by the next pass.
template <class K>
[[nodiscard]] Way<K> radix_histogram(const Workers<K>& w, ScalarT<K> passes);
// Mode, exact: every distinct value and its count to the worker that owns its hash.
template <class K>
[[nodiscard]] Way<K> hash_shuffle(const Workers<K>& w, ScalarT<K> distinct);
// The k largest: k of each worker merged up a binomial tree.
template <class K>
[[nodiscard]] Way<K> merge_top(const Workers<K>& w, ScalarT<K> k);
// Heavy hitters to within n/(k+1) (misra1982): k counters of each worker merged.
template <class K>
[[nodiscard]] ScalarT<K> misra_gries_counters(ScalarT<K> error);
template <class K>
[[nodiscard]] Way<K> merge_counters(const Workers<K>& w, ScalarT<K> counters);
// Median by random pivots (hoare1961find): about 2·ln n rounds; (2 + 2 ln 2)·n comparisons.
template <class K>
[[nodiscard]] Way<K> quickselect(const Workers<K>& w, SecondsT<K> per_round);
template <class K>
[[nodiscard]] ScalarT<K> quickselect_comparisons();

}  // namespace napkin
