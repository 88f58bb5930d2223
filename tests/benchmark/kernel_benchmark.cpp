// One kernel price: the search asks for a few tens of thousands.
#include <benchmark/benchmark.h>

#include "hardware/hardware_input.hpp"
#include "model/kernel/kernel.hpp"

using namespace napkin;

namespace {

const Accelerator& machine() {
  static const Accelerator a = read_hardware("h100-sxm").accelerator;
  return a;
}

// Many waves; the second argument is small enough for k to be split.
void gemm_price(benchmark::State& state) {
  double m = static_cast<double>(state.range(0));
  for (auto _ : state) {
    benchmark::DoNotOptimize(m);
    benchmark::DoNotOptimize(gemm_cost<Plain>({}, machine(), Format::bf16, 2, 2, {m, 5120, 8192}, Regime::sustained));
  }
}
BENCHMARK(gemm_price)->Arg(4096)->Arg(16);

void attention_price(benchmark::State& state) {
  double s = 4096;
  for (auto _ : state) {
    benchmark::DoNotOptimize(s);
    benchmark::DoNotOptimize(attention_cost<Plain>({}, machine(), "cudnn", Format::bf16, {1, s, s, 32, 8, 128, 128},
                                                   Pass::backward, Regime::sustained));
  }
}
BENCHMARK(attention_price);

}  // namespace
