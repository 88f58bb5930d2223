#include "model/step/split.hpp"

#include <algorithm>
#include <numeric>

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

std::vector<StageContent> split_layers(const Architecture& a, int pp, int vpp) {
  const int chunks = pp * vpp;
  const std::vector<int> depth = chunk_depths(static_cast<std::int64_t>(a.depth()), chunks);
  std::vector<std::size_t> begin(depth.size() + 1, 0);
  for (std::size_t c = 0; c < depth.size(); ++c) begin[c + 1] = begin[c] + static_cast<std::size_t>(depth[c]);

  std::vector<StageContent> stages;
  for (int r = 0; r < pp; ++r) {
    StageContent s{.layers = std::vector<int>(a.kinds.size(), 0),
                   .embedding = r == 0,
                   .head = r == pp - 1,
                   .mtp = r == pp - 1 ? a.mtp_layers : 0,
                   .first_rank = r,
                   .ranks = 1};
    for (int c = r; c < chunks; c += pp) {
      const auto i = static_cast<std::size_t>(c);
      for (std::size_t l = begin[i]; l < begin[i + 1]; ++l) ++s.layers[a.layers[l]];
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
