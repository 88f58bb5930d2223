#include "model/places.hpp"

#include <unordered_set>
#include <vector>

namespace napkin {

std::set<std::string> places_under(std::span<const Node* const> roots) {
  std::set<std::string> places;
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> open(roots.begin(), roots.end());
  while (!open.empty()) {
    const Node* n = open.back();
    open.pop_back();
    if (n == nullptr || !seen.insert(n).second) continue;
    if (n->op == Op::input) {
      const std::string_view source = n->source;
      if (const auto at = source.find("#/"); at != source.npos && at > 0 && !source.starts_with("record#"))
        places.emplace(source.substr(0, source.find(' ')));
      continue;
    }
    open.push_back(n->a.node);
    open.push_back(n->b.node);
  }
  return places;
}

}  // namespace napkin
