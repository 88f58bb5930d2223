// What makes a layout valid: the frameworks' real constraints, each with its name and source. A rule is checked as soon
// as the axes it needs are known; a checker may apply all of them to a whole layout.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/search/space.hpp"

namespace napkin {

struct Rule {
  std::string_view name, source;
  LayoutAxis needs;  // the last axis it looks at
  bool (*keeps)(const Job&, const Layout&);
};

[[nodiscard]] std::span<const Rule> rules();

// The first rule that a whole layout breaks.
[[nodiscard]] const Rule* broken_rule(const Job& job, const Layout& l);
// The invariant with its numbers and one layout value that would satisfy it: "layers 80 divide by pp 48 × vpp 1; ...".
[[nodiscard]] std::string explain_broken(const Rule& rule, const Job& job, const Layout& l);

}  // namespace napkin
