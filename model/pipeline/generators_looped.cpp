// All forward, then all backward; and one forward, one backward. With and without several chunks a rank.
#include <algorithm>

#include "model/pipeline/schedule.hpp"

namespace napkin::generate {
namespace {

PipelineProgram empty(const ScheduleShape& s) {
  return {.ranks = s.ranks,
          .chunks = s.chunks,
          .depth = s.ranks * s.chunks,
          .micro_batches = s.micro_batches,
          .stage_of = looped_stages(s.ranks, s.chunks),
          .order = std::vector<std::vector<ScheduledOperation>>(static_cast<std::size_t>(s.ranks))};
}

ScheduledOperation make(Work work, std::int64_t chunk, std::int64_t micro_batch) {
  return {work, false, static_cast<std::int16_t>(chunk), static_cast<std::int32_t>(micro_batch)};
}

// narayanan2021: the k-th forward of a rank takes `group` micro-batches through a chunk, then through the next one.
// The last group may be smaller.
struct Turns {
  std::int64_t micro_batches, chunks, group;
  ScheduledOperation at(Work work, std::int64_t k) const {
    const std::int64_t full = group * chunks, begin = k / full * group;
    const std::int64_t size = std::min(group, micro_batches - begin), within = k % full;
    const std::int64_t turn = within / size;
    return make(work, work == Work::forward ? turn : chunks - 1 - turn, begin + within % size);
  }
};

// `warm_up` forwards, then forward and backward in turn, then the backwards left. With `split`, the weight gradient of a
// backward is run `delay` backwards later.
void alternate(std::vector<ScheduledOperation>& order, const Turns& turns, std::int64_t warm_up, bool split,
               std::int64_t delay) {
  const std::int64_t total = turns.micro_batches * turns.chunks, warm = std::min(warm_up, total);
  order.reserve(static_cast<std::size_t>(total * (split ? 3 : 2)));
  for (std::int64_t k = 0; k < warm; ++k) order.push_back(turns.at(Work::forward, k));
  for (std::int64_t k = 0; k < total; ++k) {
    if (k + warm < total) order.push_back(turns.at(Work::forward, k + warm));
    order.push_back(turns.at(split ? Work::input_gradient : Work::backward, k));
    if (split && k >= delay) order.push_back(turns.at(Work::weight_gradient, k - delay));
  }
  if (split) {
    for (std::int64_t k = std::max<std::int64_t>(total - delay, 0); k < total; ++k) {
      order.push_back(turns.at(Work::weight_gradient, k));
    }
  }
}

PipelineProgram all_forward_all_backward(const ScheduleShape& s) {
  PipelineProgram program = empty(s);
  for (auto& order : program.order) {
    alternate(order, {s.micro_batches, s.chunks, s.micro_batches}, s.micro_batches * s.chunks, false, 0);
  }
  return program;
}

}  // namespace

PipelineProgram gpipe(const ScheduleShape& s) { return all_forward_all_backward(s); }
PipelineProgram looped_bfs(const ScheduleShape& s) { return all_forward_all_backward(s); }

// Warm-up PP − r − 1.
PipelineProgram one_f_one_b(const ScheduleShape& s) {
  PipelineProgram program = empty(s);
  for (int r = 0; r < s.ranks; ++r) {
    alternate(program.order[static_cast<std::size_t>(r)], {s.micro_batches, 1, s.micro_batches}, s.ranks - r - 1, false,
              0);
  }
  return program;
}

// Warm-up 2(PP − r − 1) + (v − 1)·N; with one chunk it is 1F1B.
PipelineProgram interleaved(const ScheduleShape& s) {
  if (s.chunks == 1) return one_f_one_b(s);
  PipelineProgram program = empty(s);
  const std::int64_t group = std::min(s.group, s.micro_batches);
  for (int r = 0; r < s.ranks; ++r) {
    alternate(program.order[static_cast<std::size_t>(r)], {s.micro_batches, s.chunks, group},
              2 * (s.ranks - r - 1) + (s.chunks - 1) * group, false, 0);
  }
  return program;
}

// 1F1B's warm-up; rank r holds back r weight gradients, so that all ranks keep p micro-batches.
PipelineProgram zb_h1(const ScheduleShape& s) {
  PipelineProgram program = empty(s);
  for (int r = 0; r < s.ranks; ++r) {
    alternate(program.order[static_cast<std::size_t>(r)], {s.micro_batches, 1, s.micro_batches}, s.ranks - r - 1, true,
              r);
  }
  return program;
}

// Twice the warm-up, so that the first backward arrives as the forwards end; 2r weight gradients held back.
PipelineProgram zb_h2(const ScheduleShape& s) {
  PipelineProgram program = empty(s);
  for (int r = 0; r < s.ranks; ++r) {
    alternate(program.order[static_cast<std::size_t>(r)], {s.micro_batches, 1, s.micro_batches},
              2 * (s.ranks - r - 1), true, 2 * r);
  }
  return program;
}

// ZB-H1's counts in units of chunks: warm-up PP − r − 1 + (v − 1)·N.
PipelineProgram zb_interleaved(const ScheduleShape& s) {
  PipelineProgram program = empty(s);
  const std::int64_t group = std::min(s.group, s.micro_batches);
  for (int r = 0; r < s.ranks; ++r) {
    alternate(program.order[static_cast<std::size_t>(r)], {s.micro_batches, s.chunks, group},
              s.ranks - r - 1 + (s.chunks - 1) * group, true, r);
  }
  return program;
}

}  // namespace napkin::generate
