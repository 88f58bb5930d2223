// What a rank of a pipeline holds while its program runs.
#include <algorithm>

#include "model/pipeline/simulate.hpp"

namespace napkin {
namespace {

// What a rank takes and gives back, in order. change(position, at its start, activations, weight-gradient buffers).
template <class Change>
void walk(const std::vector<ScheduledOperation>& order, Change change) {
  const auto begin = [&](std::size_t i) {
    if (order[i].work == Work::forward) change(i, true, 1, 0);
  };
  const auto finish = [&](std::size_t i) {
    switch (order[i].work) {
      case Work::forward: return;
      case Work::backward: return change(i, false, -1, 0);
      case Work::input_gradient: return change(i, false, -1, 1);
      case Work::weight_gradient: return change(i, false, 0, -1);
    }
  };
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool pair = order[i].paired;
    begin(i);
    if (pair) begin(i + 1);
    finish(i);
    if (pair) finish(++i);
  }
}

}  // namespace

RankMemory memory_of(const PipelineProgram& program, std::span<const StageWork> stages, const Timeline& timeline,
                     int rank) {
  RankMemory memory;
  const auto& order = program.order[static_cast<std::size_t>(rank)];
  const auto& spans = timeline.spans[static_cast<std::size_t>(rank)];
  double held = 0;
  int in_flight = 0, buffers = 0;
  walk(order, [&](std::size_t i, bool at_start, int activations, int weight_buffers) {
    const int stage = program.stage(rank, order[i].chunk) % program.depth;
    const StageWork& cost = stages[stages.size() == 1 ? 0 : static_cast<std::size_t>(stage)];
    const Seconds at = at_start ? spans[i].start : spans[i].end;
    held += activations * cost.activation + weight_buffers * cost.weight_buffer;
    in_flight += activations;
    buffers += weight_buffers;
    memory.over_time.push_back({at, held});
    if (held > memory.peak) {
      memory.peak = held;
      memory.peak_at = at;
    }
    memory.peak_in_flight = std::max(memory.peak_in_flight, in_flight);
    memory.peak_weight_buffers = std::max(memory.peak_weight_buffers, buffers);
  });
  return memory;
}

double peak_held(const PipelineProgram& program, std::span<const double> of_stage, int rank) {
  const auto& order = program.order[static_cast<std::size_t>(rank)];
  double held = 0, peak = 0;
  walk(order, [&](std::size_t i, bool, int activations, int buffers) {
    held += (activations + buffers) * of_stage[static_cast<std::size_t>(program.stage(rank, order[i].chunk) % program.depth)];
    peak = std::max(peak, held);
  });
  return peak;
}

}  // namespace napkin
