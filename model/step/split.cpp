#include "model/step/split.hpp"

#include <algorithm>
#include <numeric>

#include "model/transformer/parameters.hpp"

namespace napkin {

int StageContent::depth() const { return std::accumulate(layers.begin(), layers.end(), 0); }

std::vector<int> chunk_depths(std::int64_t layers, int chunks) {
  std::vector<int> depth(static_cast<std::size_t>(chunks), static_cast<int>(layers / chunks));
  std::int64_t rest = layers % chunks;
  const auto give = [&](int c) {
    if (rest == 0) return;
    ++depth[static_cast<std::size_t>(c)];
    --rest;
  };
  for (int c = 1; c + 1 < chunks; ++c) give(c);
  give(0);
  give(chunks - 1);
  return depth;
}

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

bool folds(Schedule s) { return s == Schedule::zb_v || s == Schedule::dualpipe_v; }

std::vector<StageContent> split_layers(const Architecture& a, int pp, int vpp, SplitRule rule, bool fold) {
  const int chunks = pp * vpp;
  int head_at = chunks - 1;
  std::vector<int> depth;
  if (rule == SplitRule::by_cost && chunks > 1) {
    const CostSplit by_cost = split_by_cost(a, chunks);
    depth = by_cost.depths;
    head_at = by_cost.head_at;
  } else {
    depth = chunk_depths(static_cast<std::int64_t>(a.depth()), chunks);
  }
  std::vector<std::size_t> begin(depth.size() + 1, 0);
  for (std::size_t c = 0; c < depth.size(); ++c) begin[c + 1] = begin[c] + static_cast<std::size_t>(depth[c]);

  std::vector<StageContent> stages;
  for (int r = 0; r < pp; ++r) {
    StageContent s{.layers = std::vector<int>(a.kinds.size(), 0), .first_rank = r, .ranks = 1};
    for (int v = 0; v < vpp; ++v) {
      const int c = fold && v % 2 == 1 ? (v + 1) * pp - 1 - r : v * pp + r;
      const auto i = static_cast<std::size_t>(c);
      for (std::size_t l = begin[i]; l < begin[i + 1]; ++l) ++s.layers[a.layers[l]];
      if (c == 0) s.embedding = true;
      if (c == head_at) {
        s.head = true;
        s.mtp = a.mtp_layers;
      }
    }
    if (!stages.empty() && stages.back().layers == s.layers && stages.back().embedding == s.embedding &&
        stages.back().head == s.head) {
      ++stages.back().ranks;
    } else {
      stages.push_back(std::move(s));
    }
  }
  return stages;
}

}  // namespace napkin
