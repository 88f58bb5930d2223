// Pipelines: the closed form that the search calls, and the simulation of a large schedule.
#include <benchmark/benchmark.h>

#include "model/pipeline/stage_costs.hpp"
#include "model/pipeline/steady.hpp"

namespace {
using namespace napkin;

StageWork one_rank() {
  StageWork c;
  c.forward = c.input_gradient = c.weight_gradient = 1 * ms;
  c.send = 10 * us;
  return c;
}

// At most 50 ns.
void closed_form(benchmark::State& state) {
  const auto s = static_cast<Schedule>(state.range(0));
  StageTimes<Plain> t;
  t.slowest_forward = 1.1 * ms;
  t.slowest_backward = 2.2 * ms;
  t.slowest_weight = 1.1 * ms;
  t.sum_forward = 8 * ms;
  t.sum_backward = 16 * ms;
  t.p2p = 10 * us;
  std::int64_t m = 32;
  for (auto _ : state) {
    benchmark::DoNotOptimize(pipeline_time(s, 8, 2, m, t));
    m ^= 8;
  }
  state.SetLabel(std::string(to_string(s)));
}
BENCHMARK(closed_form)->DenseRange(0, static_cast<int>(Schedule::looped_bfs));

// 64 stages × 512 micro-batches × 2 chunks, at most 30 ms with the building of the schedule.
void simulation(benchmark::State& state) {
  const auto s = static_cast<Schedule>(state.range(0));
  for (auto _ : state) {
    const PipelineProgram program = build_program(s, {64, 512, 2, 0});
    benchmark::DoNotOptimize(simulate(program, share_out(one_rank(), 64, program.depth)));
  }
  state.SetLabel(std::string(to_string(s)));
}
BENCHMARK(simulation)
    ->Arg(static_cast<int>(Schedule::interleaved))
    ->Arg(static_cast<int>(Schedule::zb_v))
    ->Arg(static_cast<int>(Schedule::zb_interleaved))
    ->Unit(benchmark::kMillisecond);

// The same answer for 8 stages × 4,096 micro-batches, whole and by the steady state.
void steady_state(benchmark::State& state) {
  const std::vector<StageWork> stages = share_out(one_rank(), 8, 8, std::vector<double>{4.3, 4, 4, 4, 4, 4, 4, 5});
  for (auto _ : state) benchmark::DoNotOptimize(steady_makespan(Schedule::one_f_one_b, {8, 4096, 1, 0}, stages));
}
BENCHMARK(steady_state)->Unit(benchmark::kMicrosecond);
}  // namespace
