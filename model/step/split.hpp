// Which layers stand on which pipeline stage.
#pragma once

#include <cstdint>
#include <vector>

#include "model/frameworks/profile.hpp"
#include "model/pipeline/pipeline.hpp"
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
// account_for_embedding_in_pipeline_split).
[[nodiscard]] std::vector<int> chunk_depths(std::int64_t layers, int chunks);

// By cost: embedding, layers, head in a row, each with its matrix parameters as cost (the embedding costs nothing); a chunk
// ends with the item that brings the cumulative cost to its share of the total (nanotron parallel_model
// get_block_compute_costs). `depths` may be 0; `head_at` is the chunk that gets the head.
struct CostSplit {
  std::vector<int> depths;
  int head_at = 0;
};
[[nodiscard]] CostSplit split_by_cost(const Architecture& a, int chunks);

// Distinct contents in rank order. With `fold`, a second chunk runs the ranks backwards: rank r holds chunks r and
// 2·pp − 1 − r, the head stands beside the embedding (qi2024zerobubble ZB-V; DualPipeV).
[[nodiscard]] std::vector<StageContent> split_layers(const Architecture& a, int pp, int vpp, SplitRule rule = SplitRule::even,
                                                     bool fold = false);
[[nodiscard]] bool folds(Schedule s);

}  // namespace napkin
