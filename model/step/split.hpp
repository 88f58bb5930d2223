// Which layers stand on which pipeline stage.
#pragma once

#include <cstdint>
#include <vector>

#include "model/pipeline/pipeline.hpp"
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

// Layers over the stages of a schedule by even_depths(), and those over its ranks as its placement says. Distinct contents
// in rank order.
[[nodiscard]] std::vector<StageContent> split_layers(const Architecture& a, Schedule schedule, int pp, int vpp);
// The stages themselves, one entry each.
[[nodiscard]] std::vector<StageContent> stage_contents(const Architecture& a, int stages);

}  // namespace napkin
