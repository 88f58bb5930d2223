#include "model/serving/forward.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace napkin {
namespace {

// Kernels that an eager framework launches for a chain: a rotation ten, a gated activation two, a norm, a sum or a copy one
// (counted in plain PyTorch). A training profile carries the mean of a layer; where short kernels are all there is, which they are matters.
template <class K>
double launches(const Operator<K>& o, const LayerKind& kind) {
  if (std::string_view(o.name) == "rope") return 10;
  return o.traffic == Traffic::activation && kind.ffn.gated ? 2 : 1;
}

template <class K>
PassCost<K> layer_forward(const Scope<K>& scope, const Job& job, const LayerKey& key, const LayerKind& kind, ScalarT<K> keys) {
  auto operators = layer_operators(scope, *job.model, kind, shard_of(job, key), *job.profile);
  std::vector<Operator<K>> fixed;
  PassCost<K> total;
  double kernels = 0;
  for (Operator<K>& o : operators) {
    if (o.kind == Operator<K>::Kind::attention) o.attention.keys = keys;  // each query sees the cache too
    const bool chain = o.kind == Operator<K>::Kind::elementwise;
    if (chain && !(o.forward_bytes.si() > 0)) continue;  // a tensor that training keeps
    const bool apart = chain && double(job.profile->elementwise.kernels.value) > 1;
    kernels += apart ? launches(o, kind) : o.kind == Operator<K>::Kind::collective ? 0 : 1;
    if (!apart) {
      fixed.push_back(o);
      continue;
    }
    Profile profile = *job.profile;
    profile.elementwise.kernels.value = launches(o, kind);
    Job one = job;
    one.profile = &profile;
    total = total + price(scope, one, key, std::vector<Operator<K>>{o}, "served layer").forward;
  }
  total = total + price(scope, job, key, fixed, "served layer").forward;
  // The host runs ahead through the whole layer.
  const auto launched = scope.input("kernels of a layer", kernels) * (scope.read("t_launch", job.hardware->accelerator.launch) *
                                                                     scope.read("x_launch", job.profile->host.launch));
  total.host = let("host_exposed", max(SecondsT<K>{}, launched - total.compute()));
  return total;
}

}  // namespace

template <class K>
ServedPass<K> served_pass(const Scope<K>& scope, const Job& asked, int tp, const ServedBatch& batch) {
  Job job = asked;
  job.sequence = batch.tokens;
  job.batch = batch.sequences;
  job.gpus = tp;
  const LayerKey key{.tp = tp, .micro_batch = batch.sequences};
  const Architecture& a = *job.model;
  const auto keys = scope.input("cached", static_cast<double>(batch.cached)) + scope.input("new", static_cast<double>(batch.tokens));
  // 1. Layers: the operators of a training step's forward pass.
  ServedPass<K> p;
  for (std::size_t kind = 0; kind < a.kinds.size(); ++kind)
    if (const auto count = std::count(a.layers.begin(), a.layers.end(), kind); count > 0)
      p.layers = p.layers + static_cast<double>(count) * layer_forward(scope, job, key, a.kinds[kind], keys);
  // 2. Head: logits of the last token of each sequence.
  const Accelerator& machine = job.hardware->accelerator;
  const GemmShape<K> logits{.m = scope.input("sequences", batch.sequences), .n = scope.input("V", static_cast<double>(padded_vocab(a, *job.profile, tp))) / tp,
                            .k = scope.input("h", static_cast<double>(a.hidden))};
  p.head = let("head", gemm_cost(scope, machine, job.precision.base, job.precision.base_bytes, job.precision.base_bytes, logits, Regime::sustained).time);
  const auto kernels = let("kernels", p.layers.compute() + p.layers.tp + p.layers.ep);
  p.time = let("T_pass", (batch.graph ? choose("launches are replayed as a graph", kernels) : let("T_layers", kernels + p.layers.host)) + p.head);
  return p;
}

template ServedPass<Plain> served_pass<Plain>(const Scope<Plain>&, const Job&, int, const ServedBatch&);
template ServedPass<Traced> served_pass<Traced>(const Scope<Traced>&, const Job&, int, const ServedBatch&);

}  // namespace napkin
