// Which layers stand on which pipeline stage.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/frameworks/profile.hpp"
#include "model/pipeline/pipeline.hpp"
#include "model/pipeline/schedule.hpp"
#include "model/transformer/architecture.hpp"

namespace napkin {

// Pipeline ranks with the same content, as one entry.
struct StageContent {
  std::vector<int> layers;   // how many of each Architecture::kinds
  bool embedding = false, head = false;
  int mtp = 0;               // multi-token-prediction modules, on the head's rank
  double share = 1;          // of it that a micro-batch crosses: ½ where each takes one of two directions
  int first_rank = 0, ranks = 1;
  [[nodiscard]] int depth() const;
};

// By cost: embedding, layers, head in a row, each with its matrix parameters as cost (the embedding costs nothing); a chunk
// ends with the item that brings the cumulative cost to its share of the total (nanotron parallel_model
// get_block_compute_costs). `depths` may be 0; `head_at` is the chunk that gets the head.
struct CostSplit {
  std::vector<int> depths;
  int head_at = 0;
};
[[nodiscard]] CostSplit split_by_cost(const Architecture& a, int chunks);

// Whether `rule` takes best_split() of the model's FLOPs: balanced, where an MTP module stands behind the last layer or the
// layers do not divide over the stages, one or both ends counted as a layer or not. What divides is dealt evenly:
// Megatron-Core needs no layout string then (account_for_embedding_in_pipeline_split, account_for_loss_in_pipeline_split).
[[nodiscard]] bool is_balanced(const Architecture& a, int stages, SplitRule rule);

// Layers over the stages of a schedule by `rule` (even_depths() unless by cost or balanced), and those over its ranks as its
// placement says. Distinct contents in rank order. `sequence` (tokens) sets what attention weighs in a balanced split; 0:
// matrices alone.
[[nodiscard]] std::vector<StageContent> split_layers(const Architecture& a, Schedule schedule, int pp, int vpp,
                                                     SplitRule rule = SplitRule::even, std::int64_t sequence = 0);
// Stages dealt to the ranks of a placement.
[[nodiscard]] std::vector<StageContent> rank_contents(const Placement& place, std::span<const StageContent> of_stage);
// The stages themselves, one entry each.
[[nodiscard]] std::vector<StageContent> stage_contents(const Architecture& a, int stages, SplitRule rule = SplitRule::even,
                                                       std::int64_t sequence = 0);

}  // namespace napkin
