// One forward pass of a model that serves, from the operators that train it: prompts (prefill), or one token of each
// sequence against its cache (decode).
#pragma once

#include "model/step/layer_cost.hpp"

namespace napkin {

// What one pass reads and computes. `cached` tokens of each sequence are in its cache already.
struct ServedBatch {
  int sequences = 1;
  std::int64_t tokens = 1;  // new ones, of each sequence
  std::int64_t cached = 0;
  bool graph = false;       // the launches are replayed as one graph: none is waited for
};

template <class K>
struct ServedPass {
  PassCost<K> layers;     // all of them; attention reads the cache
  SecondsT<K> head{};     // of the last token of each sequence
  SecondsT<K> time{};
};
// On `tp` ranks of a node. `job` gives model, machine, precision and the framework's kernels; its sequence and batch are not read.
// Quantising what the products read is not priced (weights are quantised when they are loaded).
template <class K>
[[nodiscard]] ServedPass<K> served_pass(const Scope<K>& scope, const Job& job, int tp, const ServedBatch& batch);

}  // namespace napkin
