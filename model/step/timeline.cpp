#include "model/step/timeline.hpp"

#include "model/step/compose.hpp"

namespace napkin {

StepTimeline step_timeline(const Job& job, const Layout& layout) {
  const Scope<Plain> scope;
  StepTimeline t;
  t.program = build_program(layout.schedule,
                            {.ranks = layout.pp, .micro_batches = micro_batches(job, layout), .chunks = layout.vpp});
  const LayerCosts<Plain> layers = layer_costs(scope, job, layer_key(job, layout));
  const Seconds message = stage_message(scope, job, layout);
  for (const StageContent& content : split_layers(*job.model, t.program.depth, 1, job.profile->split)) {
    const StageCost<Plain> cost = stage_cost(scope, job, layers, content);
    const Bytes held = cost.tensors.activations + cost.tensors.head;
    const StageWork work{.forward = cost.forward_total,
                         .input_gradient = cost.backward_total - cost.recompute - cost.weight_gradient,
                         .weight_gradient = cost.weight_gradient,
                         .recompute = cost.recompute,
                         .forward_communication = cost.forward.tp + cost.forward.cp + cost.forward.ep,
                         .backward_communication = cost.backward.tp + cost.backward.cp + cost.backward.ep,
                         .send = message,
                         .activation = held.si(),
                         .weight_buffer = held.si()};
    t.stages.insert(t.stages.end(), static_cast<std::size_t>(content.ranks), work);
  }
  t.timeline = simulate(t.program, t.stages);
  return t;
}

}  // namespace napkin
