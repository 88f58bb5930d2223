#include "model/search/advice.hpp"

#include <array>
#include <utility>

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

std::string_view dominant_term(const StageMemory<Plain>& m) {
  const std::array<std::pair<std::string_view, Bytes>, 7> terms{{{"parameters", m.parameters},
                                                                 {"gradients", m.gradients},
                                                                 {"optimizer states", m.optimizer},
                                                                 {"activations", m.activations},
                                                                 {"logits and loss", m.logits},
                                                                 {"transient", m.transient},
                                                                 {"context and communicators", m.overhead}}};
  std::size_t most = 0;
  for (std::size_t i = 1; i < terms.size(); ++i)
    if (terms[i].second > terms[most].second) most = i;
  return terms[most].first;
}

}  // namespace napkin
