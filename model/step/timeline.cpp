#include "model/step/timeline.hpp"

#include "model/step/evaluator.hpp"

namespace napkin {

StepTimeline step_timeline(const Job& job, const Layout& layout) {
  Evaluator<Plain> evaluator(job, Scope<Plain>());
  (void)evaluator.evaluate(layout);
  StepTimeline t;
  t.program = build_program(layout.schedule,
                            {.ranks = layout.pp, .micro_batches = micro_batches(job, layout), .chunks = layout.vpp});
  t.stages = lane_work(layout, lane_costs(job, layout), evaluator.extras(), evaluator.message());
  t.timeline = simulate(t.program, t.stages);
  return t;
}

}  // namespace napkin
