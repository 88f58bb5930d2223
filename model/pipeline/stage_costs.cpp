#include "model/pipeline/stage_costs.hpp"

#include <numeric>

namespace napkin {

std::vector<StageWork> share_out(const StageWork& of_rank, int ranks, int depth, std::span<const double> work,
                                 std::span<const double> held) {
  const auto share = [&](std::span<const double> parts, int stage) {
    const double equal = static_cast<double>(ranks) / depth;
    if (parts.empty()) return equal;
    const double mean = std::accumulate(parts.begin(), parts.end(), 0.0) / static_cast<double>(parts.size());
    return equal * parts[static_cast<std::size_t>(stage)] / mean;
  };
  std::vector<StageWork> stages;
  for (int s = 0; s < depth; ++s) {
    StageWork stage = of_rank;
    for (Seconds* time : {&stage.forward, &stage.input_gradient, &stage.weight_gradient, &stage.recompute,
                          &stage.forward_communication, &stage.backward_communication}) {
      *time = share(work, s) * *time;
    }
    stage.activation *= share(held, s);
    stage.weight_buffer *= share(held, s);
    stages.push_back(stage);
  }
  return stages;
}

StageTimes<Plain> stage_times(const PipelineProgram& program, std::span<const StageWork> stages) {
  const int lanes = program.stages() / program.depth;
  StageTimes<Plain> t;
  for (int r = 0; r < program.ranks; ++r) {
    Seconds forward, backward, weight, saving;
    for (int c = 0; c < program.chunks; ++c) {
      const StageWork& s = stages[static_cast<std::size_t>(program.stage(r, c) % program.depth)];
      forward += s.forward / lanes;
      backward += s.backward() / lanes;
      weight += s.weight_gradient / lanes;
      saving += (s.forward + s.backward() -
                 paired_time(s.forward, s.forward_communication, s.backward(), s.backward_communication)) /
                program.chunks;
    }
    t.sum_forward += forward;
    t.sum_backward += backward;
    if (r > 0 && forward + backward <= t.slowest_forward + t.slowest_backward) {
      ++t.ranks_after;
      t.sum_after += forward + backward;
      continue;
    }
    t.slowest_forward = forward;
    t.slowest_backward = backward;
    t.slowest_weight = weight;
    t.pair_saving = saving;
    t.ranks_after = 0;
    t.sum_after = Seconds{};
  }
  for (const StageWork& s : stages) t.p2p = max(t.p2p, s.send);
  return t;
}

}  // namespace napkin
