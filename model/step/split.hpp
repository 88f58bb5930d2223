// Which layers stand on which pipeline stage.
#pragma once

#include <cstdint>
#include <vector>

#include "model/transformer/architecture.hpp"

namespace napkin {

// Pipeline ranks with the same content, as one entry.
struct StageContent {
  std::vector<int> layers;   // how many of each Architecture::kinds
  bool embedding = false, head = false;
  int mtp = 0;               // multi-token-prediction modules, on the head's rank
  int first_rank = 0, ranks = 1;
  [[nodiscard]] int depth() const;
};

// Layers over pp·vpp chunks, chunk c·pp + r on rank r (narayanan2021 §2.2). An uneven remainder goes to the middle
// chunks first, then the first, then the last: the embedding and the head count as work (Megatron-Core
// account_for_embedding_in_pipeline_split). Distinct contents in rank order.
[[nodiscard]] std::vector<StageContent> split_layers(const Architecture& a, int pp, int vpp);

// Layers of each chunk under the same rule.
[[nodiscard]] std::vector<int> chunk_depths(std::int64_t layers, int chunks);

}  // namespace napkin
