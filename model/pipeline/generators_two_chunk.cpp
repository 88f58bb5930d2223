// The schedules whose ranks hold two chunks that meet: ZB-V, DualPipe, DualPipeV.
#include <algorithm>
#include <array>
#include <deque>

#include "model/pipeline/schedule.hpp"

namespace napkin::generate {
namespace {

// Writes one rank's order. Each chunk takes its micro-batches one after the other, so an operation is named by its work
// and chunk alone. Micro-batches beyond `micro_batches` of a chunk are left out: the phases below are laid out for a full
// pipeline, and a shorter batch is the same order without them.
class Writer {
  std::vector<ScheduledOperation>& order_;
  std::array<std::int64_t, 2> first_, count_;
  std::array<std::int64_t, 2> forwards_{}, backwards_{};
  std::deque<std::pair<int, std::int64_t>> held_back_;  // weight gradients not yet run

  static auto of(int chunk) {
    return [chunk](const std::pair<int, std::int64_t>& held) { return held.first == chunk; };
  }
  bool put(Work work, int chunk, std::int64_t k) {
    const auto c = static_cast<std::size_t>(chunk);
    if (k >= count_[c]) return false;
    order_.push_back({work, false, static_cast<std::int16_t>(chunk), static_cast<std::int32_t>(first_[c] + k)});
    return true;
  }

 public:
  Writer(std::vector<ScheduledOperation>& order, std::array<std::int64_t, 2> first, std::array<std::int64_t, 2> count)
      : order_(order), first_(first), count_(count) {}
  [[nodiscard]] std::int64_t forwards(int chunk) const { return forwards_[static_cast<std::size_t>(chunk)]; }
  [[nodiscard]] bool held_back() const { return !held_back_.empty(); }
  [[nodiscard]] bool held_back(int chunk) const { return std::ranges::any_of(held_back_, of(chunk)); }

