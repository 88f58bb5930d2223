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

// The stages that evaluate() composes a step from, run one by one: layers, embedding and head of each chunk; forward,
// recomputation, input and weight gradients, exposed messages and ZeRO traffic. Data parallelism and the optimizer come
// after it. InputError: a shape the schedule lacks, or more operations than can be run one by one.
[[nodiscard]] StepTimeline step_timeline(const Job& job, const Layout& layout);

}  // namespace napkin
