// The timeline of a program: when every operation starts and ends, exactly, and what each rank holds meanwhile.
//
// Every operation starts as soon as its rank is free and what it waits for has arrived. That is a longest path through the
// program, found by one visit of each operation: no clock, no step, no chance.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/pipeline/schedule.hpp"

namespace napkin {

// One stage for one micro-batch.
struct StageWork {
  Seconds forward{}, input_gradient{}, weight_gradient{};
  Seconds recompute{};  // forward run again at the head of the backward
  // The parts of forward and of input_gradient that wait for the network; an operation paired with one of the other
  // direction computes meanwhile.
  Seconds forward_communication{}, backward_communication{};
  Seconds send{};  // the message to the next stage, and the gradient that comes back over the same boundary
  // Held from the start of the forward to the end of the backward; split, `weight_buffer` stays from the end of the input
  // gradient to the end of the weight gradient. In any unit.
  double activation = 1, weight_buffer = 1;

  [[nodiscard]] Seconds backward() const { return recompute + input_gradient + weight_gradient; }
};

// overlapped: a message only delays who waits for it. blocking: it also occupies its sender.
enum class Messages : std::uint8_t { overlapped, blocking };

struct Span {
  Seconds start{}, end{};
};

struct RankUse {
  Seconds busy{}, sending{};  // operations; blocking messages
  Seconds first_start{}, last_end{};
};

struct Timeline {
  std::vector<std::vector<Span>> spans;  // per rank, in the program's order
  std::vector<RankUse> ranks;
  Seconds makespan{};  // from 0 to the last end of any rank
  Seconds span{};      // the longest any rank takes from its first start to its last end (qi2024zerobubble: cost)
  Seconds ideal{};     // the busiest rank's work

  [[nodiscard]] Seconds bubble() const { return makespan - ideal; }
  [[nodiscard]] double bubble_over_ideal() const { return bubble().si() / ideal.si(); }
  [[nodiscard]] double bubble_over_total() const { return bubble().si() / makespan.si(); }
  [[nodiscard]] Seconds idle(int rank) const {
    const RankUse& use = ranks[static_cast<std::size_t>(rank)];
    return makespan - use.busy - use.sending;
  }
};

// `stages` has one cost a stage (program.depth of them, or one for all); both lanes of a two-way program share them.
// std::logic_error when the program is flawed: ask flaw_of first where it was not generated.
[[nodiscard]] Timeline simulate(const PipelineProgram& program, std::span<const StageWork> stages,
                                Messages messages = Messages::overlapped);
// Timeline::makespan alone, recording nothing.
[[nodiscard]] Seconds makespan(const PipelineProgram& program, std::span<const StageWork> stages,
                               Messages messages = Messages::overlapped);

// How long two operations take together: they compute in turn, and each computes while the other communicates.
// max(C₁ + C₂, M₁ + M₂, C₁ + M₁, C₂ + M₂) with C computing and M communicating.
[[nodiscard]] Seconds paired_time(Seconds one, Seconds one_communication, Seconds other, Seconds other_communication);

struct Held {
  Seconds at{};
  double amount{};  // held from `at` on
};

struct RankMemory {
  std::vector<Held> over_time;
  double peak{};
  Seconds peak_at{};
  int peak_in_flight{};       // chunk-micro-batches between forward and (input-gradient) backward
  int peak_weight_buffers{};  // chunk-micro-batches between input and weight gradient
};
[[nodiscard]] RankMemory memory_of(const PipelineProgram& program, std::span<const StageWork> stages,
                                   const Timeline& timeline, int rank);

// The most a rank holds where stage s of a lane keeps of_stage[s] for one micro-batch from the start of its forward to the
// end of its last gradient. The rank's order decides it, whatever the times are.
[[nodiscard]] double peak_held(const PipelineProgram& program, std::span<const double> of_stage, int rank);

// The operation that a rank cannot start, whatever the times are; nothing when the program runs to its end.
struct Stuck {
  int rank{};
  std::size_t position{};
  std::string awaited;  // "F3.1 on rank 2"
};
[[nodiscard]] std::optional<Stuck> stuck_at(const PipelineProgram& program);

}  // namespace napkin
