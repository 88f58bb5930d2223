// A shape for a bare size ("100B"), by stated rules in the manner of published models.
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "model/input_error.hpp"
#include "model/text.hpp"
#include "model/transformer/layer_pattern.hpp"
#include "model/transformer/model_input.hpp"
#include "model/transformer/parameters.hpp"

namespace napkin {
namespace {

constexpr double smallest = 1e7, largest = 1e14;
constexpr double tolerance = 0.01;  // of the asked size

// The rules of one range of sizes. `width_step` and `layer_step` keep heads and layers divisible by usual layouts.
struct Rules {
  std::int64_t vocab;
  bool tied;
  int width_step, head_dim, layer_step;
  double aspect;      // preferred hidden / layers: Llama 2 and 3 have 102–130, Qwen3's MoE 43
  double ffn_ratio;   // preferred ffn / hidden: 8/3 (shazeer2020); of one expert 3/8 as Qwen3's MoE
  double ratio_low, ratio_high;
  int ffn_step;
  int experts = 0, top_k = 0;
};

Rules dense_rules(double n) {
  constexpr double ratio = 8.0 / 3.0;
  if (n < 1e9) return {32'000, true, 128, 64, 2, 120, ratio, 2, 4, 256};
  if (n < 4e9) return {128'256, true, 512, 64, 4, 120, ratio, 2, 4, 256};
  if (n < 30e9) return {128'256, false, 1024, 128, 8, 120, ratio, 2, 4, 256};
  return {128'256, false, 1024, 128, 16, 120, ratio, 2, 4, 256};
}

Rules moe_rules(double n) {
  constexpr double ratio = 3.0 / 8.0;
  if (n < 20e9) return {128'256, n < 4e9, 512, 64, 4, 64, ratio, 0.2, 0.6, 64, 64, 8};
  if (n < 400e9) return {128'256, false, 1024, 128, 8, 64, ratio, 0.2, 0.6, 64, 128, 8};
  return {128'256, false, 1024, 128, 8, 64, ratio, 0.2, 0.6, 64, 256, 8};
}

// "100B", "1.5T".
std::string size_text(double n) {
  for (const auto& [unit, suffix] : {std::pair{1e12, "T"}, std::pair{1e9, "B"}}) {
    if (n >= unit) return format_count(n / unit) + suffix;
  }
  return format_count(n / 1e6) + "M";
}

int kv_heads(int heads) {
  for (const int kv : {8, 4, 2}) {
    if (heads % kv == 0) return kv;
  }
  return 1;
}

Architecture shape(const Rules& r, int hidden, int layers, int ffn) {
  Architecture a;
  a.hidden = hidden;
  a.vocab = r.vocab;
  a.tied_embeddings = r.tied;
  LayerKind k;
  k.attention = Attention{};
  k.attention->heads = hidden / r.head_dim;
  k.attention->kv_heads = kv_heads(k.attention->heads);
  k.attention->head_dim = k.attention->v_head_dim = r.head_dim;
  if (r.experts > 0) {
    k.name = "moe";
    k.ffn.moe = Moe{.experts = r.experts, .top_k = r.top_k, .ffn = ffn};
  } else {
    k.name = "dense";
    k.ffn.width = ffn;
  }
  for (int i = 0; i < layers; ++i) append_layer(a, k);
  return a;
}

// Over hidden and layers on their steps, the feed-forward width is what brings the count nearest to n; of the shapes
// within the tolerance, the one nearest to the preferred aspect and ratio (squared logarithms, evenly weighted).
std::optional<Architecture> best_shape(const Rules& r, double n) {
  std::optional<Architecture> best;
  double best_distance = 0;
  for (int hidden = r.width_step; hidden <= 512 * 1024; hidden += r.width_step) {
    const auto per_layer = [&](int ffn) {
      const Architecture one = shape(r, hidden, 1, ffn);
      return double(layer_parameters(one, one.kinds[0]).total());
    };
    const double without = per_layer(0), per_ffn = (per_layer(r.ffn_step) - without) / r.ffn_step;
    const double outside = double(parameters(shape(r, hidden, 1, r.ffn_step)).total) - per_layer(r.ffn_step);
    if (outside > n) break;
    for (int layers = r.layer_step; layers <= 2048; layers += r.layer_step) {
      const double exact = ((n - outside) / layers - without) / per_ffn;
      const int ffn = int(std::lround(exact / r.ffn_step)) * r.ffn_step;
      const double ratio = double(ffn) / hidden;
      if (ratio > r.ratio_high) continue;
      if (ratio < r.ratio_low) break;
      const double total = outside + layers * (without + per_ffn * ffn);
      if (std::abs(total / n - 1) > tolerance) continue;
      const double aspect = std::log(double(hidden) / layers / r.aspect), width = std::log(ratio / r.ffn_ratio);
      const double distance = aspect * aspect + width * width;
      if (!best || distance < best_distance) {
        best = shape(r, hidden, layers, ffn);
        best_distance = distance;
      }
    }
  }
  return best;
}

Architecture synthesise(double n, const Rules& r, const std::string& kind) {
  if (!(n >= smallest && n <= largest)) {
    throw InputError("model: a size of " + format_count(n) + " parameters is outside 10M to 100T; write a size like "
                     "\"7B\", \"100B\" or \"1T\"");
  }
  auto found = best_shape(r, n);
  if (!found) {
    throw InputError("model: no " + kind + " shape comes within 1 % of " + format_count(n) +
                     " parameters; write a model object or a config.json");
  }
  Architecture a = *std::move(found);
  const LayerKind& k = a.kinds[0];
  const auto total = double(parameters(a).total);
  a.name = size_text(n) + " " + kind;
  a.origin = "synthesised for " + format_count(n) + " parameters";
  a.assumptions = {
      "shape: " + std::to_string(a.depth()) + " layers, hidden " + format_count(double(a.hidden)) + ", " +
          std::to_string(k.attention->heads) + " heads of " + std::to_string(k.attention->head_dim) + ", " +
          std::to_string(k.attention->kv_heads) + " key-value heads, " +
          (k.ffn.moe ? std::to_string(k.ffn.moe->experts) + " experts of width " +
                           format_count(k.ffn.moe->ffn) + ", top " + std::to_string(k.ffn.moe->top_k)
                     : "gated feed-forward " + format_count(k.ffn.width)) +
          ", vocabulary " + format_count(double(a.vocab)) + (a.tied_embeddings ? ", tied embeddings" : "") + ": " +
          format_count(total) + " parameters",
      "rules: Llama-like (RMSNorm, RoPE, SiLU gate, no biases); hidden a multiple of " + std::to_string(r.width_step) +
          ", layers of " + std::to_string(r.layer_step) + "; hidden/layers near " + format_count(r.aspect) +
          ", feed-forward near " + (r.experts > 0 ? "3/8" : "8/3") + " of hidden, set so that the count is within 1 %",
  };
  return a;
}

}  // namespace

Architecture synthesise_dense(double n) { return synthesise(n, dense_rules(n), "dense"); }
Architecture synthesise_moe(double n) { return synthesise(n, moe_rules(n), "moe"); }

}  // namespace napkin
