#include "model/transformer/flops.hpp"

#include <algorithm>

#include "model/transformer/parameters.hpp"

namespace napkin {

std::string_view to_string(FlopConvention c) {
  switch (c) {
    case FlopConvention::full_attention: return "full-attention";
    case FlopConvention::causal_half: return "causal-half";
    case FlopConvention::weights_only: return "weights-only";
  }
  return "full-attention";
}

std::optional<FlopConvention> convention_named(std::string_view name) {
  for (const auto c : {FlopConvention::full_attention, FlopConvention::causal_half, FlopConvention::weights_only})
    if (to_string(c) == name) return c;
  return {};
}

namespace {

struct Depth {
  std::size_t kind;
  int layers;
};

// How many times each kind of layer is trained, MTP modules included.
std::vector<Depth> depths(const Architecture& a) {
  std::vector<Depth> d;
  for (std::size_t k = 0; k < a.kinds.size(); ++k) {
    int n = static_cast<int>(std::count(a.layers.begin(), a.layers.end(), static_cast<std::uint8_t>(k)));
    if (static_cast<int>(k) == a.mtp_kind) n += a.mtp_layers;
    if (n > 0) d.push_back({k, n});
  }
  return d;
}

// Forward FLOPs of the scores and the weighted values for one token: 2·keys·heads·(d_k + d_v).
template <class K>
FlopsT<K> attention_forward(Scope<K> scope, const Architecture& a, std::int64_t sequence, FlopConvention convention) {
  FlopsT<K> sum{};
  if (convention == FlopConvention::weights_only) return sum;
  const double share = convention == FlopConvention::causal_half ? 0.5 : 1.0;
  for (const auto& [kind, layers] : depths(a)) {
    const auto& at = a.kinds[kind].attention;
    if (!at) continue;
    std::int64_t span = sequence;
    if (at->window > 0) span = std::min(span, at->window);
    if (at->chunk > 0) span = std::min(span, at->chunk);
    const auto keys = share * scope.input("s", static_cast<double>(span), "keys a query may see");
    const auto width = scope.input("d_k", at->head_dim + (at->is_mla ? at->rope_head_dim : 0), a.name) +
                       scope.input("d_v", at->v_head_dim, a.name);
    sum += scope.input("layers", layers, a.kinds[kind].name) *
           (2 * keys * scope.input("a", at->heads, a.name) * width) * flop;
  }
  return sum;
}

// Parameters of the layers a token multiplies with.
double layer_parameters_used(const Architecture& a) {
  double n = 0;
  for (const auto& [kind, layers] : depths(a)) {
    const LayerParameters p = layer_parameters(a, a.kinds[kind]);
    n += static_cast<double>(layers) * static_cast<double>(p.active() - p.norms);
  }
  return n + static_cast<double>(a.mtp_layers) * 2.0 * static_cast<double>(a.hidden) * static_cast<double>(a.hidden);
}

}  // namespace

template <class K>
TokenFlops<K> training_flops_per_token(Scope<K> scope, const Architecture& a, std::int64_t sequence,
                                       FlopConvention convention, bool frozen) {
  const double head = static_cast<double>(a.vocab) * static_cast<double>(a.hidden) * (1 + a.mtp_layers);
  const auto n = let("N", scope.input("N_layers", layer_parameters_used(a), a.name + ": active, without norms") +
                              scope.input("N_head", head, a.name + ": vocabulary × hidden"));
  TokenFlops<K> f;
  f.weights = let("F_weights", (frozen ? 4.0 : 6.0) * n * flop, frozen ? "hu2022lora" : "kaplan2020");
  f.attention = let("F_attention", 3 * attention_forward(scope, a, sequence, convention), "chowdhery2022palm");
  f.total = let("F_token", f.weights + f.attention);
  return f;
}

template <class K>
FlopsT<K> recompute_flops_per_token(Scope<K> scope, const Architecture& a, std::int64_t sequence,
                                    FlopConvention convention, bool whole_layers) {
  const FlopsT<K> attention = attention_forward(scope, a, sequence, convention);
  if (!whole_layers) return let("F_recompute", attention, "korthikanti2022");
  const auto n = scope.input("N_layers", layer_parameters_used(a), a.name + ": active, without norms");
  return let("F_recompute", 2 * n * flop + attention, "korthikanti2022");
}

#define NAPKIN_INSTANTIATE(K)                                                                                     \
  template TokenFlops<K> training_flops_per_token(Scope<K>, const Architecture&, std::int64_t, FlopConvention, bool); \
  template FlopsT<K> recompute_flops_per_token(Scope<K>, const Architecture&, std::int64_t, FlopConvention, bool);
NAPKIN_INSTANTIATE(Plain)
NAPKIN_INSTANTIATE(Traced)
#undef NAPKIN_INSTANTIATE

}  // namespace napkin
