#include "cli/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cli/derivation_steps.hpp"
#include "cli/table.hpp"

namespace napkin::cli {
namespace {

constexpr std::size_t page_width = 110;
constexpr std::size_t least_name_width = 6;

// Breaks a formula into lines of at most `width`, between the terms of the outermost sum where that fills half a line.
std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    std::size_t cut = text.size();
    if (display_width(text.substr(0, 4 * width)) > width) {
      const std::string_view fitting = text.substr(0, width + 1);
      const std::size_t wide = fitting.rfind(wide_break);
      const std::size_t narrow = fitting.rfind(narrow_break);
      cut = wide != fitting.npos && wide >= width / 2 ? wide : narrow;
      if (cut == fitting.npos) cut = wide;
      if (cut == fitting.npos) cut = text.find_first_of(std::string{wide_break, narrow_break});
      if (cut == text.npos) cut = text.size();
    }
    lines.push_back(without_breaks(std::string(text.substr(0, cut))));
    text.remove_prefix(std::min(text.size(), cut + 1));
  }
  return lines;
}

std::string pad(std::string_view text, std::size_t width) {
  std::string s(text);
  s.append(width - std::min(width, display_width(text)), ' ');
  return s;
}

// Lines of a block: text, and a source in a column of its own.
class Block {
  struct Line {
    std::string text, source;
  };
  std::vector<Line> lines_;
  std::size_t name_width_;

 public:
  explicit Block(std::size_t name_width) : name_width_(std::max(name_width, least_name_width)) {}

  void add(std::string_view name, const std::vector<std::string>& expression, const std::string& source = {}) {
    for (std::size_t i = 0; i < expression.size(); ++i) {
      const bool first = i == 0;
      lines_.push_back({fmt::format("{} {} {}", pad(first ? name : "", name_width_), first ? '=' : ' ', expression[i]),
                        first ? source : ""});
    }
  }
  void add_note(std::string_view text) { lines_.push_back({fmt::format("{} # {}", pad("", name_width_), text), ""}); }
  [[nodiscard]] std::size_t expression_width() const { return page_width - std::min(page_width / 2, name_width_ + 3); }

  void print_to(std::string& out) const {
    std::size_t column = 0;
    for (const Line& line : lines_)
      if (!line.source.empty()) column = std::max(column, display_width(line.text) + 2);
    for (const Line& line : lines_)
      out += (line.source.empty() ? line.text : fmt::format("{}[{}]", pad(line.text, column), line.source)) + '\n';
  }
};

std::string si_unit(Dim dim) {
  if (dim == Dim{.second = -1, .joule = 1}) return "W";
  static constexpr std::array<std::string_view, 4> symbols{"B", "FLOP", "J", "s"};
  const std::array<int, 4> powers{dim.byte, dim.flop, dim.joule, dim.second};
  std::string above, below;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    if (powers[i] == 0) continue;
    std::string& side = powers[i] > 0 ? above : below;
    if (powers[i] < 0) side += '/';
    if (powers[i] > 0 && !side.empty()) side += '*';
    side += symbols[i];
    if (std::abs(powers[i]) > 1) side += fmt::format("^{}", std::abs(powers[i]));
  }
  return above.empty() && !below.empty() ? '1' + below : above + below;
}

}  // namespace

std::string explain(std::span<const Node* const> roots) {
  const std::vector<Step> steps = derivation_steps(roots);
  std::vector<bool> printed(steps.size(), false);
  std::string out;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    if (printed[i]) continue;
    std::vector<std::size_t> fresh;
    std::size_t name_width = display_width(step.name);
    for (const std::size_t used : step.uses)
      if (steps[used].input && !printed[used]) {
        fresh.push_back(used);
        name_width = std::max(name_width, display_width(steps[used].name));
      }
    fresh.push_back(i);

    Block block(name_width);
    for (const std::size_t k : fresh) {
      const Step& s = steps[k];
      printed[k] = true;
      if (s.input) {
        block.add(s.name, {s.result}, s.source);
        continue;
      }
      block.add(s.name, wrap(s.formula, block.expression_width()), s.source);
      if (s.numbers != s.result) block.add("", wrap(s.numbers, block.expression_width()));
      block.add("", {s.result});
      for (const std::string& note : s.notes) block.add_note(note);
    }
    if (!out.empty()) out += '\n';
    block.print_to(out);
  }
  return out;
}

std::string explain(const Node* root) { return explain({&root, 1}); }

nlohmann::ordered_json explain_json(std::span<const Node* const> roots) {
  const std::vector<Step> steps = derivation_steps(roots);
  auto list = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    nlohmann::ordered_json entry{{"id", i}, {"name", step.name}, {"kind", step.input ? "input" : "step"}};
    if (!step.input) {
      entry["formula"] = without_breaks(step.formula);
      entry["substituted"] = without_breaks(step.numbers);
    }
    entry["value"] = step.value;
    entry["unit"] = si_unit(step.dim);
    entry["source"] = step.source;
    if (!step.notes.empty()) entry["notes"] = step.notes;
    if (!step.input) entry["uses"] = step.uses;
    list.push_back(std::move(entry));
  }
  return list;
}

nlohmann::ordered_json explain_json(const Node* root) { return explain_json({&root, 1}); }

}  // namespace napkin::cli
