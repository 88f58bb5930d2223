#include "model/step/prediction.hpp"

namespace napkin {

template <class K>
void quote(Scope<K> scope, const Job& job, const Layout& layout, FlopConvention convention, Prediction<K>& p) {
  const Spread unknown, &spread = job.spread != nullptr ? *job.spread : unknown;
  p.shortest = let("shortest", scope.read("low", spread.time.low) * p.step.time);
  p.longest = let("longest", scope.read("high", spread.time.high) * p.step.time);
  // What was measured is inside the allocator; context and communicators stay as they are.
  const auto& memory = p.step.memory;
  p.least = let("least", memory.overhead + scope.read("low", spread.memory.low) * memory.reserved);
  p.most = let("most", memory.overhead + scope.read("high", spread.memory.high) * memory.reserved);
  const auto gpus = scope.input("G", static_cast<double>(job.gpus), "job: accelerators");
  const auto tokens = let("tokens", scope.input("B", static_cast<double>(job.batch), "job: sequences per step") *
                                        scope.input("s", static_cast<double>(job.sequence), "job: sequence length"));
  p.tokens_per_gpu = let("tokens_per_s_per_gpu", tokens / p.step.time / gpus);
  p.token_flops = training_flops_per_token(scope, *job.model, job.sequence, convention, job.adapters.any());
  p.model_rate = let("model_flops_per_gpu", p.token_flops.total * p.tokens_per_gpu, "chowdhery2022palm");
  p.peak = scope.read("peak", *job.hardware->accelerator.peak[static_cast<std::size_t>(job.precision.gemm)]);
  p.mfu = let("mfu", p.model_rate / p.peak, "chowdhery2022palm");
  p.hfu = p.mfu;
  if (layout.recompute != Recompute::none) {
    const auto again = layout.recompute == Recompute::full
                           ? recompute_flops_per_token(scope, *job.model, job.sequence, convention, true)
                           : rerun_flops_per_token(scope, job, layer_key(job, layout), convention);
    p.hfu = let("hfu", (p.token_flops.total + again) * p.tokens_per_gpu / p.peak, "korthikanti2022");
  }
}

template <class K>
Prediction<K> predict(Scope<K> scope, const Job& job, const Layout& layout, FlopConvention convention) {
  Evaluator<K> evaluator(job, scope);
  Prediction<K> p;
  p.step = evaluator.evaluate(layout, Timing::exact);
  for (const StageUnit<K>& s : evaluator.stages()) {
    p.stages.push_back(evaluator.memory(s));
    p.ranks.push_back({.first = s.first_rank, .count = s.ranks, .in_flight = s.in_flight.activations});
  }
  quote(scope, job, layout, convention, p);
  return p;
}

template Prediction<Plain> predict(Scope<Plain>, const Job&, const Layout&, FlopConvention);
template Prediction<Traced> predict(Scope<Traced>, const Job&, const Layout&, FlopConvention);

template void quote(Scope<Plain>, const Job&, const Layout&, FlopConvention, Prediction<Plain>&);
template void quote(Scope<Traced>, const Job&, const Layout&, FlopConvention, Prediction<Traced>&);

}  // namespace napkin
