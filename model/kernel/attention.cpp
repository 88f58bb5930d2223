// Attention: fused kernels, and the unfused chain of batched products and a softmax over materialised scores.
#include <cmath>
#include <iterator>

#include "model/input_error.hpp"
#include "model/kernel/rates.hpp"

namespace napkin {
namespace {

// Products over the pairs in the backward pass for each one forward. Fused: five against two, the scores are recomputed
// (dao2022flashattention). Unfused: four against two, they were kept.
constexpr double fused_backward = 2.5;
constexpr double unfused_backward = 2;
// An element of Q, K, V, O and of the scores: 16-bit in every recipe.
constexpr double element_bytes = 2;
// What a matrix unit loads at once: operands whose rows are no multiple of it are multiplied by the vector units.
constexpr double matrix_line = 16;
// Tiles of a causal call differ in length: the last units end about half of the longest tile after the mean.
constexpr double tail_share = 0.5;

const AttentionConstants& constants_of(const Accelerator& a, std::string_view kernel) {
  const auto found = a.attention.find(kernel);
  if (found != a.attention.end()) return found->second;
  std::string known;
  for (const auto& [name, unused] : a.attention) known += name + ", ";
  throw InputError(a.name + " has no attention kernel \"" + std::string(kernel) + "\"; write one of " + known +
                   "unfused");
}

const AttentionConstants::Rate& rate_of(const AttentionConstants& c, double head_dim) {
  const auto above = c.by_head_dim.upper_bound(static_cast<int>(head_dim));
  return above == c.by_head_dim.begin() ? above->second : std::prev(above)->second;
}

template <class K>
FlopsT<K> flops_of(const AttentionShape<K>& s, ScalarT<K> pairs) {
  return let("attention flops", 2 * s.batch * s.heads * pairs * (s.head_dim + s.v_head_dim) * flop,
             "dao2022flashattention");
}

// korthikanti2022 §4.1: Q·Kᵀ, softmax, P·V as kernels of their own; no product skips the masked half.
//   backward: dP = dO·Vᵀ, dV = Pᵀ·dO, softmax' (reads P and dP, writes dS), dQ = dS·K, dK = dSᵀ·Q
template <class K>
KernelCost<K> unfused_cost(Scope<K> scope, const Accelerator& a, Format format, const AttentionShape<K>& s, Pass pass,
                           Regime regime) {
  const auto heads = s.batch * s.heads;
  const auto whole_lines = [](ScalarT<K> width) { return std::fmod(width.si() * element_bytes, matrix_line) == 0; };
  // Rows of Q, K, V that are no whole lines keep all the products off the matrix units (nvidia2023matmul).
  const bool matrix = (whole_lines(s.head_dim) && whole_lines(s.v_head_dim)) || !a.peak[static_cast<std::size_t>(Format::fp32)];
  const auto product = [&](ScalarT<K> m, ScalarT<K> n, ScalarT<K> k) -> KernelCost<K> {
    const GemmShape<K> shape{m, n, k, heads};
    if (matrix) return gemm_cost<K>(scope, a, format, element_bytes, element_bytes, shape, regime);
    const auto flops = let("flops", 2 * heads * m * n * k * flop);
    return {let("vector product", flops / scope.read("vector peak", *a.peak[static_cast<std::size_t>(Format::fp32)])), flops, {}};
  };
  const BytesT<K> scores = let("scores", heads * s.queries * s.keys * (element_bytes * byte), "korthikanti2022");
  KernelCost<K> total;
  const auto add = [&total](const KernelCost<K>& part) {
    total = {total.time + part.time, total.flops + part.flops, total.bytes + part.bytes};
  };
  if (pass == Pass::forward) {
    add(product(s.queries, s.keys, s.head_dim));
    add(elementwise_cost<K>(scope, a, 2 * scores, Traffic::softmax));
    add(product(s.queries, s.v_head_dim, s.keys));
  } else {
    add(product(s.queries, s.keys, s.v_head_dim));
    add(product(s.keys, s.v_head_dim, s.queries));
    add(elementwise_cost<K>(scope, a, 3 * scores, Traffic::softmax));
    add(product(s.queries, s.head_dim, s.keys));
    add(product(s.keys, s.head_dim, s.queries));
  }
  total.time = let(pass == Pass::forward ? "attention" : "attention backward", total.time, "korthikanti2022");
  return total;
}

}  // namespace

// Pairs of one head, with p = the keys that the first query sees:
//   causal             Σ p … k                = q·(p + k)/2
//   causal, window w   Σ min(·, w)            = q·w − (w − p)(w − p + 1)/2   (the second term while p < w)
template <class K>
ScalarT<K> attention_pairs(const AttentionShape<K>& s) {
  const auto w = static_cast<double>(s.window);
  const auto keys = s.window > 0 && !s.causal ? min(s.keys, w) : s.keys;
  if (!s.causal) return let("pairs", s.queries * keys);
  const auto queries = min(s.queries, keys);  // a query before the first key sees nothing
  const auto first = keys - queries + 1;
  if (s.window <= 0 || w >= keys.si()) return let("pairs", queries * (first + keys) / 2, "dao2022flashattention");
  if (first.si() >= w) return let("pairs", queries * w, "beltagy2020longformer");
  const auto missing = w - first;
  return let("pairs", queries * w - missing * (missing + 1) / 2, "beltagy2020longformer");
}

template <class K>
FlopsT<K> attention_flops(const AttentionShape<K>& s) {
  return flops_of(s, attention_pairs(s));
}

// Fused: t = floor + smooth_max(compute, memory), u = keys that a query sees on average
//   work(x) = time of all queries over x keys each = flops · x/u / (fraction · peak [· sustained])
//   compute = work(u + h)                                            every query sees the same keys
//           = work(u + h + block/2) + ½ longest tile                 causal: masked halves of the diagonal blocks, and
//                                                                    units that end half a longest tile apart
//   compute ≥ longest tile = `block` queries and all keys on one unit; fewer queries: keys are split (dao2023flashdecoding)
//   memory  = (Q + K + V + O; twice that backward) / (memory fraction · bandwidth)
// h = half_keys: prologue and epilogue of a query's row, in keys.
template <class K>
KernelCost<K> attention_cost(Scope<K> scope, const Accelerator& a, std::string_view kernel, Format format,
                             const AttentionShape<K>& s, Pass pass, Regime regime) {
  if (kernel == "unfused") return unfused_cost<K>(scope, a, format, s, pass, regime);
  const AttentionConstants& c = constants_of(a, kernel);
  const auto pairs = attention_pairs(s);
  const auto forward_flops = flops_of(s, pairs);
  if (!(forward_flops.si() > 0)) return {};
  const bool backward = pass == Pass::backward;
  const auto flops = backward ? let("flops", fused_backward * forward_flops, "dao2022flashattention") : forward_flops;
  const auto& rates = rate_of(c, s.head_dim.si());
  auto rate = scope.read("attention fraction", backward ? rates.backward : rates.forward) *
              scope.read("peak", matrix_peak(a, format));
  if (regime == Regime::sustained) rate = rate * scope.read("sustained share", c.sustained);

  const auto seen = let("keys per query", pairs / s.queries);
  const auto per_key = let("all queries, one key", flops / seen / rate);
  const auto block = scope.read("block", c.block);
  const auto row = scope.read("half keys", backward ? c.half_keys_backward : c.half_keys);
  const auto overhead = s.causal ? row + min(block, s.queries) / 2 : row;
  auto compute = per_key * (seen + overhead);
  if (s.queries.si() >= block.si()) {
    const auto reach = s.window > 0 ? min(s.keys, static_cast<double>(s.window)) : s.keys;
    const auto tiles = let("tiles", s.batch * s.heads * s.queries / block);
    const auto longest = let("longest tile", per_key * (reach + overhead) * scope.read("units", a.units) / tiles);
    compute = max(s.causal ? compute + tail_share * longest : compute, longest);
  }
  const auto bytes = let("bytes", (backward ? 2 : 1) * s.batch * (s.queries * s.heads + s.keys * s.kv_heads) *
                                      (s.head_dim + s.v_head_dim) * (element_bytes * byte));
  const auto memory = let("memory", bytes / (scope.read("memory fraction", a.elementwise.memory_fraction) *
                                             scope.read("bandwidth", a.memory_bandwidth)));
  const auto time = scope.read("attention floor", c.floor) + smooth_max(let("compute", compute), memory);
  return {let(backward ? "attention backward" : "attention", time, "dao2023flashattention2"), flops, bytes};
}

template ScalarT<Plain> attention_pairs(const AttentionShape<Plain>&);
template ScalarT<Traced> attention_pairs(const AttentionShape<Traced>&);
template FlopsT<Plain> attention_flops(const AttentionShape<Plain>&);
template FlopsT<Traced> attention_flops(const AttentionShape<Traced>&);
template KernelCost<Plain> attention_cost(Scope<Plain>, const Accelerator&, std::string_view, Format,
                                          const AttentionShape<Plain>&, Pass, Regime);
template KernelCost<Traced> attention_cost(Scope<Traced>, const Accelerator&, std::string_view, Format,
                                           const AttentionShape<Traced>&, Pass, Regime);

}  // namespace napkin
