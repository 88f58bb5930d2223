// Parameters one rank holds, by how they are sharded.
#pragma once

#include "model/constant.hpp"
#include "model/transformer/architecture.hpp"

namespace napkin {

// `dense` is replicated over data (and context) parallelism, `expert` over the smaller expert-data-parallel group. With
// low-rank adapters only `adapters` is trained, replicated as `dense` is.
template <class K>
struct RankParameters {
  ScalarT<K> dense{}, expert{}, adapters{};
  ScalarT<K> lookup{};  // of `dense`: tables that are looked up, not multiplied with
};

// One layer under tensor parallelism tp and expert parallelism ep × etp. Norms, router and MLA down-projections are
// replicated over TP (shoeybi2019megatron §3; Megatron-Core); key/value heads are when tp exceeds them.
template <class K>
[[nodiscard]] RankParameters<K> layer_rank_parameters(Scope<K> scope, const Architecture& a, const LayerKind& kind,
                                                      int tp, int ep, int etp);
// Embedding table (and learned positions) and head with `vocab` padded rows. A tied head on another stage than the
// embedding is a second copy.
template <class K>
[[nodiscard]] ScalarT<K> embedding_rank_parameters(Scope<K> scope, const Architecture& a, std::int64_t vocab, int tp,
                                                   bool vocab_parallel);
template <class K>
[[nodiscard]] ScalarT<K> head_rank_parameters(Scope<K> scope, const Architecture& a, std::int64_t vocab, int tp,
                                              bool vocab_parallel, bool with_embedding);

}  // namespace napkin
