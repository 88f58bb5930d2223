// The caches of a model's layers, for the serving calculators.
#pragma once

#include <vector>

#include "cli/calculator.hpp"
#include "model/serving/kv_cache.hpp"

namespace napkin::cli {

// Options that shape a cache besides those of a model.
extern const OptionList cache_options;  // --latent --window --global-layers --kv-bytes
// Whether a model is given, or --layers with --kv-heads, --heads or --latent.
[[nodiscard]] bool has_cache_shape(const Given& g);
// From a model, or from --layers, --kv-heads and --head-dim (or --latent for MLA), some of them with a window.
[[nodiscard]] std::vector<KvLayers<T>> cache_layers(const Given& g);

}  // namespace napkin::cli
