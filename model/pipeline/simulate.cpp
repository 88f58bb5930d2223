#include "model/pipeline/simulate.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <stdexcept>

namespace napkin {
namespace {

constexpr double not_yet = -1;

// One visit of every operation. A rank runs on until it meets an operation whose input is not there; whoever makes that
// input wakes it up.
class Sweep {
  struct Place {
    std::int32_t rank = -1;
    double send{};
  };
  struct Durations {
    std::array<double, 4> of{};
    double forward_communication{}, backward_communication{};
  };
  const PipelineProgram& program_;
  bool blocking_;
  std::size_t m_;
  std::vector<Durations> durations_;         // [stage]
  std::vector<Place> forward_to_, back_to_;  // [stage]: the rank that waits for its output, −1 = none, and the message
  std::vector<double> forward_end_, backward_end_;  // [stage][micro-batch], arrived at its consumer
  std::vector<std::size_t> position_;               // [rank]
  std::vector<double> free_at_;                     // [rank]
  std::deque<std::int32_t> ready_;  // first in, first out: a rank that waits its turn finds more to do
  std::vector<char> queued_;

 public:
  Sweep(const PipelineProgram& program, std::span<const StageWork> costs, Messages messages)
      : program_(program),
        blocking_(messages == Messages::blocking),
        m_(static_cast<std::size_t>(program.micro_batches)),
        position_(static_cast<std::size_t>(program.ranks)),
        free_at_(static_cast<std::size_t>(program.ranks)),
        queued_(static_cast<std::size_t>(program.ranks), 1) {
    const auto stages = static_cast<std::size_t>(program.stages());
    std::vector<std::int32_t> rank_of(stages);
    for (int r = 0; r < program.ranks; ++r) {
      for (int c = 0; c < program.chunks; ++c) rank_of[static_cast<std::size_t>(program.stage(r, c))] = r;
    }
    durations_.resize(stages);
    forward_to_.resize(stages);
    back_to_.resize(stages);
    for (int s = 0; s < program.stages(); ++s) {
      const auto at = static_cast<std::size_t>(s);
      const StageWork& cost = costs[costs.size() == 1 ? 0 : static_cast<std::size_t>(s % program.depth)];
      durations_[at] = {{cost.forward.si(), cost.backward().si(), (cost.recompute + cost.input_gradient).si(),
                         cost.weight_gradient.si()},
                        cost.forward_communication.si(),
                        cost.backward_communication.si()};
      if (!program.last(s)) {
        const double send = rank_of[at + 1] == rank_of[at] ? 0 : cost.send.si();
        forward_to_[at] = {rank_of[at + 1], send};
        back_to_[at + 1] = {rank_of[at], send};
      }
    }
    forward_end_.assign(stages * m_, not_yet);
    backward_end_.assign(stages * m_, not_yet);
    for (int r = 0; r < program.ranks; ++r) ready_.push_back(r);
  }

  // Runs to the end, or until every rank waits. `spans` may be null.
  void run(std::vector<std::vector<Span>>* spans, std::vector<RankUse>* use) {
    while (!ready_.empty()) {
      const std::int32_t rank = ready_.front();
      ready_.pop_front();
      queued_[static_cast<std::size_t>(rank)] = 0;
      advance(rank, spans, use);
    }
  }

  // When the last rank is free: the makespan, once every operation has run.
  [[nodiscard]] Seconds end() const { return Seconds::si(*std::ranges::max_element(free_at_)); }

