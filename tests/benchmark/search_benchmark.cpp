// Layouts per second of the search, full time and memory: one core, the default space.
#include <benchmark/benchmark.h>

#include <vector>

#include "model/search/search.hpp"
#include "tests/step_fixture.hpp"

namespace {

using namespace napkin;
using napkin::test::TestJob;

void search_space(benchmark::State& state, const char* model, const char* hw, const char* framework, std::int64_t gpus,
                  std::int64_t sequence, std::int64_t batch, const std::vector<LayoutAxis>& opened) {
  const TestJob t(model, hw, framework, gpus, sequence, batch);
  Space space;
  for (const LayoutAxis axis : opened) space.opened[static_cast<std::size_t>(axis)] = true;
  std::int64_t searched = 0;
  for (auto _ : state) {
    const Outcome o = search({.job = t.job, .space = space});
    searched += o.searched;
    benchmark::DoNotOptimize(o.best.front().cost.time);
  }
  state.counters["layouts"] = static_cast<double>(searched) / static_cast<double>(state.iterations());
  state.counters["layouts/s"] = benchmark::Counter(static_cast<double>(searched), benchmark::Counter::kIsRate);
}

void one_prediction(benchmark::State& state) {
  const TestJob t("llama3.1-70b", "h100", "reference", 64, 8192, 128);
  const Layout l{.tp = 8, .sp = true, .pp = 2, .dp = 4, .zero = 1};
  for (auto _ : state) benchmark::DoNotOptimize(predict(Scope<Plain>(), t.job, l, FlopConvention::full_attention).step.time);
}

void one_explanation(benchmark::State& state) {
  const TestJob t("llama3.1-70b", "h100", "reference", 64, 8192, 128);
  const Layout l{.tp = 8, .sp = true, .pp = 2, .dp = 4, .zero = 1};
  for (auto _ : state) {
    Derivation d;
    benchmark::DoNotOptimize(predict(Scope<Traced>(d), t.job, l, FlopConvention::full_attention).step.time);
  }
}

}  // namespace

BENCHMARK_CAPTURE(search_space, dense_100B_1024_h100, "100B", "h100", "reference", 1024, 4096, 1024, {})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(search_space, moe_deepseek_v3_2048_h100, "deepseek-v3", "h100", "reference", 2048, 4096, 4096, {})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(search_space, moe_deepseek_v3_1024_h100_megatron, "deepseek-v3", "h100", "megatron-lm", 1024, 4096, 1024, {})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(search_space, dense_gpt3_1024_a100_options, "gpt3-175b", "a100", "megatron-lm", 1024, 2048, 1024,
                  {LayoutAxis::overlap, LayoutAxis::optimizer_offload, LayoutAxis::split})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(one_prediction)->Unit(benchmark::kMicrosecond);
BENCHMARK(one_explanation)->Unit(benchmark::kMicrosecond);
