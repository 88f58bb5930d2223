// Feed-forward layers as operators: dense (gated or not), and mixture of experts with expert and expert-tensor
// parallelism (lepikhin2020gshard; rajbhandari2022deepspeedmoe).
#include "model/transformer/operators_builder.hpp"

namespace napkin {
namespace {

// The activation between the two linears. `rows · width` elements each of gate and up; its inputs are kept (of gate and
// up, products in a row, one is every second) and, where the framework does, act(gate).
template <class K>
void activation(OperatorBuilder<K>& b, const char* name, ScalarT<K> rows, ScalarT<K> width, bool gated,
                bool clamped = false) {
  const BytesT<K> one = rows * width * b.e;
  b.keep("activation_input", (gated ? 2.0 : 1.0) * one, gated ? 0.5 : 0.0);
  auto& o = gated ? b.elementwise(name, b.gate * 3 * one, b.gate * 5 * one, b.profile.saved.gate_activation ? one : BytesT<K>{})
                  : b.elementwise(name, 2 * one, 3 * one);
  if (clamped) {
    o.forward_bytes = b.scope.read("c_clamp", b.profile.elementwise.clamp_forward) * 3 * one;
    o.backward_bytes = b.scope.read("c_clamp_backward", b.profile.elementwise.clamp_backward) * 5 * one;
  }
  o.rerun |= recompute_activation;
  o.traffic = Traffic::activation;
}

// The linear before the activation; gated, its second half is the sixth product of a layer.
template <class K>
void rerun_second_half(Operator<K>& up, bool gated) {
  up.rerun |= recompute_second_products;
  up.second_rerun = gated ? 0.5 : 0.0;
}

template <class K>
void dense(OperatorBuilder<K>& b, ScalarT<K> width, bool gated, const char* up, const char* act, const char* down) {
  const typename OperatorBuilder<K>::Within module(b, recompute_ffn);
  b.enter_tp("tp_enter_ffn", b.hidden);
  auto& first = b.gemm_of_norm(up, b.tokens, (gated ? 2.0 : 1.0) * width, b.hidden);
  first.target = adapter_gate_up;
  rerun_second_half(first, gated);
  activation(b, act, b.tokens, width, gated);
  auto& second = b.gemm(down, b.tokens, b.hidden, width, b.tokens * width * b.e);
  second.drops |= recompute_activation | recompute_by_products;
  second.target = adapter_down;
  b.leave_tp("tp_leave_ffn", b.hidden);
}

template <class K>
void routed(OperatorBuilder<K>& b, const Moe& m, bool gated, bool clamped) {
  const typename OperatorBuilder<K>::Within module(b, recompute_experts);
  const auto E = b.scope.input("E", m.experts);
  const auto k = b.scope.input("top_k", m.top_k);
  const auto ep = b.scope.input("ep", b.shard.ep, "layout");
  const auto etp = b.scope.input("etp", b.shard.etp, "layout");
  const auto imbalance = b.scope.read("imbalance", b.profile.expert_imbalance);
  const auto model_width = m.latent > 0 ? b.scope.input("latent", m.latent) : b.hidden;

  // Router on the local tokens, fp32 probabilities kept.
  b.gemm_of_norm("router", b.local, E, b.hidden).low_precision = false;
  b.elementwise("router_top_k", b.local * E * (8 * byte), b.local * E * (8 * byte), b.local * E * (4 * byte));
  if (m.latent > 0) b.gemm("latent_down", b.local, model_width, b.hidden, BytesT<K>{});

  // Rows a rank sends, and rows the busiest rank works on: ep ranks send each other 1/ep of theirs, etp ranks share.
  const auto sent = m.capacity_factor > 0 ? let("rows", b.local * k * b.scope.input("capacity", m.capacity_factor))
                                          : let("rows", b.local * k);
  const auto rows = let("rows_expert", sent * etp * imbalance);
  const BytesT<K> sent_bytes = sent * model_width * b.e;
  const BytesT<K> row_bytes = rows * model_width * b.e;
  const auto passes = b.scope.read("c_permute", b.profile.permute_passes);
  b.elementwise("permute", passes * 2 * row_bytes, passes * 2 * row_bytes);
  // The exchange ends when the busiest rank has its rows; padded experts (capacity) are alike.
  const bool two_level = b.profile.expert_exchange == ExpertExchange::two_level && m.capacity_factor == 0;
  const auto exchange = [&](const char* name) {
    if (b.shard.ep == 1) return;
    const auto load = m.capacity_factor > 0 ? ScalarT<K>(1) : ScalarT<K>(imbalance);
    auto& o = b.collective(name, Axis::ep, Operation::all_to_all, Operation::all_to_all,
                           two_level ? model_width * b.e : load * sent_bytes);
    if (two_level)
      o.routing = Routing{.tokens = b.local.si(),
                          .top_k = static_cast<double>(m.top_k),
                          .imbalance = b.profile.expert_imbalance.value.si(),
                          .groups = m.groups,
                          .group_limit = m.group_limit};
  };
  exchange("ep_dispatch");
  if (b.shard.etp > 1)
    b.collective("etp_gather", Axis::etp, Operation::all_gather, Operation::reduce_scatter, etp * sent_bytes);

  const auto width = let("f_expert", b.scope.input("f_e", m.ffn) / etp);
  const auto local_experts = let("E_local", E / ep);
  const auto per_expert = let("rows_per_expert", rows / local_experts);
  const double experts_here = local_experts.si();
  auto& up = b.gemm("expert_up", per_expert, (gated ? 2.0 : 1.0) * width, model_width, row_bytes, local_experts);
  up.target = adapter_gate_up;
  up.local_experts = experts_here;
  up.waits = true;
  rerun_second_half(up, gated);
  activation(b, "expert_activation", rows, width, gated, clamped);
  auto& down = b.gemm("expert_down", per_expert, model_width, width, rows * width * b.e, local_experts);
  down.drops |= recompute_activation | recompute_by_products;
  down.target = adapter_down;
  down.local_experts = experts_here;

  if (b.shard.etp > 1)
    b.collective("etp_scatter", Axis::etp, Operation::reduce_scatter, Operation::all_gather, etp * sent_bytes);
  exchange("ep_combine");
  // Weighted sum over the top_k rows of each token; the rows are kept for the gradient of the weights, unless those have
  // multiplied the activation before.
  b.elementwise("unpermute", passes * 2 * sent_bytes, passes * 2 * sent_bytes,
                b.profile.expert_weights_early ? BytesT<K>{} : sent_bytes);
  if (m.latent > 0) b.gemm("latent_up", b.local, b.hidden, model_width, b.local * model_width * b.e);
}

}  // namespace

template <class K>
void ffn_operators(OperatorBuilder<K>& b, const Ffn& f) {
  if (f.moe) {
    routed(b, *f.moe, f.gated, f.clamped);
    b.input_is_kept = true;  // by the router
    if (f.moe->shared_ffn > 0)
      dense(b, let("f_shared", b.scope.input("f_s", f.moe->shared_ffn) / b.tp), f.gated, "shared_up",
            "shared_activation", "shared_down");
  } else if (f.width > 0) {
    dense(b, let("f_tp", b.scope.input("f", f.width) / b.tp), f.gated, "ffn_up", "ffn_activation", "ffn_down");
  }
}

template void ffn_operators(OperatorBuilder<Plain>&, const Ffn&);
template void ffn_operators(OperatorBuilder<Traced>&, const Ffn&);

}  // namespace napkin