  [[nodiscard]] std::optional<Stuck> stuck() const {
    for (int r = 0; r < program_.ranks; ++r) {
      const auto& order = program_.order[static_cast<std::size_t>(r)];
      std::size_t i = position_[static_cast<std::size_t>(r)];
      if (i == order.size()) continue;
      if (order[i].paired && arrival(r, order[i]) != not_yet) ++i;
      return Stuck{r, i, awaited(r, order[i])};
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::size_t cell(int stage, std::int32_t micro_batch) const {
    return static_cast<std::size_t>(stage) * m_ + static_cast<std::size_t>(micro_batch);
  }

  // When the input of `op` is there; not_yet where nobody has made it.
  [[nodiscard]] double arrival(int rank, const ScheduledOperation& op) const {
    const int stage = program_.stage(rank, op.chunk);
    switch (op.work) {
      case Work::forward: return program_.first(stage) ? 0 : forward_end_[cell(stage - 1, op.micro_batch)];
      case Work::backward:
      case Work::input_gradient:
        return program_.last(stage) ? forward_end_[cell(stage, op.micro_batch)]
                                    : backward_end_[cell(stage + 1, op.micro_batch)];
      case Work::weight_gradient: return backward_end_[cell(stage, op.micro_batch)];
    }
    return 0;
  }

  [[nodiscard]] std::string awaited(int rank, const ScheduledOperation& op) const {
    const int stage = program_.stage(rank, op.chunk);
    int from = stage;
    Work work = Work::forward;
    if (op.work == Work::forward) {
      from = stage - 1;
    } else if (op.work == Work::weight_gradient) {
      work = Work::input_gradient;
    } else if (!program_.last(stage)) {
      from = stage + 1;
      work = op.work;
    }
    for (int r = 0; r < program_.ranks; ++r) {
      for (int c = 0; c < program_.chunks; ++c) {
        if (program_.stage(r, c) == from) {
          return label({work, false, static_cast<std::int16_t>(c), op.micro_batch}, program_.chunks) + " on rank " +
                 std::to_string(r);
        }
      }
    }
    return "nobody";
  }

  // Publishes what `op` made at `end` and wakes its consumer. Returns the seconds its message takes.
  double publish(int rank, const ScheduledOperation& op, double end) {
    if (op.work == Work::weight_gradient) return 0;
    const int stage = program_.stage(rank, op.chunk);
    const auto at = static_cast<std::size_t>(stage);
    const bool forward = op.work == Work::forward;
    const Place& to = forward ? forward_to_[at] : back_to_[at];
    (forward ? forward_end_ : backward_end_)[cell(stage, op.micro_batch)] = end + to.send;
    if (to.rank >= 0 && to.rank != rank && queued_[static_cast<std::size_t>(to.rank)] == 0) {
      queued_[static_cast<std::size_t>(to.rank)] = 1;
      ready_.push_back(to.rank);
    }
    return to.send;
  }

  [[nodiscard]] double duration(int rank, const ScheduledOperation& op) const {
    return durations_[static_cast<std::size_t>(program_.stage(rank, op.chunk))].of[static_cast<std::size_t>(op.work)];
  }
  [[nodiscard]] double communication(int rank, const ScheduledOperation& op) const {
    const Durations& d = durations_[static_cast<std::size_t>(program_.stage(rank, op.chunk))];
    return op.work == Work::forward ? d.forward_communication
           : op.work == Work::weight_gradient ? 0 : d.backward_communication;
  }

  void advance(std::int32_t rank, std::vector<std::vector<Span>>* spans, std::vector<RankUse>* use) {
    const auto r = static_cast<std::size_t>(rank);
    const std::vector<ScheduledOperation>& order = program_.order[r];
    std::size_t& i = position_[r];
    double& free_at = free_at_[r];
    while (i < order.size()) {
      const ScheduledOperation& op = order[i];
      double start = arrival(rank, op);
      if (start == not_yet) return;
      double length = duration(rank, op);
      const std::size_t count = op.paired ? 2 : 1;
      if (op.paired) {
        const ScheduledOperation& other = order[i + 1];
        const double there = arrival(rank, other);
        if (there == not_yet) return;
        start = std::max(start, there);
        length = paired_time(Seconds::si(length), Seconds::si(communication(rank, op)),
                             Seconds::si(duration(rank, other)), Seconds::si(communication(rank, other)))
                     .si();
      }
      start = std::max(start, free_at);
      const double end = start + length;
      double sent = 0;
      for (std::size_t k = 0; k < count; ++k) {
        sent = std::max(sent, publish(rank, order[i + k], end));
        if (spans != nullptr) (*spans)[r][i + k] = {Seconds::si(start), Seconds::si(end)};
      }
      free_at = end + (blocking_ ? sent : 0);
      if (use != nullptr) {
        RankUse& u = (*use)[r];
        if (i == 0) u.first_start = Seconds::si(start);
        u.busy += Seconds::si(length);
        if (blocking_) u.sending += Seconds::si(sent);
        u.last_end = Seconds::si(free_at);
      }
      i += count;
    }
  }
};

}  // namespace

Seconds paired_time(Seconds one, Seconds one_communication, Seconds other, Seconds other_communication) {
  const Seconds communication = one_communication + other_communication;
  return max(max(one + other - communication, communication), max(one, other));
}

namespace {

void check_costs(const PipelineProgram& program, std::span<const StageWork> stages) {
  if (stages.size() != 1 && stages.size() != static_cast<std::size_t>(program.depth)) {
    throw std::logic_error("simulate: one cost a stage");
  }
}
void check_end(const Sweep& sweep) {
  if (sweep.stuck()) throw std::logic_error("simulate: the program cannot run to its end");
}

}  // namespace

Seconds makespan(const PipelineProgram& program, std::span<const StageWork> stages, Messages messages) {
  check_costs(program, stages);
  Sweep sweep(program, stages, messages);
  sweep.run(nullptr, nullptr);
  check_end(sweep);
  return sweep.end();
}

Timeline simulate(const PipelineProgram& program, std::span<const StageWork> stages, Messages messages) {
  check_costs(program, stages);
  Timeline t;
  t.spans.resize(program.order.size());
  for (std::size_t r = 0; r < program.order.size(); ++r) t.spans[r].resize(program.order[r].size());
  t.ranks.resize(program.order.size());
  Sweep sweep(program, stages, messages);
  sweep.run(&t.spans, &t.ranks);
  check_end(sweep);
  for (const RankUse& use : t.ranks) {
    t.makespan = max(t.makespan, use.last_end);
    t.span = max(t.span, use.last_end - use.first_start);
    t.ideal = max(t.ideal, use.busy);
  }
  return t;
}

std::optional<Stuck> stuck_at(const PipelineProgram& program) {
  const StageWork nothing;
  Sweep sweep(program, {&nothing, 1}, Messages::overlapped);
  sweep.run(nullptr, nullptr);
  return sweep.stuck();
}

}  // namespace napkin
