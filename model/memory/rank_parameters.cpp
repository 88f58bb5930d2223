#include "model/memory/rank_parameters.hpp"

#include "model/transformer/parameters.hpp"

namespace napkin {
namespace {

// The part of a mixer every TP rank holds whole.
double replicated_mixer(const Architecture& a, const LayerKind& kind, int tp) {
  if (!kind.attention) return 0;
  const Attention& at = *kind.attention;
  if (at.is_mla)
    return static_cast<double>(a.hidden) * (at.q_lora_rank + at.kv_lora_rank + at.rope_head_dim) + at.q_lora_rank +
           at.kv_lora_rank;
  // tp > kv heads: each rank keeps one head; tp − kv extra copies, spread over the tp ranks.
  if (tp > at.kv_heads) {
    const double head = static_cast<double>(a.hidden) * (at.head_dim + (at.keys_are_values ? 0 : at.v_head_dim));
    return head * (tp - at.kv_heads) / (tp - 1.0);
  }
  return 0;
}

}  // namespace

template <class K>
RankParameters<K> layer_rank_parameters(Scope<K> scope, const Architecture& a, const LayerKind& kind, int tp, int ep,
                                        int etp) {
  const LayerParameters p = layer_parameters(a, kind);
  const auto t = scope.input("tp", tp, "layout");
  const auto number = [&](const char* name, double v) { return scope.input(name, v, a.name); };
  const double whole = std::min(replicated_mixer(a, kind, tp), static_cast<double>(p.mixer));
  RankParameters<K> r;
  // With kv replication the whole part counts once per rank: mixer/tp + whole·(tp − 1)/tp.
  const auto mixer = number("P_mixer", static_cast<double>(p.mixer));
  const auto sharded = mixer + number("P_dense_ffn", static_cast<double>(p.dense_ffn)) +
                       number("P_shared", static_cast<double>(p.shared));
  const auto replicated = number("P_norms", static_cast<double>(p.norms)) +
                          number("P_router", static_cast<double>(p.router)) +
                          number("P_other", static_cast<double>(p.other));
  r.dense = let("P_layer", sharded / t + number("P_replicated", whole) * (t - 1) / t + replicated, "shoeybi2019megatron");
  r.expert = let("P_experts", number("P_routed", static_cast<double>(p.routed)) /
                                  (scope.input("ep", ep, "layout") * scope.input("etp", etp, "layout")),
                 "lepikhin2020gshard");
  return r;
}

template <class K>
ScalarT<K> embedding_rank_parameters(Scope<K> scope, const Architecture& a, std::int64_t vocab, int tp,
                                     bool vocab_parallel) {
  const auto V = scope.input("V", static_cast<double>(vocab), "padded vocabulary");
  const auto h = scope.input("h", static_cast<double>(a.embedding_width > 0 ? a.embedding_width : a.hidden), a.name);
  const auto positions = scope.input("positions", static_cast<double>(a.learned_positions), a.name);
  return let("P_embedding", V * h / scope.input("tp", vocab_parallel ? tp : 1, "layout") + positions * h);
}

template <class K>
ScalarT<K> head_rank_parameters(Scope<K> scope, const Architecture& a, std::int64_t vocab, int tp, bool vocab_parallel,
                                bool with_embedding) {
  const auto h = scope.input("h", static_cast<double>(a.hidden), a.name);
  const auto norm = a.final_norm ? h : ScalarT<K>(0);
  if (a.tied_embeddings && with_embedding) return let("P_head", choose("tied to the embedding on this stage", norm));
  const auto V = scope.input("V", static_cast<double>(vocab), "padded vocabulary");
  return let("P_head", V * h / scope.input("tp", vocab_parallel ? tp : 1, "layout") + norm);
}

#define NAPKIN_INSTANTIATE(K)                                                                                        \
  template RankParameters<K> layer_rank_parameters(Scope<K>, const Architecture&, const LayerKind&, int, int, int);  \
  template ScalarT<K> embedding_rank_parameters(Scope<K>, const Architecture&, std::int64_t, int, bool);             \
  template ScalarT<K> head_rank_parameters(Scope<K>, const Architecture&, std::int64_t, int, bool, bool);
NAPKIN_INSTANTIATE(Plain)
NAPKIN_INSTANTIATE(Traced)
#undef NAPKIN_INSTANTIATE

}  // namespace napkin
