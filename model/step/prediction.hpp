// What a layout comes to: the step and the figures people quote of it.
#pragma once

#include <vector>

#include "model/step/evaluator.hpp"
#include "model/transformer/flops.hpp"

namespace napkin {

// A run of pipeline ranks with the same content.
struct StageRanks {
  int first = 0, count = 1;
  double in_flight = 1;  // micro-batches whose activations it holds at its peak
};

template <class K>
struct Prediction {
  StepCost<K> step;
  TokenFlops<K> token_flops;                 // model FLOPs per token under the convention
  FlopsPerSecondT<K> model_rate{};           // model FLOP/s per accelerator
  FlopsPerSecondT<K> peak{};                 // dense peak of the format the linears multiply in
  ScalarT<K> mfu{};                          // chowdhery2022palm §4.1
  ScalarT<K> hfu{};                          // with recomputed FLOPs
  PerSecondT<K> tokens_per_gpu{};            // tokens per second and accelerator
  // Eight in ten measured runs of the nearest class lie within (Job::spread); the prediction itself where none is known.
  SecondsT<K> shortest{}, longest{};         // step time
  BytesT<K> least{}, most{};                 // device bytes of the fullest stage
  std::vector<StageRanks> ranks;             // the distinct stages, in rank order
  std::vector<StageMemory<K>> stages;        // the peak of each
};

// The layout must be valid (search/rules.hpp) and the format one the accelerator has.
template <class K>
[[nodiscard]] Prediction<K> predict(Scope<K> scope, const Job& job, const Layout& layout, FlopConvention convention);

// Fills what follows from `p.step`: interval, throughput, model FLOP/s, MFU and HFU. predict() calls it; a search calls it
// on the steps it already has.
template <class K>
void quote(Scope<K> scope, const Job& job, const Layout& layout, FlopConvention convention, Prediction<K>& p);

}  // namespace napkin
