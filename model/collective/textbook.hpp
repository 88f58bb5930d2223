// Collectives in the α–β–γ model: a message of n bytes between two ranks takes α + nβ, reducing n bytes takes nγ; a
// rank sends and receives at once, one message each way (chan2007collective, thakur2005optimization). p ranks, n bytes
// in the nccl-tests sense (model/collective/collective.hpp). These are what NCCL's algorithms are variations of, the
// candidates on machines without a tuned library, and the oracle of the simulation in
// tests/unit/simulated_collective_test.cpp.
#pragma once

#include "model/quantity.hpp"

namespace napkin::textbook {

template <class K>
using PerByteT = Quantity<Dim{.byte = -1, .second = 1}, K>;

template <class K>
struct Link {
  SecondsT<K> alpha;  // start-up of a message
  PerByteT<K> beta;   // seconds per byte sent
  PerByteT<K> gamma;  // seconds per byte reduced
};

// What an algorithm does to the busiest rank: T = rounds·α + sent·β + reduced·γ.
template <class K>
struct Cost {
  ScalarT<K> rounds{};
  BytesT<K> sent{}, reduced{};
  [[nodiscard]] SecondsT<K> time(const Link<K>& l) const {
    return rounds * l.alpha + sent * l.beta + reduced * l.gamma;
  }
};
template <class K>
Cost<K> operator+(const Cost<K>& a, const Cost<K>& b) {
  return {a.rounds + b.rounds, a.sent + b.sent, a.reduced + b.reduced};
}

// ---- building blocks (chan2007collective, table 1) ------------------------------------------------------------------
// Minimum spanning tree: ⌈lg p⌉ rounds of the whole vector.
template <class K>
Cost<K> mst_broadcast(ScalarT<K> p, BytesT<K> n);
template <class K>
Cost<K> mst_reduce(ScalarT<K> p, BytesT<K> n);
// ⌈lg p⌉ rounds, half of what is left each time: (p−1)/p · n.
template <class K>
Cost<K> mst_scatter(ScalarT<K> p, BytesT<K> n);
template <class K>
Cost<K> mst_gather(ScalarT<K> p, BytesT<K> n);
// Bucket (ring): p − 1 rounds of n/p.
template <class K>
Cost<K> ring_all_gather(ScalarT<K> p, BytesT<K> n);
template <class K>
Cost<K> ring_reduce_scatter(ScalarT<K> p, BytesT<K> n);
// Recursive doubling and halving, p a power of two: lg p rounds, (p−1)/p · n. Other p: ⌈lg p⌉ rounds (Bruck).
template <class K>
Cost<K> recursive_doubling_all_gather(ScalarT<K> p, BytesT<K> n);
template <class K>
Cost<K> recursive_halving_reduce_scatter(ScalarT<K> p, BytesT<K> n);

// ---- broadcast and reduce -----------------------------------------------------------------------------------------
// Scatter, then ring all-gather: ⌈lg p⌉ + p − 1 rounds, 2(p−1)/p · n.
template <class K>
Cost<K> long_broadcast(ScalarT<K> p, BytesT<K> n);
template <class K>
Cost<K> long_reduce(ScalarT<K> p, BytesT<K> n);
// A chain of p ranks passes n in k pieces: (p − 2 + k) rounds of n/k.
template <class K>
Cost<K> pipelined_chain_broadcast(ScalarT<K> p, BytesT<K> n, ScalarT<K> pieces);

// ---- all-reduce ---------------------------------------------------------------------------------------------------
// patarasuk2009: 2(p−1) rounds of n/p, bandwidth-optimal.
template <class K>
Cost<K> ring_all_reduce(ScalarT<K> p, BytesT<K> n);
// Reduce, then broadcast, the whole vector each round: 2⌈lg p⌉ rounds of n.
template <class K>
Cost<K> mst_all_reduce(ScalarT<K> p, BytesT<K> n);
// lg p exchanges of the whole vector. p not a power of two: the surplus ranks fold in before and are told after.
template <class K>
Cost<K> recursive_doubling_all_reduce(ScalarT<K> p, BytesT<K> n);
// rabenseifner2004: recursive halving reduce-scatter, recursive doubling all-gather; folding as above.
template <class K>
Cost<K> rabenseifner_all_reduce(ScalarT<K> p, BytesT<K> n);
// sanders2009: two binary trees, each inner node of one a leaf of the other, each carrying half of the vector in
// pieces; in the limit of many pieces 2⌈lg p⌉ rounds of latency and 2n sent.
template <class K>
Cost<K> double_tree_all_reduce(ScalarT<K> p, BytesT<K> n);
// Every rank sends its whole vector to every other and reduces them itself: one round, (p−1)·n.
template <class K>
Cost<K> one_shot_all_reduce(ScalarT<K> p, BytesT<K> n);
// Direct reduce-scatter, direct all-gather: two rounds, 2(p−1)/p · n.
template <class K>
Cost<K> two_shot_all_reduce(ScalarT<K> p, BytesT<K> n);
// The switch reduces and multicasts: every rank sends its vector once and receives the result once.
template <class K>
Cost<K> in_network_all_reduce(ScalarT<K> p, BytesT<K> n);
// m ranks inside (link `inner`), p/m outside (link `outer`): reduce-scatter inside, all-reduce of the shard n/m
// outside, all-gather inside; each a ring. Equal links give the bandwidth of the flat ring in fewer rounds.
template <class K>
SecondsT<K> hierarchical_all_reduce(ScalarT<K> p, ScalarT<K> m, BytesT<K> n, const Link<K>& inner,
                                    const Link<K>& outer);

// ---- all-to-all ---------------------------------------------------------------------------------------------------
// Pairwise exchange: p − 1 rounds of n/p.
template <class K>
Cost<K> pairwise_all_to_all(ScalarT<K> p, BytesT<K> n);
// bruck1997: ⌈lg p⌉ rounds of n/2.
template <class K>
Cost<K> bruck_all_to_all(ScalarT<K> p, BytesT<K> n);

// ---- lower bounds (chan2007collective, §4) --------------------------------------------------------------------------
// Rounds ≥ ⌈lg p⌉; all-reduce sends ≥ 2(p−1)/p · n and reduces ≥ (p−1)/p · n; gather and scatter ≥ (p−1)/p · n.
template <class K>
Cost<K> all_reduce_bound(ScalarT<K> p, BytesT<K> n);
template <class K>
Cost<K> gather_bound(ScalarT<K> p, BytesT<K> n);

}  // namespace napkin::textbook
