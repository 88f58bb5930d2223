// Mixers with a recurrent state, in the chunked form that runs on matrix units (dao2024mamba2 §6; yang2024gated).
#include "model/transformer/operators_builder.hpp"

namespace napkin {
namespace {

// Tokens per chunk of a gated delta net: 64 in yang2024gated. The products and the states below depend on it.
constexpr double delta_chunk = 64, measured_state = 128;

// Per chunk and head: scores [Q,N]·[N,Q], outputs [Q,Q]·[Q,P], and two state products [N,Q]·[Q,P], [Q,N]·[N,P].
template <class K>
void chunked_scan(OperatorBuilder<K>& b, ScalarT<K> heads, ScalarT<K> state, ScalarT<K> width, double chunk,
                  double extra_products, BytesT<K> saved) {
  const auto q = b.scope.input("Q", chunk, "dao2024mamba2");
  const auto chunks = let("chunks", b.tokens * heads / q);
  auto& scores = b.gemm("scan_scores", q, q, state, saved, chunks * (1 + extra_products));
  scores.weight = false;
  scores.low_precision = false;
  auto& outputs = b.gemm("scan_outputs", q, width, q, BytesT<K>{}, chunks);
  outputs.weight = false;
  outputs.low_precision = false;
  auto& states = b.gemm("scan_states", q, width, state, BytesT<K>{}, 2 * chunks);
  states.weight = false;
  states.low_precision = false;
  // A state [N,P] for each chunk and head in fp32: written by one kernel, passed on by another, read by a third; going back
  // once more, with their gradients (dao2024mamba2 §6).
  const BytesT<K> state_bytes = let("chunk_states", chunks * state * width * (4 * byte), "dao2024mamba2");
  b.elementwise("chunk_states", 4 * state_bytes, 8 * state_bytes);
}

}  // namespace

template <class K>
void mamba_operators(OperatorBuilder<K>& b, const Mamba& m) {
  const auto inner = let("i_tp", b.scope.input("inner", m.inner) / b.tp);
  const auto heads = let("a_tp", b.scope.input("heads", m.heads > 0 ? m.heads : m.inner) / b.tp);
  const auto groups = b.scope.input("groups", m.groups) * b.scope.input("state", m.state) / b.tp;
  const auto conv_width = inner + 2 * groups;
  b.enter_tp("tp_enter_mamba", b.hidden);
  b.gemm_of_norm("mamba_in", b.tokens, 2 * inner + 2 * groups + heads, b.hidden);
  const BytesT<K> conv = b.tokens * conv_width * b.e;
  b.elementwise("mamba_conv", 2 * conv, 3 * conv, conv);
  const auto head_dim = m.heads > 0 ? b.scope.input("P", m.head_dim) : ScalarT<K>(1);
  // Its kernels are bound by neither their products nor their bytes: as slow as so many bytes, measured at a state of 128.
  const auto elements = let("scan_elements", b.tokens * heads * head_dim * (b.scope.input("N", m.state) / measured_state));
  auto& scan = b.elementwise("scan", {}, {}, conv);
  scan.forward_bytes = let("scan_bytes", b.scope.read("B_scan", b.profile.elementwise.scan_forward) * elements * (1 * byte), "dao2024mamba2");
  scan.backward_bytes = let("scan_bytes_backward", b.scope.read("B_scan_backward", b.profile.elementwise.scan_backward) * elements * (1 * byte), "dao2024mamba2");
  const BytesT<K> out = b.tokens * inner * b.e;
  b.elementwise("mamba_gated_norm", 3 * out, 5 * out, 2 * out);
  b.gemm("mamba_out", b.tokens, b.hidden, inner, out);
  b.leave_tp("tp_leave_mamba", b.hidden);
}

template <class K>
void linear_attention_operators(OperatorBuilder<K>& b, const LinearAttention& l) {
  const auto kh = b.scope.input("key_heads", l.key_heads) / b.tp;
  const auto vh = b.scope.input("value_heads", l.value_heads) / b.tp;
  const auto dk = b.scope.input("d_k", l.key_head_dim);
  const auto dv = b.scope.input("d_v", l.value_head_dim);
  const auto qk_width = 2 * kh * dk;
  const auto v_width = let("v", vh * dv);
  b.enter_tp("tp_enter_linear", b.hidden);
  b.gemm_of_norm("linear_in", b.tokens, qk_width + 2 * v_width + (l.delta_rule ? 2 * vh : ScalarT<K>(0)), b.hidden);
  const BytesT<K> qkv = b.tokens * (qk_width + v_width) * b.e;
  if (l.conv > 0) b.elementwise("linear_conv", 2 * qkv, 3 * qkv, qkv);
  // The delta rule inverts a [Q,Q] triangular system per chunk: about two more score-sized products (yang2024gated).
  chunked_scan(b, vh, dk, dv, delta_chunk, l.delta_rule ? 2 : 0, qkv);
  const BytesT<K> out = b.tokens * v_width * b.e;
  b.elementwise("linear_gated_norm", 3 * out, 5 * out, 2 * out);
  b.gemm("linear_out", b.tokens, b.hidden, v_width, out);
  b.leave_tp("tp_leave_linear", b.hidden);
}

template void mamba_operators(OperatorBuilder<Plain>&, const Mamba&);
template void mamba_operators(OperatorBuilder<Traced>&, const Mamba&);
template void linear_attention_operators(OperatorBuilder<Plain>&, const LinearAttention&);
template void linear_attention_operators(OperatorBuilder<Traced>&, const LinearAttention&);

}  // namespace napkin
