#include "model/serving/forward.hpp"

#include <algorithm>
#include <string_view>

#include "model/collective/expert_exchange.hpp"

namespace napkin {
namespace {

// Kernels that an eager framework launches for a chain: a rotation ten, a gated activation two, a norm, a sum or a copy one
// (counted in plain PyTorch). A training profile carries the mean of a layer; where short kernels are all there is, which they are matters.
template <class K>
double launches(const Operator<K>& o, const LayerKind& kind, const Profile& profile) {
  if (o.kind == Operator<K>::Kind::collective) return 0;
  if (o.kind != Operator<K>::Kind::elementwise || double(profile.elementwise.kernels.value) <= 1) return 1;
  if (std::string_view(o.name) == "rope") return 10;
  return o.traffic == Traffic::activation && kind.ffn.gated ? 2 : 1;
}

template <class K>
PassCost<K> layer_forward(const Scope<K>& scope, const Job& job, const LayerKey& key, const LayerKind& kind, ScalarT<K> keys, Prices<K>& prices) {
  const Accelerator& machine = job.hardware->accelerator;
  PassCost<K> p;
  double kernels = 0;
  for (Operator<K>& o : layer_operators(scope, *job.model, kind, shard_of(job, key), *job.profile)) {
    const double n = launches(o, kind, *job.profile);
    switch (o.kind) {
      case Operator<K>::Kind::gemm: {
        const bool low = o.low_precision && o.weight;
        auto share = scope.read("x_gemm", job.profile->gemm_share);
        if (o.local_experts > 0) share = share * scope.read("x_expert_gemm", job.profile->expert_gemm_share);
        p.gemm += let(o.name, prices.gemm(low ? job.precision.gemm : job.precision.base, low ? job.precision.gemm_bytes : job.precision.base_bytes,
                                          job.precision.base_bytes, o.gemm) / share);
        break;
      }
      case Operator<K>::Kind::attention:
        o.attention.keys = keys;  // each query sees the cache too
        p.attention += prices.attention(attention_kernel(job), o.attention, Pass::forward);
        break;
      case Operator<K>::Kind::elementwise:
        if (!(o.forward_bytes.si() > 0)) continue;  // a tensor that training keeps
        p.elementwise += let(o.name, elementwise_cost(scope, machine, o.forward_bytes, o.traffic).time +
                                         (n - 1) * scope.read("elementwise floor", machine.elementwise.floor));
        break;
      case Operator<K>::Kind::collective: {
        if (!o.forward) continue;
        const bool experts = o.axis == Axis::ep || o.axis == Axis::etp;
        const Group group{.size = experts ? key.ep : key.tp, .stride = 1};
        const auto t = o.routing ? expert_exchange_cost(scope, job.hardware->network, group, *o.routing, o.bytes).time
                                 : prices.collective(o.operation, o.bytes, group);
        (experts ? p.ep : p.tp) += let(o.name, o.rounds * t);
        break;
      }
    }
    kernels += n;
  }
  // The host runs ahead through the whole layer.
  const auto launched = scope.input("kernels of a layer", kernels) * (scope.read("t_launch", machine.launch) * scope.read("x_launch", job.profile->host.launch));
  p.host = let("host_exposed", max(SecondsT<K>{}, launched - p.compute()));
  return p;
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
  Prices<K> prices(scope, job);
  const auto keys = scope.input("cached", static_cast<double>(batch.cached)) + scope.input("new", static_cast<double>(batch.tokens));
  // 1. Layers: the operators of a training step's forward pass.
  ServedPass<K> p;
  for (std::size_t kind = 0; kind < a.kinds.size(); ++kind)
    if (const auto count = std::count(a.layers.begin(), a.layers.end(), kind); count > 0)
      p.layers = p.layers + static_cast<double>(count) * layer_forward(scope, job, key, a.kinds[kind], ScalarT<K>(keys), prices);
  // 2. Head: logits of the last token of each sequence.
  const GemmShape<K> logits{.m = scope.input("sequences", batch.sequences), .n = scope.input("V", static_cast<double>(padded_vocab(a, *job.profile, tp))) / tp,
                            .k = scope.input("h", static_cast<double>(a.hidden))};
  p.head = let("head", prices.gemm(job.precision.base, job.precision.base_bytes, job.precision.base_bytes, logits));
  const auto kernels = let("kernels", p.layers.compute() + p.layers.tp + p.layers.ep);
  p.time = let("T_pass", (batch.graph ? choose("launches are replayed as a graph", kernels) : let("T_layers", kernels + p.layers.host)) + p.head);
  return p;
}

template ServedPass<Plain> served_pass<Plain>(const Scope<Plain>&, const Job&, int, const ServedBatch&);
template ServedPass<Traced> served_pass<Traced>(const Scope<Traced>&, const Job&, int, const ServedBatch&);

}  // namespace napkin
