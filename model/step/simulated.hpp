// The pipeline of a step by simulation of its own stages: what a closed form does not give exactly.
#pragma once

#include <span>
#include <vector>

#include "model/memory/memory.hpp"
#include "model/pipeline/simulate.hpp"
#include "model/step/stage_cost.hpp"

namespace napkin {

// How the pipeline of a step is timed. `quick` is for searches: closed forms wherever one is near enough to rank by.
// `exact` simulates every schedule whose closed form is not exact over stages that differ.
enum class Timing : std::uint8_t { quick, exact };

// Whether a layout's pipeline is simulated. GPipe and 1F1B never: their closed forms are exact (1F1B within 0.4 % over
// stages that differ). The others when exact: the closed form of interleaved 1F1B is nine times in ten within 1 %, and over
// 10 % off where stages differ much; docs/pipeline.md has the others.
[[nodiscard]] bool is_simulated(const Layout& l, Timing timing);

// What a rank adds to every pass of a micro-batch: exposed gathers and reductions (ZeRO 2–3), offload.
struct PassExtra {
  Seconds forward{}, backward{};
};

// The stages of a lane, one cost each, and their work: a rank's extras shared over its chunks, `message` in both passes of
// every stage (as compose() has it: exposed messages stand still), the expert all-to-all as what pairs can hide.
[[nodiscard]] std::vector<StageCost<Plain>> lane_costs(const Job& job, const Layout& l);
// The same, of layers priced before; `kept` are those that recompute nothing, null unless a part of the layers is recomputed.
[[nodiscard]] std::vector<StageCost<Plain>> lane_costs(const Job& job, const Layout& l, const LayerCosts<Plain>& layers,
                                                       const LayerCosts<Plain>* kept);
[[nodiscard]] std::vector<StageWork> lane_work(const Layout& l, std::span<const StageCost<Plain>> costs,
                                               std::span<const PassExtra> of_rank, Seconds message);

struct SimulatedPipeline {
  Seconds makespan{};
  std::vector<Seconds> saved;       // [rank] by pairs that hide communication
  std::vector<InFlight> in_flight;  // [rank] gradients' buffers included; of what the rank keeps for one micro-batch
};
// Whole, or by its steady state where it is long. InputError: a shape the schedule lacks.
[[nodiscard]] SimulatedPipeline simulate_pipeline(const Layout& l, std::int64_t micro_batches,
                                                  std::span<const StageCost<Plain>> costs,
                                                  std::span<const StageWork> work);

}  // namespace napkin
