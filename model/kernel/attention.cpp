// Attention over the pairs (query, key) that the mask keeps.
#include <cstdint>

#include "model/input_error.hpp"
#include "model/kernel/kernel.hpp"

namespace napkin {
namespace {

// Backward of a fused kernel: five matrix products against two (dao2022flashattention: scores are recomputed).
constexpr double fused_backward = 2.5;
// Unfused: the scores were kept, four products against two.
constexpr double unfused_backward = 2;
// Element of a 16-bit activation: what attention reads and writes in every format.
constexpr double io_bytes = 2;

const AttentionConstants& constants_of(const Accelerator& a, std::string_view kernel) {
  const auto found = a.attention.find(kernel);
  if (found != a.attention.end()) return found->second;
  std::string known;
  for (const auto& [name, unused] : a.attention) known += name + ", ";
  throw InputError(a.name + " has no attention kernel \"" + std::string(kernel) + "\"; write one of " + known +
                   "unfused");
}

const AttentionConstants::Rate& rate_of(const AttentionConstants& c, double head_dim) {
  auto it = c.by_head_dim.upper_bound(static_cast<int>(head_dim));
  return it == c.by_head_dim.begin() ? it->second : std::prev(it)->second;
}

// Pairs of one head of one sequence. The queries are the last of the keys' sequence: query i of q sees k − q + i keys.
//   causal       q·k − q·(q − 1)/2          for q ≤ k
//   causal, w    w·q less the (w − p)(w − p + 1)/2-type triangle of the queries that see fewer than w keys
template <class K>
ScalarT<K> pairs_of(const AttentionShape<K>& s) {
  const auto q = s.queries, k = s.keys;
  const auto w = static_cast<double>(s.window);
  if (!s.causal) return s.window > 0 ? let("pairs", q * min(k, w)) : let("pairs", q * k);
  // Queries before the first key see nothing.
  const auto seeing = min(q, k);
  const auto first = k - seeing + 1;  // keys that the first of them sees
  if (s.window <= 0 || w >= k.si()) return let("pairs", seeing * (first + k) / 2, "dao2022flashattention");
  if (first.si() >= w) return let("pairs", seeing * w);
  const auto short_of = w - first;  // queries that see fewer than w keys
  return let("pairs", seeing * w - short_of * (short_of + 1) / 2);
}

template <class K>
KernelCost<K> unfused_cost(Scope<K> scope, const Accelerator& a, Format format, const AttentionShape<K>& s, Pass pass,
                           Regime regime) {
  const auto heads = s.batch * s.heads;
  const auto scores = gemm_cost<K>(scope, a, format, io_bytes, io_bytes, {s.queries, s.keys, s.head_dim, heads}, regime);
  const auto values =
      gemm_cost<K>(scope, a, format, io_bytes, io_bytes, {s.queries, s.v_head_dim, s.keys, heads}, regime);
  const auto matrix = heads * s.queries * s.keys * (io_bytes * byte);
  // Softmax with scale and mask fused reads and writes the scores; its backward reads P and dP and writes dS.
  if (pass == Pass::forward) {
    const auto softmax = elementwise_cost<K>(scope, a, 2 * matrix);
    return {let("attention", scores.time + softmax.time + values.time, "korthikanti2022"), scores.flops + values.flops,
            scores.bytes + softmax.bytes + values.bytes};
  }
  const auto softmax = elementwise_cost<K>(scope, a, 3 * matrix);
  const auto d_probabilities =
      gemm_cost<K>(scope, a, format, io_bytes, io_bytes, {s.queries, s.keys, s.v_head_dim, heads}, regime);
  const auto d_values =
      gemm_cost<K>(scope, a, format, io_bytes, io_bytes, {s.keys, s.v_head_dim, s.queries, heads}, regime);
  const auto d_queries =
      gemm_cost<K>(scope, a, format, io_bytes, io_bytes, {s.queries, s.head_dim, s.keys, heads}, regime);
  const auto d_keys =
      gemm_cost<K>(scope, a, format, io_bytes, io_bytes, {s.keys, s.head_dim, s.queries, heads}, regime);
  return {let("attention backward",
              d_probabilities.time + d_values.time + softmax.time + d_queries.time + d_keys.time, "korthikanti2022"),
          unfused_backward * (scores.flops + values.flops),
          d_probabilities.bytes + d_values.bytes + softmax.bytes + d_queries.bytes + d_keys.bytes};
}

}  // namespace

template <class K>
FlopsT<K> attention_flops(const AttentionShape<K>& s) {
  return let("attention flops",
             2 * s.batch * s.heads * pairs_of(s) * (s.head_dim + s.v_head_dim) * flop, "dao2022flashattention");
}

// Fused: t = floor + smooth_max(compute, memory), u = pairs / queries = the keys that a query sees on average
//   compute = flops · (u + s0)/u / (fraction · peak)        s0: masked halves of diagonal blocks, prologue, epilogue
//   memory  = (Q + K + V + O, and their gradients) / (memory fraction · bandwidth)
template <class K>
KernelCost<K> attention_cost(Scope<K> scope, const Accelerator& a, std::string_view kernel, Format format,
                             const AttentionShape<K>& s, Pass pass, Regime regime) {
  if (!(s.batch.si() * s.queries.si() * s.keys.si() * s.heads.si() > 0)) return {};
  if (kernel == "unfused") return unfused_cost<K>(scope, a, format, s, pass, regime);
  const AttentionConstants& c = constants_of(a, kernel);
  if (!has_format(a, format)) throw InputError(a.name + " has no " + std::string(to_string(format)) + " matrix rate");
  const bool backward = pass == Pass::backward;
  const auto pairs = pairs_of(s);
  if (!(pairs.si() > 0)) return {};
  const auto forward_flops = attention_flops(s);
  const auto flops = backward ? fused_backward * forward_flops : forward_flops;
  const auto& rates = rate_of(c, s.head_dim.si());
  const auto seen = let("keys per query", pairs / s.queries);
  const auto fraction = let("fraction", scope.read("attention fraction", backward ? rates.backward : rates.forward) *
                                            seen / (seen + scope.read("half sequence", c.half_sequence)));
  const auto compute =
      let("compute", flops / (fraction * scope.read("peak", *a.peak[static_cast<std::size_t>(format)])));
  const auto query_side = s.queries * s.heads * (s.head_dim + s.v_head_dim);   // Q and O
  const auto key_side = s.keys * s.kv_heads * (s.head_dim + s.v_head_dim);     // K and V
  const auto bytes =
      let("bytes", (backward ? 2 : 1) * s.batch * (query_side + key_side) * (io_bytes * byte));
  const auto memory = let("memory", bytes / (scope.read("memory fraction", a.elementwise.memory_fraction) *
                                             scope.read("bandwidth", a.memory_bandwidth)));
  const auto time =
      let(backward ? "attention backward" : "attention",
          scope.read("attention floor", c.floor) + smooth_max(compute, memory), "dao2023flashattention2");
  return {time, flops, bytes};
}

template FlopsT<Plain> attention_flops(const AttentionShape<Plain>&);
template FlopsT<Traced> attention_flops(const AttentionShape<Traced>&);
template KernelCost<Plain> attention_cost(Scope<Plain>, const Accelerator&, std::string_view, Format,
                                          const AttentionShape<Plain>&, Pass, Regime);
template KernelCost<Traced> attention_cost(Scope<Traced>, const Accelerator&, std::string_view, Format,
                                           const AttentionShape<Traced>&, Pass, Regime);

}  // namespace napkin
