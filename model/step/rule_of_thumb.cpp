#include "model/step/rule_of_thumb.hpp"

#include <numbers>

namespace napkin {

template <class K>
FlopsT<K> training_flops(ScalarT<K> parameters, ScalarT<K> tokens, ScalarT<K> flops_per_parameter) {
  return let("F", flops_per_parameter * parameters * tokens * flop, "kaplan2020");
}
template <class K>
FlopsT<K> attention_flops_per_token(ScalarT<K> layers, ScalarT<K> width, ScalarT<K> sequence, bool causal) {
  return let(causal ? "F_attention_causal" : "F_attention", (causal ? 6 : 12) * layers * width * sequence * flop,
             "chowdhery2022palm");
}
template <class K>
SecondsT<K> time_at(FlopsT<K> flops, ScalarT<K> accelerators, FlopsPerSecondT<K> peak, ScalarT<K> utilisation) {
  return let("T", flops / (accelerators * peak * utilisation));
}
template <class K>
ScalarT<K> optimal_tokens(ScalarT<K> parameters, ScalarT<K> ratio) {
  return let("tokens", ratio * parameters, "hoffmann2022");
}

template <class K>
PassFlops<K> pass_flops(ScalarT<K> linear_parameters, ScalarT<K> tokens, ScalarT<K> keys, ScalarT<K> width) {
  const auto linear = let("F_linear", 2 * linear_parameters * tokens * flop);
  const auto scores = let("F_scores", 4 * tokens * keys * width * flop);
  return {let("F", linear + scores, "qi2024zerobubble"), let("B", linear + 2 * scores, "qi2024zerobubble"),
          let("W", linear, "qi2024zerobubble")};
}

template <class K>
StepEstimate<K> step_estimate(const Scope<K>& scope, ScalarT<K> parameters, ScalarT<K> batch, ScalarT<K> sequence,
                              ScalarT<K> micro_batch, ScalarT<K> layers, ScalarT<K> hidden, const StepShape& shape,
                              FlopsPerSecondT<K> rate, BytesPerSecondT<K> tensor_bandwidth,
                              BytesPerSecondT<K> data_bandwidth) {
  const auto tp = scope.input("tp", shape.tp, "layout"), pp = scope.input("pp", shape.pp, "layout"),
             dp = scope.input("dp", shape.dp, "layout"), v = scope.input("v", shape.chunks, "layout");
  StepEstimate<K> e;
  e.micro_batches = let("m", batch / (dp * micro_batch));
  e.bubble = let("bubble", (pp - 1) / (v * e.micro_batches), "narayanan2021");
  e.bubble_of_total = let("bubble_of_total", e.bubble / (1 + e.bubble));
  const auto work = training_flops<K>(parameters, batch * sequence, ScalarT<K>(shape.recompute ? 8 : 6));
  e.compute = let("T_compute", work / (tp * pp * dp * rate));
  e.compute_with_bubble = let("T_compute_bubble", e.compute * (1 + e.bubble));
  if (shape.tp > 1) {
    const auto message = let("V_tp", 2 * byte * micro_batch * sequence * hidden);
    const auto one = let("T_tp_all_reduce", 2 * (tp - 1) / tp * message / tensor_bandwidth, "patarasuk2009");
    e.tensor = let("T_tp", (shape.recompute ? 6 : 4) * layers / pp * e.micro_batches * one, "shoeybi2019megatron");
    e.tensor_with_bubble = let("T_tp_bubble", e.tensor * (1 + e.bubble));
  }
  if (shape.pp > 1) {
    const auto rounds = e.micro_batches + pp - 2;
    e.sends = let("T_sends", rounds * (2 * byte * micro_batch * sequence * hidden) / data_bandwidth, "austin2025scaling");
    e.sends_fill = let("sends_fill", rounds / e.micro_batches);
  }
  if (shape.dp > 1) {
    const auto held = let("V_dp", 2 * byte * parameters / (tp * pp));
    e.data = shape.zero3 ? let("T_dp", 3 * (dp - 1) / dp * held / data_bandwidth, "rajbhandari2020zero")
                         : let("T_dp", 2 * (dp - 1) / dp * held / data_bandwidth, "patarasuk2009");
  }
  e.exposed = let("T_step", e.compute_with_bubble + e.tensor_with_bubble + e.data);
  e.hidden = let("T_step_hidden", e.compute_with_bubble);
  return e;
}

template <class K>
ScalarT<K> expected_maximum(ScalarT<K> ranks, ScalarT<K> sigma) {
  if (!(ranks.si() > 2)) return let("E_max", choose("the asymptotic form needs three ranks or more", 0 * sigma));
  const auto b = let("b", sqrt(2 * log(ranks)));
  const double four_pi = 4 * std::numbers::pi;
  return let("E_max",
             sigma * (b - (log(log(ranks)) + log(ScalarT<K>(four_pi))) / (2 * b) + std::numbers::egamma / b),
             "gumbel1958statistics");
}

#define NAPKIN_INSTANTIATE(K)                                                                                         \
  template FlopsT<K> training_flops<K>(ScalarT<K>, ScalarT<K>, ScalarT<K>);                                           \
  template FlopsT<K> attention_flops_per_token<K>(ScalarT<K>, ScalarT<K>, ScalarT<K>, bool);                          \
  template SecondsT<K> time_at<K>(FlopsT<K>, ScalarT<K>, FlopsPerSecondT<K>, ScalarT<K>);                             \
  template ScalarT<K> optimal_tokens<K>(ScalarT<K>, ScalarT<K>);                                                      \
  template PassFlops<K> pass_flops<K>(ScalarT<K>, ScalarT<K>, ScalarT<K>, ScalarT<K>);                                \
  template StepEstimate<K> step_estimate<K>(const Scope<K>&, ScalarT<K>, ScalarT<K>, ScalarT<K>, ScalarT<K>,          \
                                            ScalarT<K>, ScalarT<K>, const StepShape&, FlopsPerSecondT<K>,             \
                                            BytesPerSecondT<K>, BytesPerSecondT<K>);                                  \
  template ScalarT<K> expected_maximum<K>(ScalarT<K>, ScalarT<K>);
NAPKIN_INSTANTIATE(Plain)
NAPKIN_INSTANTIATE(Traced)
#undef NAPKIN_INSTANTIATE

}  // namespace napkin