  bool forward(int chunk) { return put(Work::forward, chunk, forwards_[static_cast<std::size_t>(chunk)]++); }
  bool backward(int chunk) { return put(Work::backward, chunk, backwards_[static_cast<std::size_t>(chunk)]++); }
  void input_gradient(int chunk) {
    const std::int64_t k = backwards_[static_cast<std::size_t>(chunk)]++;
    put(Work::input_gradient, chunk, k);
    held_back_.emplace_back(chunk, k);
  }
  // The oldest weight gradient held back, of whichever chunk or of this one.
  void weight_gradient() {
    const auto [chunk, k] = held_back_.front();
    held_back_.pop_front();
    put(Work::weight_gradient, chunk, k);
  }
  void weight_gradient(int chunk) {
    const auto oldest = std::ranges::find_if(held_back_, of(chunk));
    const std::int64_t k = oldest->second;
    held_back_.erase(oldest);
    put(Work::weight_gradient, chunk, k);
  }
  void whole_backward(int chunk, bool split) {
    if (split) {
      input_gradient(chunk);
    } else {
      backward(chunk);
    }
  }
  // A forward of one chunk with a backward of the other, run together.
  void pair(int forward_chunk, int backward_chunk) {
    const bool both = forward(forward_chunk);
    const std::size_t at = order_.size();
    if (backward(backward_chunk) && both) order_[at - 1].paired = true;
  }
};

PipelineProgram empty(const ScheduleShape& s, std::vector<int> stages, int depth) {
  return {.ranks = s.ranks,
          .chunks = 2,
          .depth = depth,
          .micro_batches = s.micro_batches,
          .stage_of = std::move(stages),
          .order = std::vector<std::vector<ScheduledOperation>>(static_cast<std::size_t>(s.ranks))};
}

// DualPipe's eight steps for a rank that is `outer` ranks away from where the two chunks meet, of `ranks` ranks on the way;
// `near` is the chunk whose micro-batches enter first. Rank 0 of a V and both ends of a two-way pipeline have outer = ranks − 1.
void dual(Writer& w, int near, int outer, int inner, std::int64_t main_steps) {
  const int far = 1 - near;
  for (int i = 0; i < 2 * outer; ++i) w.forward(near);  // 1: fill
  for (int i = 0; i <= inner; ++i) {                    // 2: both directions
    w.forward(near);
    w.forward(far);
  }
  for (int i = 0; i < outer; ++i) {  // 3: first backwards, split
    w.input_gradient(far);
    w.weight_gradient();
    w.forward(far);
  }
  for (std::int64_t i = 0; i < main_steps; ++i) {  // 4: pairs
    if (i == 0 && outer == 0) {                    // the rank where they meet does not overlap its first pair
      w.forward(near);
      w.backward(far);
    } else {
      w.pair(near, far);
    }
    w.pair(far, near);
  }
  for (int i = 0; i < outer; ++i) {  // 5
    w.backward(far);
    w.pair(far, near);
  }
  bool split = false;
  for (int i = 0; i <= inner; ++i) {  // 6: drain; the second half split
    const bool turn = i == (inner + 1) / 2;
    if (turn && inner % 2 == 1) split = true;
    w.whole_backward(far, split);
    if (turn && inner % 2 == 0) split = true;
    w.whole_backward(near, split);
  }
  for (int i = 0; i < outer; ++i) {  // 7
    w.weight_gradient();
    w.input_gradient(near);
  }
  while (w.held_back()) w.weight_gradient();  // 8
}

}  // namespace

PipelineProgram zb_v(const ScheduleShape& s) {
  const int p = s.ranks;
  const std::int64_t full = std::max<std::int64_t>(2 * p - 1, s.micro_batches);
  PipelineProgram program = empty(s, v_shaped_stages(p), 2 * p);
  for (int r = 0; r < p; ++r) {
    Writer w(program.order[static_cast<std::size_t>(r)], {0, 0}, {s.micro_batches, s.micro_batches});
    const auto backward_now = [&w](int chunk) {
      w.input_gradient(chunk);
      w.weight_gradient(chunk);
    };
    for (int i = 0; i < 2 * (p - r) - 1; ++i) w.forward(0);  // fill
    for (int i = 0; i < r; ++i) {
      w.forward(1);
      w.forward(0);
    }
    for (int i = 0; i < p - r; ++i) {
      w.forward(1);
      backward_now(1);
    }
    while (w.forwards(1) < w.forwards(0) || w.forwards(0) < full) {  // steady
      if (w.forwards(0) < full) w.forward(0);
      backward_now(0);
      w.forward(1);
      backward_now(1);
    }
    for (int i = 0; i < r; ++i) {  // drain
      w.input_gradient(0);
      w.input_gradient(1);
    }
    for (int i = 0; i < p - r; ++i) {
      w.input_gradient(0);
      w.weight_gradient(0);
    }
    for (const int chunk : {1, 0}) {
      while (w.held_back(chunk)) w.weight_gradient(chunk);
    }
  }
  return program;
}

PipelineProgram dualpipe(const ScheduleShape& s) {
  const int p = s.ranks;
  const std::int64_t down = (s.micro_batches + 1) / 2, up = s.micro_batches / 2;
  const std::int64_t full = std::max<std::int64_t>(p, down);
  PipelineProgram program = empty(s, two_way_stages(p), p);
  for (int r = 0; r < p; ++r) {
    Writer w(program.order[static_cast<std::size_t>(r)], {0, down}, {down, up});
    const int inner = std::min(r, p - 1 - r);
    dual(w, r < p / 2 ? 0 : 1, p / 2 - 1 - inner, inner, full - p + inner + 1);
  }
  return program;
}

PipelineProgram dualpipe_v(const ScheduleShape& s) {
  const int p = s.ranks;
  const std::int64_t full = std::max<std::int64_t>(2 * p, s.micro_batches);
  PipelineProgram program = empty(s, v_shaped_stages(p), 2 * p);
  for (int r = 0; r < p; ++r) {
    Writer w(program.order[static_cast<std::size_t>(r)], {0, 0}, {s.micro_batches, s.micro_batches});
    dual(w, 0, p - 1 - r, r, full - 2 * p + r + 1);
  }
  return program;
}

}  // namespace napkin::generate
