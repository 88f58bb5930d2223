#include "model/transformer/operators.hpp"

#include "model/transformer/operators_builder.hpp"

namespace napkin {

std::int64_t padded_vocab(const Architecture& a, const Profile& profile, int tp) {
  const std::int64_t unit = profile.vocab_multiple * (profile.vocab_parallel ? tp : 1);
  return (a.vocab + unit - 1) / unit * unit;
}

template <class K>
std::vector<Operator<K>> layer_operators(Scope<K> scope, const Architecture& a, const LayerKind& kind,
                                         const Shard& shard, const Profile& profile) {
  OperatorBuilder<K> b(scope, a, shard, profile);
  const bool mixer = kind.attention || kind.mamba || kind.linear;
  const bool ffn = kind.ffn.moe || kind.ffn.width > 0;
  if (mixer) {
    b.norm("mixer_norm", b.hidden, b.local);
    if (kind.attention) attention_operators(b, a, *kind.attention);
    if (kind.mamba) mamba_operators(b, *kind.mamba);
    if (kind.linear) linear_attention_operators(b, *kind.linear);
    b.residual("mixer_residual", a.dropout);
  }
  if (ffn) {
    b.input_is_kept = kind.parallel_ffn && mixer;
    if (!b.input_is_kept) b.norm("ffn_norm", b.hidden, b.local, mixer);
    ffn_operators(b, kind.ffn);
    b.residual("ffn_residual", a.dropout);
  }
  // Norms beyond the two in front (Gemma's post-norms): one more pass each.
  for (int i = 2; i < kind.norms; ++i) b.norm("post_norm", b.hidden, b.local);
  return std::move(b.ops);
}

template <class K>
std::vector<Operator<K>> embedding_operators(Scope<K> scope, const Architecture& a, const Shard& shard,
                                             const Profile& profile, std::int64_t) {
  OperatorBuilder<K> b(scope, a, shard, profile);
  const BytesT<K> rows = b.tokens * b.hidden * b.e;
  b.elementwise("embedding", 2 * rows, 3 * rows, a.dropout ? b.local * b.hidden * (1 * byte) : BytesT<K>{});
  if (profile.vocab_parallel) b.leave_tp("tp_embedding", b.hidden);
  if (a.embedding_norm) b.norm("embedding_norm", b.hidden, b.local);
  return std::move(b.ops);
}

template <class K>
std::vector<Operator<K>> head_operators(Scope<K> scope, const Architecture& a, const Shard& shard,
                                        const Profile& profile, std::int64_t vocab) {
  OperatorBuilder<K> b(scope, a, shard, profile);
  if (a.final_norm) b.norm("final_norm", b.hidden, b.local);
  const auto V = scope.input("V", static_cast<double>(vocab), "padded vocabulary");
  const auto v = let("V_tp", profile.vocab_parallel ? V / b.tp : V);
  if (profile.vocab_parallel) {
    b.enter_tp("tp_enter_head", b.hidden);
    b.ops.back().low_precision = false;
  }
  auto& head = b.gemm("head", b.tokens, v, b.hidden, b.kept_input(b.hidden));
  head.low_precision = false;
  // The loss reads the logits of its rank's part of the vocabulary, or gathers the others' first.
  const bool whole = !profile.loss_parallel && profile.vocab_parallel && shard.tp > 1;
  if (whole) {
    auto& o = b.collective("tp_logits", Axis::tp, Operation::all_gather, Operation::all_gather, b.tokens * V * b.e);
    o.backward = false;
  }
  // Loss on fp32 logits: `loss_passes` over 4 bytes per logit, half of them on the way back.
  const auto logits = let("logits", b.tokens * (whole ? V : v));
  const BytesT<K> pass = logits * (4 * byte) * scope.read("n_pass", profile.elementwise.loss_passes);
  auto& loss = b.elementwise("loss", BytesT<K>{}, BytesT<K>{},
                             let("logits_saved", logits * (scope.read("B_logit", profile.saved.logits) * (1 * byte))));
  const auto alive = scope.read("B_logit", profile.saved.logits);
  loss.at_once = logits * (alive - min(alive, scope.read("B_logit_kept", profile.saved.logits_kept))) * (1 * byte);
  loss.returned = logits * scope.read("B_output", profile.saved.pipeline_outputs) * (1 * byte);
  loss.forward_bytes = 0.5 * pass;
  loss.backward_bytes = 0.5 * pass;
  if (profile.vocab_parallel && profile.loss_parallel && shard.tp > 1) {
    // Maximum, sum of exponentials and target logit of each token (shoeybi2019megatron §3).
    auto& o = b.collective("tp_loss", Axis::tp, Operation::all_reduce, Operation::all_reduce, b.tokens * (4 * byte));
    o.rounds = 3;
    o.backward = false;
  }
  return std::move(b.ops);
}

#define NAPKIN_INSTANTIATE(K)                                                                                        \
  template std::vector<Operator<K>> layer_operators(Scope<K>, const Architecture&, const LayerKind&, const Shard&,  \
                                                    const Profile&);                                                \
  template std::vector<Operator<K>> embedding_operators(Scope<K>, const Architecture&, const Shard&, const Profile&, \
                                                        std::int64_t);                                              \
  template std::vector<Operator<K>> head_operators(Scope<K>, const Architecture&, const Shard&, const Profile&,     \
                                                   std::int64_t);
NAPKIN_INSTANTIATE(Plain)
NAPKIN_INSTANTIATE(Traced)
#undef NAPKIN_INSTANTIATE

}  // namespace napkin
