// Softmax attention as operators: MHA, GQA, MQA (ainslie2023gqa) and MLA (deepseek-ai2024v2 §2.1).
#include <algorithm>

#include "model/transformer/operators_builder.hpp"

namespace napkin {
namespace {

// Key and value heads one TP rank holds: kv/tp, or one replicated head when tp > kv.
double kv_heads_per_rank(const Attention& at, int tp) { return std::max(1.0, static_cast<double>(at.kv_heads) / tp); }

// Context parallelism: each rank's keys and values visit the others in cp − 1 hops (liu2023ring); on the way back their
// gradients travel too. Each hop rescales the fp32 partial output (`out` elements), and backward adds to fp32 dQ, dK, dV.
template <class K>
void ring(OperatorBuilder<K>& b, BytesT<K> kv_block, ScalarT<K> out) {
  const auto hops = let("hops", b.cps - 1);
  auto& o = b.collective("ring_kv", Axis::cp, Operation::send_recv, Operation::send_recv, kv_block);
  o.rounds = hops;
  o.backward_rounds = 2 * hops;
  const BytesT<K> merge = hops * out * (8 * byte + b.e);
  b.elementwise("ring_merge", merge, merge + hops * kv_block * (8 * byte + b.e) / b.e);
}

// All keys and values are gathered before the attention, and once more before its backward pass, which scatters their
// gradients; or an all-to-all gives a rank the whole sequence of 1/cp of its heads (jacobs2023ulysses; key and value heads
// too few to split are sent to each rank that needs them), and one after the attention gives the output back.
template <class K>
void enter_context(OperatorBuilder<K>& b, ScalarT<K> kv_heads, BytesT<K> q_bytes, BytesT<K> kv_block, ScalarT<K> out) {
  if (b.shard.cp == 1) return;
  switch (b.exchange()) {
    case ContextExchange::ring: return ring(b, kv_block, out);
    case ContextExchange::all_gather:
      b.collective("cp_gather_kv", Axis::cp, Operation::all_gather, Operation::reduce_scatter, b.cps * kv_block)
          .regather = true;
      return;
    case ContextExchange::all_to_all:
      b.collective("cp_enter", Axis::cp, Operation::all_to_all, Operation::all_to_all,
                   q_bytes + max(ScalarT<K>(1), b.cps / kv_heads) * kv_block);
  }
}
template <class K>
void leave_context(OperatorBuilder<K>& b, BytesT<K> out) {
  if (b.shard.cp > 1 && b.exchange() == ContextExchange::all_to_all)
    b.collective("cp_leave", Axis::cp, Operation::all_to_all, Operation::all_to_all, out);
}

// The core: softmax(QKᵀ)V. With context parallelism a rank works on cp pairs of blocks of s/cp tokens, each worth a causal
// block once the causal halves are balanced (zig-zag order): 1/cp of the pairs, at the efficiency of the shorter block.
template <class K>
void core(OperatorBuilder<K>& b, const Architecture& a, const Attention& at, ScalarT<K> heads, ScalarT<K> kv_heads,
          ScalarT<K> key_width, ScalarT<K> value_width) {
  Operator<K>& o = b.ops.emplace_back();
  o.name = "core_attention";
  o.kind = Operator<K>::Kind::attention;
  const auto block = b.shard.cp > 1 ? let("s_block", b.sequence / b.cps) : b.sequence;
  const double length = block.si();
  if (at.chunk > 0 && static_cast<double>(at.chunk) < length) {
    // Chunked attention: every chunk is a causal sequence of its own.
    const auto chunk = b.scope.input("chunk", static_cast<double>(at.chunk), a.name);
    o.attention = {b.tokens / chunk, chunk, chunk, heads, kv_heads, key_width, value_width, true, at.window};
  } else if (b.shard.cp > 1 && (b.exchange() != ContextExchange::ring ||
                                (at.window > 0 && static_cast<double>(at.window) < length))) {
    // All keys are here: a share of the pairs of the whole sequence. So it is with a window shorter than a block: the
    // window's pairs are shared by the ranks, no hop adds any.
    o.attention = {b.batch, b.sequence, b.sequence, heads / b.cps, kv_heads / b.cps, key_width, value_width, true, at.window};
  } else {
    o.attention = {b.shard.cp > 1 ? b.batch * b.cps : b.batch, block, block, heads, kv_heads, key_width, value_width, true,
                   at.window};
  }
  o.rerun = o.drops = recompute_core_attention | recompute_between_products;
  if (b.shard.fused_attention) {
    o.saved = b.tokens * heads * (4 * byte);  // log-sum-exp, fp32 (dao2022flashattention)
  } else {
    // korthikanti2022 eq. 1: softmax output 2as²b, and with dropout its mask as²b and output 2as²b
    const auto scores = b.tokens * b.sequence * heads;
    o.saved = let("scores", scores * (a.dropout ? 2 * b.e + 1 * byte : b.e), "korthikanti2022");
  }
}

// The fourth linear of a layer; its input is the attention's output.
template <class K>
void attention_out(OperatorBuilder<K>& b, ScalarT<K> width, BytesT<K> input) {
  auto& o = b.gemm("attention_out", b.tokens, b.hidden, width, input);
  o.rerun |= recompute_second_products;
  o.drops |= recompute_between_products;
  o.target = adapter_out;
  b.leave_tp("tp_leave_attention", b.hidden);
}

template <class K>
void grouped_query(OperatorBuilder<K>& b, const Architecture& a, const Attention& at) {
  const auto heads = let("a_tp", b.scope.input("a", at.heads, a.name) / b.tp);
  const auto kv = b.scope.input("kv_tp", kv_heads_per_rank(at, b.shard.tp), "key/value heads on a rank, ≥ 1");
  const auto d = b.scope.input("d", at.head_dim, a.name);
  const auto dv = b.scope.input("d_v", at.v_head_dim, a.name);
  const auto q_width = let("q", heads * d);
  const auto k_width = let("k", kv * d);
  const auto v_width = at.keys_are_values ? ScalarT<K>(0) : let("v", kv * dv);
  const auto gate = at.output_gate ? q_width : ScalarT<K>(0);

  b.enter_tp("tp_enter_attention", b.hidden);
  auto& qkv = b.gemm_of_norm("qkv", b.tokens, q_width + k_width + v_width + gate, b.hidden);
  const auto second_share = k_width / (q_width + k_width + v_width);  // q, k, v: the second of three
  qkv.rerun |= recompute_second_products;
  qkv.second_rerun = second_share;
  qkv.target = adapter_qkv;
  const BytesT<K> qk = b.tokens * (q_width + k_width) * b.e;
  if (at.qk_norm != QkNorm::none) b.elementwise("qk_norm", 2 * qk, 3 * qk, qk);
  if (a.position == Position::rope)
    b.elementwise("rope", b.rope * 2 * qk, b.rope * 2 * qk, b.profile.saved.rotary_copy ? qk : BytesT<K>{});
  const BytesT<K> kv_bytes = b.tokens * (k_width + v_width) * b.e;
  enter_context(b, kv, b.tokens * q_width * b.e, kv_bytes, b.tokens * heads * dv);
  b.keep("qkv_saved", b.tokens * (q_width + k_width + v_width) * b.e, second_share);
  core(b, a, at, heads, kv, d, dv);
  const BytesT<K> out = b.tokens * heads * dv * b.e;
  leave_context(b, out);
  if (at.output_gate) b.elementwise("output_gate", 3 * out, 5 * out, 2 * out);
  if (b.profile.saved.attention_output_copy) b.elementwise("attention_copy", 2 * out, 2 * out, out);
  attention_out(b, heads * dv, out);
}

// Down-projections run on the local tokens with replicated weights; the latents are gathered, not the hidden state.
template <class K>
void latent(OperatorBuilder<K>& b, const Architecture& a, const Attention& at) {
  const auto heads = let("a_tp", b.scope.input("a", at.heads, a.name) / b.tp);
  const auto d = b.scope.input("d", at.head_dim, a.name);
  const auto r = b.scope.input("d_rope", at.rope_head_dim, a.name);
  const auto dv = b.scope.input("d_v", at.v_head_dim, a.name);
  const auto kv_rank = b.scope.input("r_kv", at.kv_lora_rank, a.name);
  const auto key = let("d_k", d + r);
  if (at.q_lora_rank > 0) {
    const auto q_rank = b.scope.input("r_q", at.q_lora_rank, a.name);
    b.gemm_of_norm("mla_down", b.local, q_rank + kv_rank + r, b.hidden);
    b.norm("mla_latent_norm", q_rank + kv_rank, b.local);
    b.enter_tp("tp_enter_attention", q_rank + kv_rank + r);
    auto& q_up = b.gemm_of_norm("mla_q_up", b.tokens, heads * key, q_rank);
    q_up.rerun |= recompute_mla_up | recompute_second_products;
    q_up.target = adapter_qkv;
  } else {
    b.gemm_of_norm("mla_down", b.local, kv_rank + r, b.hidden);
    b.norm("mla_latent_norm", kv_rank, b.local);
    b.enter_tp("tp_enter_attention", b.hidden + kv_rank + r);
    auto& q = b.gemm("mla_q", b.tokens, heads * key, b.hidden);
    q.rerun |= recompute_mla_up | recompute_second_products;
    q.target = adapter_qkv;
  }
  auto& kv_up = b.gemm_of_norm("mla_kv_up", b.tokens, heads * (d + dv), kv_rank);
  kv_up.rerun |= recompute_mla_up | recompute_second_products;
  kv_up.target = adapter_qkv;
  const BytesT<K> qk = b.tokens * heads * 2 * key * b.e;
  b.elementwise("rope", b.rope * 2 * qk, b.rope * 2 * qk, b.profile.saved.rotary_copy ? qk : BytesT<K>{}).rerun |=
      recompute_mla_up | recompute_second_products;
  enter_context(b, heads, b.tokens * heads * key * b.e, b.tokens * heads * (key + dv) * b.e, b.tokens * heads * dv);
  b.keep("qkv_saved", b.tokens * heads * (2 * key + dv) * b.e, 1).drops |= recompute_mla_up;
  core(b, a, at, heads, heads, key, dv);
  const BytesT<K> out = b.tokens * heads * dv * b.e;
  leave_context(b, out);
  attention_out(b, heads * dv, out);
}

}  // namespace

template <class K>
void attention_operators(OperatorBuilder<K>& b, const Architecture& a, const Attention& at) {
  if (at.is_mla) {
    latent(b, a, at);
  } else {
    grouped_query(b, a, at);
  }
}

template void attention_operators(OperatorBuilder<Plain>&, const Architecture&, const Attention&);
template void attention_operators(OperatorBuilder<Traced>&, const Architecture&, const Attention&);

}  // namespace napkin
