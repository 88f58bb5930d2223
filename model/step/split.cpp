#include "model/step/split.hpp"

#include <numeric>

#include "model/pipeline/split.hpp"
#include "model/pipeline/stack_flops.hpp"
#include "model/transformer/parameters.hpp"

namespace napkin {

int StageContent::depth() const { return std::accumulate(layers.begin(), layers.end(), 0); }

CostSplit split_by_cost(const Architecture& a, int chunks) {
  std::vector<double> cost;
  for (const int kind : a.layers) {
    const LayerParameters p = layer_parameters(a, a.kinds[static_cast<std::size_t>(kind)]);
    cost.push_back(static_cast<double>(p.mixer + p.dense_ffn + p.shared + p.routed));
  }
  const double head = static_cast<double>(a.vocab) * static_cast<double>(a.hidden);
  const double total = std::accumulate(cost.begin(), cost.end(), head);
  CostSplit s{.depths = std::vector<int>(static_cast<std::size_t>(chunks), 0), .head_at = 0};
  double sum = 0;
  int c = 0;
  for (const double one : cost) {
    ++s.depths[static_cast<std::size_t>(c)];
    sum += one;
    if (c + 1 < chunks && sum >= total * (c + 1) / chunks) ++c;
  }
  s.head_at = c;
  return s;
}

namespace {

// Layers, embedding, MTP modules and head of every stage.
std::vector<StageShare> shares(const Architecture& a, int stages, SplitRule rule, std::int64_t sequence) {
  if (is_balanced(a, stages, rule)) return best_split(stack_flops(a, sequence), stages).stages;
  const CostSplit split = rule == SplitRule::by_cost && stages > 1
                              ? split_by_cost(a, stages)
                              : CostSplit{.depths = even_depths(static_cast<std::int64_t>(a.depth()), stages), .head_at = stages - 1};
  std::vector<StageShare> all;
  for (const int depth : split.depths) {
    const int at = static_cast<int>(all.size());
    const bool last = at == split.head_at;
    all.push_back({.embedding = at == 0, .head = last, .layers = depth, .mtp_modules = last ? a.mtp_layers : 0});
  }
  return all;
}

}  // namespace

bool is_balanced(const Architecture& a, int stages, SplitRule rule) {
  if (rule != SplitRule::balanced || stages <= 1) return false;
  const int left_over = static_cast<int>(a.depth()) % stages;
  return a.mtp_layers > 0 || (left_over != 0 && left_over < stages - 2);
}

std::vector<StageContent> stage_contents(const Architecture& a, int stages, SplitRule rule, std::int64_t sequence) {
  std::vector<StageContent> contents;
  std::size_t layer = 0;
  for (const StageShare& share : shares(a, stages, rule, sequence)) {
    StageContent s{.layers = std::vector<int>(a.kinds.size(), 0),
                   .embedding = share.embedding,
                   .head = share.head,
                   .mtp = share.mtp_modules,
                   .first_rank = static_cast<int>(contents.size())};
    for (int n = 0; n < share.layers; ++n) ++s.layers[a.layers[layer++]];
    contents.push_back(std::move(s));
  }
  return contents;
}

std::vector<StageContent> split_layers(const Architecture& a, Schedule schedule, int pp, int vpp, SplitRule rule,
                                       std::int64_t sequence) {
  const Placement place = placement_of(schedule, pp, vpp);
  return rank_contents(place, stage_contents(a, place.depth, rule, sequence));
}

std::vector<StageContent> rank_contents(const Placement& place, std::span<const StageContent> of_stage) {
  std::vector<StageContent> ranks;
  const int pp = static_cast<int>(place.stage_of.size()) / place.chunks;
  for (int r = 0; r < pp; ++r) {
    StageContent s{.layers = std::vector<int>(of_stage.front().layers.size(), 0),
                   .share = static_cast<double>(place.depth) / (pp * place.chunks),
                   .first_rank = r};
    for (int c = 0; c < place.chunks; ++c) {
      const int stage = place.stage_of[static_cast<std::size_t>(r * place.chunks + c)] % place.depth;
      const StageContent& chunk = of_stage[static_cast<std::size_t>(stage)];
      for (std::size_t k = 0; k < s.layers.size(); ++k) s.layers[k] += chunk.layers[k];
      s.embedding |= chunk.embedding;
      s.head |= chunk.head;
      s.mtp += chunk.mtp;
    }
    if (!ranks.empty() && ranks.back().layers == s.layers && ranks.back().embedding == s.embedding &&
        ranks.back().head == s.head && ranks.back().mtp == s.mtp) {
      ++ranks.back().ranks;
    } else {
      ranks.push_back(std::move(s));
    }
  }
  return ranks;
}

}  // namespace napkin
