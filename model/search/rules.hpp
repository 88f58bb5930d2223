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

// The rules that a search keeps: rules() and, behind them, what the release of the job's framework could not run. These
// drop layouts from a search only: a run that was measured has shown that it could.
class RuleSet {
 public:
  explicit RuleSet(const Job& job);
  [[nodiscard]] std::size_t size() const { return rules().size() + lacks_.size(); }
  [[nodiscard]] std::string_view name(std::size_t r) const;
  [[nodiscard]] std::string_view source(std::size_t r) const;
  [[nodiscard]] LayoutAxis needs(std::size_t r) const;
  [[nodiscard]] bool keeps(std::size_t r, const Job& job, const Layout& l) const;

 private:
  struct Range {
    LayoutAxis axis{};
    std::int64_t least = 0, most = 0;
  };
  struct Missing {
    const Lack* lack = nullptr;  // of the job's profile
    LayoutAxis needs{};
    std::vector<Range> uses;
  };
  std::vector<Missing> lacks_;
};

// The first rule that a whole layout breaks.
[[nodiscard]] const Rule* broken_rule(const Job& job, const Layout& l);
// The invariant with its numbers and one layout value that would satisfy it: "layers 80 divide by pp 48 × vpp 1; ...".
[[nodiscard]] std::string explain_broken(const Rule& rule, const Job& job, const Layout& l);

}  // namespace napkin
