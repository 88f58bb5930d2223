// Memory by rule of thumb: bytes per parameter of a recipe, ZeRO, the activations of a layer by formula. The engine
// (stage_memory) counts tensors; these are what papers and interviews state.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "model/constant.hpp"

namespace napkin {

// Bytes a parameter costs while training.
struct TrainingRecipe {
  std::string_view name, what, source;
  double weights = 0, gradients = 0, master = 0, moments = 0;
  [[nodiscard]] double optimizer() const { return master + moments; }
  [[nodiscard]] double total() const { return weights + gradients + optimizer(); }
};
[[nodiscard]] const std::vector<TrainingRecipe>& training_recipes();
[[nodiscard]] std::optional<TrainingRecipe> recipe_named(std::string_view name);

// rajbhandari2020zero: stage 1 shards the optimizer, 2 the gradients too, 3 the weights too.
template <class K>
struct StateBudget {
  BytesT<K> weights, gradients, optimizer, total;
};
template <class K>
[[nodiscard]] StateBudget<K> state_budget(const Scope<K>& scope, const TrainingRecipe& recipe, ScalarT<K> parameters,
                                          ScalarT<K> ranks, int zero);
// Bytes per parameter that one rank holds; memory over it is the largest model whose states fit.
template <class K>
[[nodiscard]] BytesT<K> bytes_per_parameter(const Scope<K>& scope, const TrainingRecipe& recipe, ScalarT<K> ranks,
                                            int zero);
// Fewest ranks that hold the states beside `rest` bytes each, sharded evenly at stage 3; whole below it. Zero: never.
template <class K>
[[nodiscard]] ScalarT<K> fewest_ranks(BytesT<K> states, BytesT<K> memory, BytesT<K> rest);

// Saved by one layer for one micro-batch (korthikanti2022): s·b·h·(34 + 5·a·s/h) without parallelism.
//   none       everything                               s·b·h·(10 + 24/t + 5·a·s/(h·t)); with SP all of it over t
//   selective  the core attention recomputed (or never stored: fused kernels)   without the 5·a·s/h
//   full       the layer's input alone                  2·s·b·h
enum class ActivationRule : std::uint8_t { none, selective, full };
template <class K>
[[nodiscard]] BytesT<K> layer_activations(ActivationRule rule, ScalarT<K> tokens, ScalarT<K> sequence, ScalarT<K> hidden,
                                          ScalarT<K> heads, ScalarT<K> tp, bool sp);
// Layers' worth that the first stage holds: L/p · min(p, m), interleaved · (1 + (p−1)/(p·v)) (narayanan2021).
template <class K>
[[nodiscard]] ScalarT<K> layers_in_flight(ScalarT<K> layers, ScalarT<K> pp, ScalarT<K> micro_batches, ScalarT<K> chunks);

}  // namespace napkin
