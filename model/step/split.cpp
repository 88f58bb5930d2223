#include "model/step/split.hpp"

#include <numeric>

#include "model/pipeline/schedule.hpp"
#include "model/pipeline/split.hpp"

namespace napkin {

int StageContent::depth() const { return std::accumulate(layers.begin(), layers.end(), 0); }

std::vector<StageContent> stage_contents(const Architecture& a, int stages) {
  std::vector<StageContent> contents;
  std::size_t layer = 0;
  for (const int depth : even_depths(static_cast<std::int64_t>(a.depth()), stages)) {
    const int at = static_cast<int>(contents.size());
    const bool last = at + 1 == stages;
    StageContent s{.layers = std::vector<int>(a.kinds.size(), 0),
                   .embedding = at == 0,
                   .head = last,
                   .mtp = last ? a.mtp_layers : 0,
                   .first_rank = at};
    for (int n = 0; n < depth; ++n) ++s.layers[a.layers[layer++]];
    contents.push_back(std::move(s));
  }
  return contents;
}

std::vector<StageContent> split_layers(const Architecture& a, Schedule schedule, int pp, int vpp) {
  const Placement place = placement_of(schedule, pp, vpp);
  const std::vector<StageContent> of_stage = stage_contents(a, place.depth);
  std::vector<StageContent> ranks;
  for (int r = 0; r < pp; ++r) {
    StageContent s{.layers = std::vector<int>(a.kinds.size(), 0),
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
        ranks.back().head == s.head) {
      ++ranks.back().ranks;
    } else {
      ranks.push_back(std::move(s));
    }
  }
  return ranks;
}

}  // namespace napkin
