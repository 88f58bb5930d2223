#include "model/memory/budget.hpp"

namespace napkin {

const std::vector<TrainingRecipe>& training_recipes() {
  static const std::vector<TrainingRecipe> recipes{
      {"bf16", "bf16 weights and gradients, fp32 master and Adam moments: 16", "rajbhandari2020zero", 2, 2, 4, 8},
      {"fp16", "the same in fp16: 16", "rajbhandari2020zero", 2, 2, 4, 8},
      {"bf16-fp32-grads", "gradients accumulated in fp32: 18", "shoeybi2019megatron", 2, 4, 4, 8},
      {"bf16-both-grads", "bf16 gradients and an fp32 accumulation buffer: 20", "micikevicius2018mixed", 2, 6, 4, 8},
      {"bf16-pure", "everything in bf16, no master: 8", "micikevicius2018mixed", 2, 2, 0, 4},
      {"fp32", "everything in fp32: 16", "kingma2015adam", 4, 4, 0, 8},
      {"adam8bit", "bf16, fp32 master, two 8-bit moments: 10", "dettmers2022adam8bit", 2, 2, 4, 2},
      {"sgd-momentum", "bf16, fp32 master and momentum: 12", "rajbhandari2020zero", 2, 2, 4, 4},
      {"bf16-no-grads", "bf16, gradients freed as they come: 14", "rajbhandari2020zero", 2, 0, 4, 8},
      {"bf16-weights-fp32-adam", "bf16 weights, two fp32 moments: 10", "austin2025scaling", 2, 0, 0, 8},
      {"deepseek-v3", "fp8 weights, bf16 and fp32 gradients, fp32 master, bf16 moments: 15", "deepseek-ai2024v3", 1, 6, 4, 4},
      {"fp8", "fp8 weights and gradients, bf16 compute copy, fp32 master, fp8 moments: 10", "micikevicius2022fp8", 3, 1, 4, 2},
  };
  return recipes;
}
std::optional<TrainingRecipe> recipe_named(std::string_view name) {
  for (const TrainingRecipe& r : training_recipes())
    if (r.name == name) return r;
  return std::nullopt;
}

template <class K>
StateBudget<K> state_budget(const Scope<K>& scope, const TrainingRecipe& r, ScalarT<K> parameters, ScalarT<K> ranks,
                            int zero) {
  const auto part = [&](std::string_view symbol, std::string_view name, double bytes, int from) {
    const auto whole = parameters * scope.input(symbol, Bytes::si(bytes), r.source);
    return let(name, zero >= from ? whole / ranks : whole, "rajbhandari2020zero");
  };
  StateBudget<K> s;
  s.weights = part("b_weights", "M_weights", r.weights, 3);
  s.gradients = part("b_gradients", "M_gradients", r.gradients, 2);
  s.optimizer = part("b_optimizer", "M_optimizer", r.optimizer(), 1);
  s.total = let("M_states", s.weights + s.gradients + s.optimizer);
  return s;
}
template <class K>
BytesT<K> bytes_per_parameter(const Scope<K>& scope, const TrainingRecipe& r, ScalarT<K> ranks, int zero) {
  return let("b_rank", state_budget<K>(scope, r, ScalarT<K>(1), ranks, zero).total);
}
template <class K>
ScalarT<K> fewest_ranks(BytesT<K> states, BytesT<K> memory, BytesT<K> rest) {
  if (!(rest.si() < memory.si())) return ScalarT<K>(0);
  return let("n_min", max(ceil(states / (memory - rest)), 1));
}

template <class K>
BytesT<K> layer_activations(ActivationRule rule, ScalarT<K> tokens, ScalarT<K> sequence, ScalarT<K> hidden,
                            ScalarT<K> heads, ScalarT<K> tp, bool sp) {
  const auto unit = tokens * hidden * (1 * byte);
  if (rule == ActivationRule::full) return let("A_layer", 2 * unit, "korthikanti2022");
  const auto linear = sp ? 34 / tp : 10 + 24 / tp;
  if (rule == ActivationRule::selective) return let("A_layer", unit * linear, "korthikanti2022");
  return let("A_layer", unit * (linear + 5 * heads * sequence / (hidden * tp)), "korthikanti2022");
}
template <class K>
ScalarT<K> layers_in_flight(ScalarT<K> layers, ScalarT<K> pp, ScalarT<K> micro_batches, ScalarT<K> chunks) {
  const auto held = layers / pp * min(pp, micro_batches);
  if (chunks == 1) return let("layers_held", held, "narayanan2021");
  return let("layers_held", held * (1 + (pp - 1) / (pp * chunks)), "narayanan2021");
}

#define NAPKIN_INSTANTIATE(K)                                                                                        \
  template StateBudget<K> state_budget<K>(const Scope<K>&, const TrainingRecipe&, ScalarT<K>, ScalarT<K>, int);      \
  template BytesT<K> bytes_per_parameter<K>(const Scope<K>&, const TrainingRecipe&, ScalarT<K>, int);                \
  template ScalarT<K> fewest_ranks<K>(BytesT<K>, BytesT<K>, BytesT<K>);                                              \
  template BytesT<K> layer_activations<K>(ActivationRule, ScalarT<K>, ScalarT<K>, ScalarT<K>, ScalarT<K>, ScalarT<K>, bool); \
  template ScalarT<K> layers_in_flight<K>(ScalarT<K>, ScalarT<K>, ScalarT<K>, ScalarT<K>);
NAPKIN_INSTANTIATE(Plain)
NAPKIN_INSTANTIATE(Traced)
#undef NAPKIN_INSTANTIATE

}  // namespace napkin
