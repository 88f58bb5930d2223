#include "model/step/stage_cost.hpp"

namespace napkin {

double recomputed_share(const Layout& l, const StageContent& content, int chunks) {
  const int layers = content.depth() + content.mtp;
  return layers == 0 ? 1 : std::min(1.0, l.recomputed_layers * (chunks / content.share) / layers);
}

template <class K>
StageCost<K> stage_cost(Scope<K> scope, const Job& job, const LayerCosts<K>& costs, const StageContent& content) {
  return stage_cost(scope, job, costs, costs, 1, content);
}

template <class K>
StageCost<K> stage_cost(Scope<K> scope, const Job& job, const LayerCosts<K>& costs, const LayerCosts<K>& kept,
                        double recomputed, const StageContent& content) {
  StageCost<K> s;
  const auto add_some = [&](double n, std::size_t kind, const LayerCosts<K>& of) {
    const LayerCost<K>& l = of.layers[kind];
    s.forward = s.forward + n * l.forward;
    s.backward = s.backward + n * l.backward;
    s.recompute += n * l.recompute;
    s.weight_gradient += n * l.weight_gradient;
    s.once += n * l.once;
    s.weights += n * l.weights;
    s.host_bound = s.host_bound || l.host_bound;
    s.tensors.activations += n * l.saved;
    s.tensors.layer = max(s.tensors.layer, l.saved);
    s.tensors.output_gradients += n * l.output_gradients;
    s.tensors.transient = max(s.tensors.transient, l.transient + l.working);
    s.parameters.dense += n * costs.parameters[kind].dense;
    s.parameters.expert += n * costs.parameters[kind].expert;
    s.parameters.adapters += n * l.adapters;
    s.layers.dense += n * costs.parameters[kind].dense;
    s.layers.expert += n * costs.parameters[kind].expert;
    s.unit.dense = max(s.unit.dense, costs.parameters[kind].dense);
    s.unit.expert = max(s.unit.expert, costs.parameters[kind].expert);
  };
  const auto add = [&](double n, std::size_t kind) {
    if (recomputed < 1) add_some((1 - recomputed) * n, kind, kept);
    if (recomputed > 0) add_some(recomputed * n, kind, costs);
  };
  for (std::size_t kind = 0; kind < content.layers.size(); ++kind)
    if (content.layers[kind] > 0) add(content.layers[kind], kind);
  s.depth = content.depth();
  s.tensors.hidden_state = costs.hidden_state;
  if (content.embedding) {
    s.ends_forward += costs.embedding.forward.total();
    s.ends_backward += costs.embedding.backward.total();
    s.tensors.activations += costs.embedding.saved;
    s.parameters.dense += costs.embedding_parameters;
    s.weights += 1;
    if (!content.head || !job.model->tied_embeddings) s.parameters.lookup = costs.embedding_parameters;
  }
  if (content.head) {
    s.ends_forward += costs.head.forward.total();
    s.ends_backward += costs.head.backward.total();
    s.weight_gradient += costs.head.weight_gradient;
    s.tensors.head = let("M_logits", costs.head.saved);
    s.tensors.head_kept = costs.head.saved - costs.head.at_once;
    s.tensors.outputs = costs.head.returned;
    s.weights += costs.head.weights;
    s.parameters.dense += content.embedding ? costs.tied_head_parameters : costs.head_parameters;
  }
  // Each MTP module is a layer, a projection of two hidden states to one, and a pass through the shared head
  // (deepseek-ai2024v3 §2.2).
  if (content.mtp > 0) {
    add(content.mtp, static_cast<std::size_t>(job.model->mtp_kind));
    s.depth += content.mtp;
    const auto h = scope.input("h", static_cast<double>(job.model->hidden), job.model->name);
    s.parameters.dense += content.mtp * (2 * h * h);
    if (!content.head) s.parameters.dense += costs.head_parameters;  // its copy, on a stage apart
    s.weight_gradient += content.mtp * costs.head.weight_gradient;
    s.ends_forward += content.mtp * costs.head.forward.total();
    s.ends_backward += content.mtp * costs.head.backward.total();
    s.tensors.head += content.mtp * costs.head.saved;
    s.tensors.head_kept += content.mtp * (costs.head.saved - costs.head.at_once);
  }
  // Two directions: a micro-batch crosses one of the rank's two stages.
  if (content.share != 1) {
    s.forward = content.share * s.forward;
    s.backward = content.share * s.backward;
    for (SecondsT<K>* t : {&s.recompute, &s.weight_gradient, &s.ends_forward, &s.ends_backward}) *t = content.share * *t;
    s.tensors.activations = content.share * s.tensors.activations;
  }
  // Both layouts of a quantised weight, for the forward and the backward products (micikevicius2022fp8); beside the one in
  // high precision, or instead of it.
  if (job.profile->low_precision.weights_once_a_step && job.precision.cast_bytes > 0) {
    const auto linears = s.layers.dense + s.layers.expert;
    s.tensors.quantised = 2 * linears * scope.input("e_gemm", Bytes::si(job.precision.gemm_bytes), job.precision.name);
    if (primary_weights(job))
      s.tensors.quantised = s.tensors.quantised - linears * scope.read("B_param", job.profile->bytes.parameter) * (1 * byte);
  }
  s.forward_total = let("t_forward", s.forward.total() + s.ends_forward);
  s.backward_total = let("t_backward", s.backward.total() + s.recompute + s.ends_backward);
  s.parameters.dense = let("P_dense", s.parameters.dense);
  s.parameters.expert = let("P_expert", s.parameters.expert);
  s.tensors.activations = let("act_micro_batch", s.tensors.activations);
  return s;
}

#define NAPKIN_INSTANTIATE(K)                                                        \
  template StageCost<K> stage_cost(Scope<K>, const Job&, const LayerCosts<K>&, const StageContent&); \
  template StageCost<K> stage_cost(Scope<K>, const Job&, const LayerCosts<K>&, const LayerCosts<K>&, double, \
                                   const StageContent&);
NAPKIN_INSTANTIATE(Plain)
NAPKIN_INSTANTIATE(Traced)
#undef NAPKIN_INSTANTIATE

}  // namespace napkin
