// The pipeline of one layout as an exact timeline, with its own stages' times: what --trace draws.
#pragma once

#include <vector>

#include "model/pipeline/simulate.hpp"
#include "model/step/layout.hpp"

namespace napkin {

struct StepTimeline {
  PipelineProgram program;
  std::vector<StageWork> stages;  // one a stage of the program; held bytes as activations
  Timeline timeline;
};

// Layers, embedding and head of each chunk as split_layers() deals them; forward, recomputation, input and weight gradients
// as layer_cost() prices them. Data parallelism and the optimizer come after it. InputError: a shape the schedule lacks.
[[nodiscard]] StepTimeline step_timeline(const Job& job, const Layout& layout);

}  // namespace napkin
