// Time and saved bytes of one layer for one micro-batch on one rank: the unit the search caches by a small key.
#pragma once

#include <span>
#include <vector>

#include "model/collective/collective.hpp"
#include "model/kernel/kernel.hpp"
#include "model/step/layout.hpp"
#include "model/step/prices.hpp"
#include "model/transformer/flops.hpp"
#include "model/transformer/operators.hpp"

namespace napkin {

// Where the time of one pass through some operators goes. Communication is what the kernels leave exposed; `host` is
// what the launch of the kernels adds when they are shorter than their launches.
template <class K>
struct PassCost {
  SecondsT<K> gemm{}, attention{}, elementwise{}, tp{}, cp{}, ep{}, host{};
  [[nodiscard]] SecondsT<K> compute() const { return gemm + attention + elementwise; }
  [[nodiscard]] SecondsT<K> total() const { return gemm + attention + elementwise + tp + cp + ep + host; }
};
template <class K>
[[nodiscard]] PassCost<K> operator+(const PassCost<K>& a, const PassCost<K>& b);
template <class K>
[[nodiscard]] PassCost<K> operator*(double n, const PassCost<K>& a);

template <class K>
struct LayerCost {
  PassCost<K> forward, backward;  // backward without recomputation
  SecondsT<K> recompute{};        // re-executed forward, communication included
  SecondsT<K> weight_gradient{};  // of `backward`: the products zero-bubble schedules may put off (qi2024zerobubble)
  SecondsT<K> once{};             // once a step: weights quantised for all its micro-batches
  ScalarT<K> adapters{};          // trained parameters of low-rank adapters
  bool host_bound = false;        // on a slow cluster: its launches take longer than its kernels
  double weights = 0;             // weight tensors (of routed experts: one for each product)
  BytesT<K> saved{};              // kept per micro-batch
  BytesT<K> at_once{};            // of `saved`: alive only around the loss of one micro-batch
  BytesT<K> returned{};           // kept beside it until the step ends
  BytesT<K> transient{};          // alive only while this layer's backward runs (recomputed activations)
  BytesT<K> working{};            // and the largest gradient of a linear's output
  BytesT<K> output_gradients{};   // of all its linears: what a weight gradient that is put off waits with
};

// What a layer's cost depends on.
struct LayerKey {
  int tp = 1;
  bool sp = false;
  int cp = 1, ep = 1, etp = 1;
  int micro_batch = 1;
  Recompute recompute = Recompute::none;
  std::uint8_t modules = 0;  // RecomputeModule bits under selective recomputation, else 0
  bool interleaved = false;  // several chunks a rank, where that changes what hides the experts' exchange
  ExchangeChoice exchange = ExchangeChoice::usual;
  bool tp_exposed = false;   // tensor-parallel communication is not hidden
  friend auto operator<=>(const LayerKey&, const LayerKey&) = default;
};
[[nodiscard]] LayerKey layer_key(const Job& job, const Layout& l);
[[nodiscard]] Shard shard_of(const Job& job, const LayerKey& key);

// The kernel a job's attention runs on: the profile's choice for the accelerator's generation.
[[nodiscard]] std::string_view attention_kernel(const Job& job);

// A list of operators, recomputed as the key says; `name` prefixes the derivation.
template <class K>
[[nodiscard]] LayerCost<K> price(Scope<K> scope, const Job& job, const LayerKey& key,
                                 const std::vector<Operator<K>>& operators, const char* name);

template <class K>
[[nodiscard]] LayerCost<K> layer_cost(Scope<K> scope, const Job& job, const LayerKey& key, const LayerKind& kind);
// The same under several kinds of recomputation: the keys differ in `recompute` and `modules` alone.
template <class K>
void layer_cost(Scope<K> scope, const Job& job, std::span<const LayerKey> keys, const LayerKind& kind, Prices<K>& prices,
                std::span<LayerCost<K>> costs);

// FLOPs per token that selective recomputation executes again: of the products and the attention that the key's modules name.
template <class K>
[[nodiscard]] FlopsT<K> rerun_flops_per_token(Scope<K> scope, const Job& job, const LayerKey& key, FlopConvention convention);

// The ends of the model, never recomputed.
template <class K>
[[nodiscard]] LayerCost<K> embedding_cost(Scope<K> scope, const Job& job, const LayerKey& key, Prices<K>& prices);
template <class K>
[[nodiscard]] LayerCost<K> head_cost(Scope<K> scope, const Job& job, const LayerKey& key, Prices<K>& prices);

}  // namespace napkin
