#include "model/pipeline/steady.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>

namespace napkin {
namespace {

constexpr double rounding = 1e-11;  // of the time compared: far above what a sum of doubles loses, far below any period

constexpr double absent = -1;

// When every operation of a program ends, by stage and by micro-batch counted from its lane's first.
class Ends {
  std::int64_t entries_;
  std::array<std::vector<double>, 3> at_;  // forward; backward or input gradient; weight gradient
  std::int64_t reach_ = 0;

 public:
  Ends(const PipelineProgram& program, const Timeline& timeline)
      : entries_(program.micro_batches * program.depth / program.stages() +
                 (program.micro_batches * program.depth % program.stages() != 0)) {
    at_.fill(std::vector<double>(static_cast<std::size_t>(program.stages() * entries_), absent));
    for (std::size_t r = 0; r < program.order.size(); ++r) {
      std::optional<std::int64_t> before;
      for (std::size_t i = 0; i < program.order[r].size(); ++i) {
        const ScheduledOperation& op = program.order[r][i];
        const int stage = program.stage(static_cast<int>(r), op.chunk);
        const std::int64_t j = op.micro_batch - program.lane(stage) * entries_;
        const std::size_t kind = op.work == Work::forward ? 0 : op.work == Work::weight_gradient ? 2 : 1;
        at_[kind][static_cast<std::size_t>(stage * entries_ + j)] = timeline.spans[r][i].end.si();
        if (before) reach_ = std::max(reach_, std::abs(j - *before));
        before = j;
      }
    }
  }
  // How many micro-batches back (or ahead) an operation's predecessor on its rank can be.
  [[nodiscard]] std::int64_t reach() const { return reach_; }
  [[nodiscard]] std::int64_t entries() const { return entries_; }

  // The time that `period` micro-batches take, if it is the same for every operation of a window that neither the fill nor
  // the drain touches.
  [[nodiscard]] std::optional<double> time_of(std::int64_t period) const {
    const std::int64_t begin = entries_ - 1 - 2 * reach_ - period;
    if (begin < reach_) return std::nullopt;
    const double time = at_[0][static_cast<std::size_t>(begin + period)] - at_[0][static_cast<std::size_t>(begin)];
    const auto stages = static_cast<std::int64_t>(at_[0].size()) / entries_;
    for (const std::vector<double>& ends : at_) {
      for (std::int64_t stage = 0; stage < stages; ++stage) {
        for (std::int64_t j = begin; j <= begin + reach_; ++j) {
          const double early = ends[static_cast<std::size_t>(stage * entries_ + j)];
          const double late = ends[static_cast<std::size_t>(stage * entries_ + j + period)];
          const bool same = early == absent || late == absent ? early == late
                                                              : std::abs(late - early - time) <= rounding * late;
          if (!same) return std::nullopt;
        }
      }
    }
    return time;
  }
};

}  // namespace

SteadyMakespan steady_makespan(Schedule s, const ScheduleShape& shape, std::span<const StageWork> stages,
                               Messages messages) {
  const auto program_of = [&](std::int64_t m) {
    ScheduleShape part = shape;
    part.micro_batches = m;
    return build_program(s, part);
  };
  const auto run = [&](std::int64_t m) {
    PipelineProgram program = program_of(m);
    Timeline timeline = simulate(program, stages, messages);
    return std::pair{std::move(program), std::move(timeline)};
  };
  const std::int64_t m = shape.micro_batches;
  const bool grouped = (s == Schedule::interleaved || s == Schedule::zb_interleaved) && shape.chunks > 1;
  const std::int64_t group = shape.group == 0 ? shape.ranks : shape.group;
  const bool steady = s != Schedule::gpipe && s != Schedule::looped_bfs;
  const std::int64_t lanes = s == Schedule::dualpipe ? 2 : 1;
  const std::int64_t turn = grouped ? group : 1;  // the order repeats after as many micro-batches of a lane
  for (std::int64_t size = 8 * std::max<std::int64_t>(shape.ranks, turn); steady && 2 * size < m; size *= 2) {
    const std::int64_t first = m - (m - size) / (turn * lanes) * (turn * lanes);
    const auto [program, timeline] = run(first);
    const Ends ends(program, timeline);
    // A cycle through d + 1 ranks repeats after d + 1 micro-batches.
    for (std::int64_t period = turn; period <= turn * 2 * shape.ranks; period += turn) {
      const std::optional<double> time = ends.time_of(period);
      if (!time) continue;
      const std::int64_t step = period * lanes, simulated = first + (m - first) % step;
      const Seconds all = simulated == first ? timeline.makespan : makespan(program_of(simulated), stages, messages);
      return {all + Seconds::si(static_cast<double>((m - simulated) / step) * *time), simulated};
    }
  }
  return {makespan(program_of(m), stages, messages), m};
}

}  // namespace napkin
