#include "cli/cache_shape.hpp"

namespace napkin::cli {

const OptionList cache_options{{"--latent", Reads::count, "MLA: elements of a token and layer (512 + 64)"},
                               {"--window", Reads::tokens, "Sliding window of the layers that are not global"},
                               {"--global-layers", Reads::count, "Layers without the window", nullptr, true},
                               {"--kv-bytes", Reads::bytes, "Bytes of a cached element", "2"}};

bool has_cache_shape(const Given& g) {
  return g.has_model() || (g.typed("--layers") && (g.typed("--kv-heads") || g.typed("--heads") || g.typed("--latent")));
}

std::vector<KvLayers<T>> cache_layers(const Given& g) {
  if (g.has_model() && !g.typed("--kv-heads") && !g.typed("--layers") && !g.typed("--latent")) return kv_layers(g.scope(), g.architecture());
  const auto layers = g.shape("--layers", "L");
  const auto width = g.typed("--latent") ? g.number("--latent", "d_c + d_rope")
                                         : let("width", 2 * g.shape("--kv-heads", "K") * g.shape("--head-dim", "H"), "ainslie2023gqa");
  const auto heads = g.typed("--latent") ? ScalarT<T>(1) : g.shape("--kv-heads", "K");
  if (!g.typed("--window")) return {{layers, width, 0, heads}};
  const auto global = g.typed("--global-layers") ? g.number("--global-layers", "L_global") : ScalarT<T>(0);
  return {{global, width, 0, heads}, {let("L_local", layers - global), width, g.whole("--window", 1), heads}};
}

}  // namespace napkin::cli
