// Shapes of the operators a layer is made of: what a kernel or a collective is asked to do.
#pragma once

#include <cstdint>

#include "model/quantity.hpp"

namespace napkin {

// C[m,n] += A[m,k]·B[k,n], `count` of them in one kernel (batched or grouped; 1 for a plain GEMM).
template <class K>
struct GemmShape {
  ScalarT<K> m, n, k;
  ScalarT<K> count = 1;
  bool grouped = false;  // a pointer for each product: kernels of their own (GemmConstants::grouped)
};

// One attention call over `batch` sequences. Causal: the queries are the last of the keys' sequence, each sees itself and
// the keys before it; `window` limits them to the nearest ones. A balanced share of a sequence (context parallelism) is
// the whole sequence with a share of the heads: the pairs are the same.
template <class K>
struct AttentionShape {
  ScalarT<K> batch, queries, keys;  // sequence lengths on this rank
  ScalarT<K> heads, kv_heads;
  ScalarT<K> head_dim, v_head_dim;
  bool causal = true;
  std::int64_t window = 0;  // 0 = none
};

// What a process group is asked to do; model/collective prices it.
enum class Operation : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, reduce, send_recv };

// How routed tokens find their experts; model/collective/expert_exchange.hpp prices one exchange.
struct Routing {
  double tokens = 0;  // of one rank
  double top_k = 1;
  double node_limit = 0;      // most nodes a token may go to; 0 = no limit
  double remote_nodes = -1;   // nodes other than its own that a token goes to; negative = expected of uniform routing
  bool once_per_rank = true;  // a token goes once to a rank that holds several of its experts
  double imbalance = 1;       // load of the busiest rank / mean
  int groups = 0, group_limit = 0;  // experts in groups, a token's lie in few of them (deepseek-ai2024v3 §2.1.2); 0 = not
};

}  // namespace napkin
