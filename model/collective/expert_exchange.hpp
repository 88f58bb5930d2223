// Token exchange of expert parallelism (dispatch, or combine): a ragged all-to-all in which a token crosses to a node
// once and is forwarded inside it to the ranks that need it (deepep2025). What copies every token for every expert is an
// all-to-all of the rows instead; so is the exchange on a torus, whatever the kernels.
#pragma once

#include "model/collective/collective.hpp"

namespace napkin {

// Expected distinct places when k experts are drawn uniformly over n places: n(1 − (1 − 1/n)^k).
[[nodiscard]] double distinct_places(double n, double k);

// Share of the tokens dropped when an expert takes `capacity` × the mean and loads lie evenly between 2 − busiest and
// busiest × the mean: the mean of (load − capacity)⁺ (lepikhin2020gshard, expert capacity).
[[nodiscard]] double dropped_share(double busiest, double capacity);

template <class K>
struct ExchangeCost {
  SecondsT<K> time{}, across{}, inside{};    // time = latency + max(across, inside): forwarding is pipelined
  BytesT<K> bytes_across{}, bytes_inside{};  // sent by one rank
  double nodes = 1, remote_nodes = 0;        // of the group; that a token goes to
};
// `bytes_per_token`: hidden size × bytes of an element (and its scales). A tuned library's start-up of a transfer counts
// once, and once per peer: a rank talks to its node and to its twins in the other nodes.
template <class K>
[[nodiscard]] ExchangeCost<K> expert_exchange_cost(const Scope<K>& scope, const Network& network, const Group& group,
                                                   const Routing& routing, BytesT<K> bytes_per_token);

}  // namespace napkin
