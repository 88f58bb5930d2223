#include "model/search/advice.hpp"

#include <algorithm>
#include <array>

namespace napkin {

std::vector<Remedy> remedies(const Problem& problem, const Executor& executor, int doublings) {
  std::vector<Remedy> found;
  const auto first = [&](Remedy::Kind kind, auto change) {
    Problem p = problem;
    p.keep = 1;
    for (int i = 0; i < doublings; ++i) {
      const std::int64_t value = change(p.job);
      if (value == 0) return;
      const Outcome o = search(p, executor);
      if (o.best.empty()) continue;
      found.push_back({.kind = kind, .value = value, .layout = o.best.front()});
      return;
    }
  };
  first(Remedy::Kind::more_gpus, [](Job& j) { return j.gpus *= 2; });
  first(Remedy::Kind::shorter_sequence, [](Job& j) -> std::int64_t {
    return j.sequence % 2 == 0 && j.sequence > 2 ? j.sequence /= 2 : 0;
  });
  return found;
}

LargestTerm largest_term(const StageMemory<Plain>& m) {
  const std::array<LargestTerm, 7> terms{{{"parameters", m.parameters},
                                          {"gradients", m.gradients},
                                          {"optimizer states", m.optimizer},
                                          {"activations", m.activations},
                                          {"logits and loss", m.logits},
                                          {"transient", m.transient},
                                          {"context and communicators", m.overhead}}};
  return *std::max_element(terms.begin(), terms.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
}

std::string_view dominant_term(const StageMemory<Plain>& m) { return largest_term(m).name; }

}  // namespace napkin
