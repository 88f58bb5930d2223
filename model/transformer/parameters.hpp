// Parameters of an architecture, by block; exact integers.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/transformer/architecture.hpp"

namespace napkin {

// One layer's parameters. `routed` counts all experts, `routed_active` the top_k a token visits.
struct LayerParameters {
  std::int64_t mixer = 0;        // attention, mamba or linear attention with their own norms and biases
  std::int64_t dense_ffn = 0;
  std::int64_t routed = 0, routed_active = 0;
  std::int64_t shared = 0;       // shared experts and their gate
  std::int64_t router = 0;
  std::int64_t norms = 0;        // norms of model width
  std::int64_t other = 0;
  [[nodiscard]] std::int64_t total() const {
    return mixer + dense_ffn + routed + shared + router + norms + other;
  }
  [[nodiscard]] std::int64_t active() const { return total() - routed + routed_active; }
};
[[nodiscard]] LayerParameters layer_parameters(const Architecture& a, const LayerKind& kind);

struct Parameters {
  std::int64_t embedding = 0, positions = 0, head = 0;  // head = 0 when tied
  std::int64_t mixer = 0, dense_ffn = 0, routed = 0, shared = 0, router = 0, norms = 0, other = 0;
  std::int64_t mtp = 0;
  std::int64_t total = 0;            // without MTP; tied tensors once
  std::int64_t total_with_mtp = 0;
  std::int64_t active = 0;           // per token, embeddings included
  std::int64_t active_without_embedding = 0;  // some publishers leave the input embedding out
  [[nodiscard]] std::vector<std::pair<std::string, std::int64_t>> by_block() const;
};
[[nodiscard]] Parameters parameters(const Architecture& a);

}  // namespace napkin
