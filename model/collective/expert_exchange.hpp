// Token exchange of expert parallelism (dispatch, or combine): a ragged all-to-all in which a token crosses to a node
// once and is forwarded inside it to the ranks that need it (deepep2025).
#pragma once

#include "model/collective/collective.hpp"

namespace napkin {

struct Routing {
  double tokens = 0;  // of one rank
  double top_k = 1;
  double node_limit = 0;      // most nodes a token may go to; 0 = no limit
  double remote_nodes = -1;   // nodes other than its own that a token goes to; negative = expected of uniform routing
  bool once_per_rank = true;  // a token goes once to a rank that holds several of its experts
  double imbalance = 1;       // load of the busiest rank / mean
};

// Expected distinct places when k experts are drawn uniformly over n places: n(1 − (1 − 1/n)^k).
[[nodiscard]] double distinct_places(double n, double k);

template <class K>
struct ExchangeCost {
  SecondsT<K> time{}, across{}, inside{};    // time = latency + max(across, inside): forwarding is pipelined
  BytesT<K> bytes_across{}, bytes_inside{};  // sent by one rank
  double nodes = 1, remote_nodes = 0;        // of the group; that a token goes to
};
// `bytes_per_token`: hidden size × bytes of an element (and its scales).
template <class K>
[[nodiscard]] ExchangeCost<K> expert_exchange_cost(const Scope<K>& scope, const Network& network, const Group& group,
                                                   const Routing& routing, BytesT<K> bytes_per_token);

}  // namespace napkin
