#include "model/collective/textbook.hpp"

namespace napkin::textbook {

namespace {

template <class K>
ScalarT<K> lg(ScalarT<K> p) {
  return ceil(log2(p));
}
// (p−1)/p · n: everything but a rank's own part.
template <class K>
BytesT<K> others(ScalarT<K> p, BytesT<K> n) {
  return (p - 1) / p * n;
}
// The largest power of two that is not above p.
template <class K>
double core(ScalarT<K> p) {
  return std::exp2(std::floor(std::log2(p.si())));
}
// p = core + surplus: each surplus rank gives its vector to a partner before and gets the result after.
template <class K>
Cost<K> fold(ScalarT<K> p, BytesT<K> n, Cost<K> inner) {
  if (core(p) == p.si()) return inner;
  return Cost<K>{2, 2 * n, n} + inner;
}
template <class K>
ScalarT<K> core_ranks(ScalarT<K> p) {
  return core(p) == p.si() ? p : ScalarT<K>(core(p));
}

}  // namespace

template <class K>
Cost<K> mst_broadcast(ScalarT<K> p, BytesT<K> n) {
  return {lg(p), lg(p) * n, {}};
}
template <class K>
Cost<K> mst_reduce(ScalarT<K> p, BytesT<K> n) {
  return {lg(p), lg(p) * n, lg(p) * n};
}
template <class K>
Cost<K> mst_scatter(ScalarT<K> p, BytesT<K> n) {
  return {lg(p), others(p, n), {}};
}
template <class K>
Cost<K> mst_gather(ScalarT<K> p, BytesT<K> n) {
  return {lg(p), others(p, n), {}};
}
template <class K>
Cost<K> ring_all_gather(ScalarT<K> p, BytesT<K> n) {
  return {p - 1, others(p, n), {}};
}
template <class K>
Cost<K> ring_reduce_scatter(ScalarT<K> p, BytesT<K> n) {
  return {p - 1, others(p, n), others(p, n)};
}
template <class K>
Cost<K> recursive_doubling_all_gather(ScalarT<K> p, BytesT<K> n) {
  return {lg(p), others(p, n), {}};
}
template <class K>
Cost<K> recursive_halving_reduce_scatter(ScalarT<K> p, BytesT<K> n) {
  return {lg(p), others(p, n), others(p, n)};
}

template <class K>
Cost<K> long_broadcast(ScalarT<K> p, BytesT<K> n) {
  return mst_scatter(p, n) + ring_all_gather(p, n);
}
template <class K>
Cost<K> long_reduce(ScalarT<K> p, BytesT<K> n) {
  return ring_reduce_scatter(p, n) + mst_gather(p, n);
}
template <class K>
Cost<K> pipelined_chain_broadcast(ScalarT<K> p, BytesT<K> n, ScalarT<K> pieces) {
  const auto rounds = p - 2 + pieces;
  return {rounds, rounds / pieces * n, {}};
}

template <class K>
Cost<K> ring_all_reduce(ScalarT<K> p, BytesT<K> n) {
  return ring_reduce_scatter(p, n) + ring_all_gather(p, n);
}
template <class K>
Cost<K> mst_all_reduce(ScalarT<K> p, BytesT<K> n) {
  return mst_reduce(p, n) + mst_broadcast(p, n);
}
template <class K>
Cost<K> recursive_doubling_all_reduce(ScalarT<K> p, BytesT<K> n) {
  const auto q = core_ranks(p);
  return fold(p, n, Cost<K>{log2(q), log2(q) * n, log2(q) * n});
}
template <class K>
Cost<K> rabenseifner_all_reduce(ScalarT<K> p, BytesT<K> n) {
  const auto q = core_ranks(p);
  return fold(p, n, recursive_halving_reduce_scatter(q, n) + recursive_doubling_all_gather(q, n));
}
template <class K>
Cost<K> double_tree_all_reduce(ScalarT<K> p, BytesT<K> n) {
  return {2 * lg(p), 2 * n, n};
}
template <class K>
Cost<K> one_shot_all_reduce(ScalarT<K> p, BytesT<K> n) {
  return {1, (p - 1) * n, (p - 1) * n};
}
template <class K>
Cost<K> two_shot_all_reduce(ScalarT<K> p, BytesT<K> n) {
  return {2, 2 * others(p, n), others(p, n)};
}
template <class K>
Cost<K> in_network_all_reduce(ScalarT<K>, BytesT<K> n) {
  return {2, n, {}};
}
template <class K>
SecondsT<K> hierarchical_all_reduce(ScalarT<K> p, ScalarT<K> m, BytesT<K> n, const Link<K>& inner,
                                    const Link<K>& outer) {
  const auto scatter = let("T_reduce_scatter", ring_reduce_scatter(m, n).time(inner));
  const auto across = let("T_across", ring_all_reduce(p / m, n / m).time(outer));
  const auto gather = let("T_all_gather", ring_all_gather(m, n).time(inner));
  return scatter + across + gather;
}

template <class K>
Cost<K> pairwise_all_to_all(ScalarT<K> p, BytesT<K> n) {
  return {p - 1, others(p, n), {}};
}
template <class K>
Cost<K> bruck_all_to_all(ScalarT<K> p, BytesT<K> n) {
  return {lg(p), lg(p) / 2 * n, {}};
}

template <class K>
Cost<K> all_reduce_bound(ScalarT<K> p, BytesT<K> n) {
  return {lg(p), 2 * others(p, n), others(p, n)};
}
template <class K>
Cost<K> gather_bound(ScalarT<K> p, BytesT<K> n) {
  return {lg(p), others(p, n), {}};
}

#define NAPKIN_INSTANTIATE(name)                   \
  template Cost<Plain> name<Plain>(Scalar, Bytes); \
  template Cost<Traced> name<Traced>(ScalarT<Traced>, BytesT<Traced>);
NAPKIN_INSTANTIATE(mst_broadcast)
NAPKIN_INSTANTIATE(mst_reduce)
NAPKIN_INSTANTIATE(mst_scatter)
NAPKIN_INSTANTIATE(mst_gather)
NAPKIN_INSTANTIATE(ring_all_gather)
NAPKIN_INSTANTIATE(ring_reduce_scatter)
NAPKIN_INSTANTIATE(recursive_doubling_all_gather)
NAPKIN_INSTANTIATE(recursive_halving_reduce_scatter)
NAPKIN_INSTANTIATE(long_broadcast)
NAPKIN_INSTANTIATE(long_reduce)
NAPKIN_INSTANTIATE(ring_all_reduce)
NAPKIN_INSTANTIATE(mst_all_reduce)
NAPKIN_INSTANTIATE(recursive_doubling_all_reduce)
NAPKIN_INSTANTIATE(rabenseifner_all_reduce)
NAPKIN_INSTANTIATE(double_tree_all_reduce)
NAPKIN_INSTANTIATE(one_shot_all_reduce)
NAPKIN_INSTANTIATE(two_shot_all_reduce)
NAPKIN_INSTANTIATE(in_network_all_reduce)
NAPKIN_INSTANTIATE(pairwise_all_to_all)
NAPKIN_INSTANTIATE(bruck_all_to_all)
NAPKIN_INSTANTIATE(all_reduce_bound)
NAPKIN_INSTANTIATE(gather_bound)
#undef NAPKIN_INSTANTIATE
template Cost<Plain> pipelined_chain_broadcast<Plain>(Scalar, Bytes, Scalar);
template Cost<Traced> pipelined_chain_broadcast<Traced>(ScalarT<Traced>, BytesT<Traced>, ScalarT<Traced>);
template Seconds hierarchical_all_reduce<Plain>(Scalar, Scalar, Bytes, const Link<Plain>&, const Link<Plain>&);
template SecondsT<Traced> hierarchical_all_reduce<Traced>(ScalarT<Traced>, ScalarT<Traced>, BytesT<Traced>,
                                                          const Link<Traced>&, const Link<Traced>&);

}  // namespace napkin::textbook
