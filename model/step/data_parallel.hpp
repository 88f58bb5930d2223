// What data parallelism costs a stage: gradient reduction, parameter gathering, the optimizer.
#pragma once

#include "model/memory/memory.hpp"
#include "model/step/layout.hpp"
#include "model/step/stage_cost.hpp"

namespace napkin {

// Times before any overlap. Under ZeRO 0–1 `reduce` happens once a step, under ZeRO 2–3 once a micro-batch (the
// gradients are kept sharded); `gather` once a step under ZeRO 1–2, before each pass under ZeRO 3.
template <class K>
struct DataParallelCost {
  SecondsT<K> reduce{}, gather{}, optimizer{};
  SecondsT<K> gather_copies{}, reduce_copies{};  // ZeRO 2–3: kernels that cast and pack, per gather and per reduction
  SecondsT<K> reduce_replicas{};  // all-reduce of a shard over its copies (HSDP; zhao2023fsdp §3.2.2), as often as `reduce`
  SecondsT<K> tied{};        // all-reduce of a tied embedding's gradients between the ends of the pipeline
  SecondsT<K> first_unit{};  // ZeRO-3: gathering the first layer, with nothing to hide behind
  BytesT<K> gathered{};      // ZeRO-3: two units of whole parameters in flight
  BytesT<K> updated{};       // ZeRO 1–2: copies of the parameters while they are gathered after the update
  BytesT<K> working_gradients{};
  BytesT<K> last_gradients{};  // of the first layer and the embedding: made last
  StateBytes<K> states{};
  BytesT<K> host_states{};   // optimizer states that wait in host memory instead
};

// Ranks that share a state among `ranks` of a stride: the layout's group, else the framework's, else all of them.
[[nodiscard]] std::int64_t shard_ranks(const Job& job, const Layout& l, std::int64_t ranks, long long stride);
[[nodiscard]] StateShards state_shards(const Job& job, const Layout& l);

template <class K>
[[nodiscard]] DataParallelCost<K> data_parallel_cost(Scope<K> scope, const Job& job, const Layout& l,
                                                     const StageCost<K>& stage);
template <class K>
[[nodiscard]] DataParallelCost<K> data_parallel_cost(Scope<K> scope, const Job& job, const Layout& l,
                                                     const StageCost<K>& stage, Prices<K>& prices);

}  // namespace napkin
