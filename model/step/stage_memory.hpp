// Bytes one stage of a layout holds: what its sharding does not change, and the rest.
#pragma once

#include <algorithm>

#include "model/step/data_parallel.hpp"

namespace napkin {

// A pipeline stage (or a run of equal ones) with what its layout makes of it.
template <class K>
struct StageUnit {
  const StageCost<K>* cost{};
  const DataParallelCost<K>* dp{};
  const PassBytes<K>* bytes{};  // stage_bytes()
  InFlight in_flight;  // most micro-batches held at once by any of these ranks
  int first_rank = 0, ranks = 1;
};

// Share of a stage's layers whose saved tensors wait in host memory.
template <class K>
[[nodiscard]] double offloaded_share(const Layout& l, const StageUnit<K>& s) {
  return s.cost->depth > 0 ? std::min(1.0, static_cast<double>(l.offloaded_layers) / s.cost->depth) : 0.0;
}

// What one stage holds whatever the sharding; of the layout's ZeRO stage it depends on whole_copy() alone.
template <class K>
[[nodiscard]] PassBytes<K> stage_bytes(Scope<K> scope, const Job& job, const Layout& l, const StageUnit<K>& s, std::int64_t micro_batches);
// Autocast: compute runs on a copy of whole parameters.
[[nodiscard]] inline bool whole_copy(const Job& job, const Layout& l) {
  return l.zero < 2 && job.profile->bytes.compute_copy.value > 0;
}
// Device bytes of one stage; compose() takes the fullest.
template <class K>
[[nodiscard]] StageMemory<K> stage_memory_of(Scope<K> scope, const Job& job, const Layout& l, const StageUnit<K>& s);

}  // namespace napkin
