// The makespan of a long schedule from a short one: exact, where the steady state repeats.
#pragma once

#include <span>

#include "model/pipeline/simulate.hpp"

namespace napkin {

struct SteadyMakespan {
  Seconds makespan{};
  std::int64_t simulated{};  // micro-batches that were simulated; all of them where no period was found
};

// Simulates a few micro-batches and looks for a period: over a window as long as any rank's order reaches back, every
// operation of every rank ends the same time after its counterpart `period` micro-batches before. From there on every
// further period adds that time and nothing else, so the rest need not be run. Equal to simulate() up to rounding
// (tests/unit/simulate_test.cpp). Schedules without a steady state (all forward, all backward) are simulated whole.
[[nodiscard]] SteadyMakespan steady_makespan(Schedule s, const ScheduleShape& shape, std::span<const StageWork> stages,
                                             Messages messages = Messages::overlapped);

}  // namespace napkin
