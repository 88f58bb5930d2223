// One pipeline stage for one micro-batch: its layers and ends added up.
#pragma once

#include <vector>

#include "model/memory/memory.hpp"
#include "model/step/layer_cost.hpp"
#include "model/step/split.hpp"

namespace napkin {

template <class K>
struct StageCost {
  PassCost<K> forward, backward;   // layers
  SecondsT<K> recompute{}, weight_gradient{};
  SecondsT<K> once{};              // work of the first micro-batch alone
  SecondsT<K> ends_forward{}, ends_backward{};  // embedding, head and loss
  SecondsT<K> forward_total{}, backward_total{};
  RankParameters<K> parameters{};  // of the whole stage
  RankParameters<K> layers{};      // of its layers
  RankParameters<K> unit{};        // of its largest layer
  int depth = 0;                   // layers
  double weights = 0;              // weight tensors
  bool host_bound = false;         // a layer's launches take longer than its kernels
  StageTensors<K> tensors{};
};

// The layers' costs in the order of Architecture::kinds, with the ends.
template <class K>
struct LayerCosts {
  std::vector<LayerCost<K>> layers;
  std::vector<RankParameters<K>> parameters;
  LayerCost<K> embedding, head;
  ScalarT<K> embedding_parameters{}, head_parameters{}, tied_head_parameters{};
  BytesT<K> hidden_state{};  // of a micro-batch, over the whole TP group
};
template <class K>
[[nodiscard]] LayerCosts<K> layer_costs(Scope<K> scope, const Job& job, const LayerKey& key);

template <class K>
[[nodiscard]] StageCost<K> stage_cost(Scope<K> scope, const Job& job, const LayerCosts<K>& costs,
                                      const StageContent& content);
// Of the layers on the `chunks` chunks that a micro-batch crosses, the share that is recomputed: so many of each chunk.
[[nodiscard]] double recomputed_share(const Layout& l, const StageContent& content, int chunks);
// Recomputes `recomputed` of every layer of the stage in full, on average; `kept` prices those that keep everything.
template <class K>
[[nodiscard]] StageCost<K> stage_cost(Scope<K> scope, const Job& job, const LayerCosts<K>& costs, const LayerCosts<K>& kept,
                                      double recomputed, const StageContent& content);

}  // namespace napkin
