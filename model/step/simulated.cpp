#include "model/step/simulated.hpp"

#include "model/pipeline/steady.hpp"

namespace napkin {

bool is_simulated(const Layout& l, Timing timing) {
  if (l.pp == 1) return false;
  switch (l.schedule) {
    case Schedule::gpipe:
    case Schedule::one_f_one_b: return false;
    default: return timing == Timing::exact;
  }
}

std::vector<StageCost<Plain>> lane_costs(const Job& job, const Layout& l, const LayerCosts<Plain>& layers,
                                         const LayerCosts<Plain>* kept) {
  const Scope<Plain> scope;
  std::vector<StageCost<Plain>> costs;
  const int depth = placement_of(l.schedule, l.pp, l.vpp).depth;
  for (const StageContent& content : stage_contents(*job.model, depth, split_rule(job, l), job.sequence)) {
    costs.push_back(kept != nullptr ? stage_cost(scope, job, layers, *kept, recomputed_share(l, content, 1), content)
                                    : stage_cost(scope, job, layers, content));
  }
  return costs;
}

std::vector<StageCost<Plain>> lane_costs(const Job& job, const Layout& l) {
  const Scope<Plain> scope;
  const LayerCosts<Plain> layers = layer_costs(scope, job, layer_key(job, l));
  if (l.recomputed_layers == 0) return lane_costs(job, l, layers, nullptr);
  LayerKey none = layer_key(job, l);
  none.recompute = Recompute::none;
  const LayerCosts<Plain> kept = layer_costs(scope, job, none);
  return lane_costs(job, l, layers, &kept);
}

std::vector<StageWork> lane_work(const Layout& l, std::span<const StageCost<Plain>> costs,
                                 std::span<const PassExtra> of_rank, Seconds message) {
  const Placement place = placement_of(l.schedule, l.pp, l.vpp);
  std::vector<StageWork> work;
  for (const StageCost<Plain>& c : costs) {
    const Bytes held = c.tensors.activations + c.tensors.head_kept;
    work.push_back({.forward = c.forward_total + message,
                    .input_gradient = c.backward_total - c.recompute - c.weight_gradient + message,
                    .weight_gradient = c.weight_gradient,
                    .recompute = c.recompute,
                    .forward_communication = c.forward.ep,
                    .backward_communication = c.backward.ep,
                    .activation = held.si(),
                    .weight_buffer = held.si()});
  }
  // A micro-batch crosses depth / p stages of a rank; its extras are shared over those.
  const double crossed = static_cast<double>(place.depth) / l.pp;
  for (std::size_t i = 0; i < place.stage_of.size(); ++i) {
    const auto stage = static_cast<std::size_t>(place.stage_of[i]);
    if (stage >= work.size()) continue;  // the other lane shares the costs of this one
    const PassExtra& extra = of_rank[i / static_cast<std::size_t>(place.chunks)];
    work[stage].forward += extra.forward / crossed;
    work[stage].input_gradient += extra.backward / crossed;
  }
  return work;
}

namespace {

constexpr double few_operations = 3e5;  // stage × micro-batch: some 10 ms of simulation

// What the pairs of a rank save.
Seconds saved_by(const PipelineProgram& program, std::span<const StageWork> work, int rank) {
  const auto& order = program.order[static_cast<std::size_t>(rank)];
  Seconds saved;
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    if (!order[i].paired) continue;
    Seconds time[2], communication[2];
    for (std::size_t k = 0; k < 2; ++k) {
      const StageWork& w = work[static_cast<std::size_t>(program.stage(rank, order[i + k].chunk) % program.depth)];
      const bool forward = order[i + k].work == Work::forward;
      time[k] = forward ? w.forward : w.backward();
      communication[k] = forward ? w.forward_communication : w.backward_communication;
    }
    saved += time[0] + time[1] - paired_time(time[0], communication[0], time[1], communication[1]);
  }
  return saved;
}

}  // namespace

SimulatedPipeline simulate_pipeline(const Layout& l, std::int64_t m, std::span<const StageCost<Plain>> costs,
                                    std::span<const StageWork> work) {
  const ScheduleShape whole{.ranks = l.pp, .micro_batches = m, .chunks = l.vpp};
  check_shape(l.schedule, whole);
  const Placement place = placement_of(l.schedule, l.pp, l.vpp);
  const bool few = static_cast<double>(place.stage_of.size()) * static_cast<double>(m) <= few_operations;
  SimulatedPipeline p;
  // What is held and what pairs save is that of a short run from 8p micro-batches on; pairs grow with the micro-batches.
  ScheduleShape part = whole;
  if (!few) part.micro_batches = 8L * l.pp + m % (2L * l.pp);
  const PipelineProgram program = build_program(l.schedule, part);
  p.makespan = few ? makespan(program, work) : steady_makespan(l.schedule, whole, work).makespan;

  std::vector<double> activations, logits(costs.size(), 0);
  for (const StageCost<Plain>& c : costs) activations.push_back(c.tensors.activations.si());
  logits.back() = 1;
  ScheduleShape longer = part;
  longer.micro_batches += 2L * l.pp;
  const PipelineProgram more = few ? PipelineProgram{} : build_program(l.schedule, longer);
  for (int r = 0; r < l.pp; ++r) {
    Seconds saved = saved_by(program, work, r);
    if (!few) {
      const Seconds each = (saved_by(more, work, r) - saved) / (2.0 * l.pp);
      saved += static_cast<double>(m - part.micro_batches) * each;
    }
    p.saved.push_back(saved);
    double of_micro_batch = 0;
    bool has_head = false;
    for (int c = 0; c < place.chunks; ++c) {
      const int stage = program.stage(r, c) % place.depth;
      of_micro_batch += activations[static_cast<std::size_t>(stage)];
      has_head = has_head || stage == place.depth - 1;
    }
    of_micro_batch *= static_cast<double>(place.depth) / (l.pp * place.chunks);
    const double held = peak_held(program, activations, r);
    p.in_flight.push_back({.activations = of_micro_batch > 0 ? held / of_micro_batch : 0,
                           .logits = has_head ? std::max(1.0, peak_held(program, logits, r)) : 1.0});
  }
  return p;
}

}  // namespace napkin
