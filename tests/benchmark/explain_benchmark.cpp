// Explaining a derivation: time per node.
#include <benchmark/benchmark.h>

#include "cli/explain.hpp"
#include "model/constant.hpp"

namespace {
using namespace napkin;

// A step of n layers, each with its own constants, as predict --explain meets it.
void explain_layers(benchmark::State& state) {
  Derivation d;
  const Scope<Traced> s(d);
  SecondsT<Traced> step;
  for (int i = 0; i < state.range(0); ++i) {
    const auto flops = s.input("F", Flops::si(1e12 + i)), bytes = s.input("D", Flops::si(2e9 + i));
    step += let("T_layer", max(flops / s.input("R", 8e14 * flop / second), bytes / s.input("B", 3e12 * flop / second)));
  }
  const Node* root = let("T_step", step).why();
  for (auto _ : state) benchmark::DoNotOptimize(cli::explain(root));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(d.size()));
}
BENCHMARK(explain_layers)->Arg(100)->Arg(10'000)->Unit(benchmark::kMillisecond);
}  // namespace
