// Tables for papers: booktabs, with every character that LaTeX takes for its own escaped.
#include <algorithm>
#include <array>
#include <utility>

#include "cli/html_page.hpp"
#include "cli/table.hpp"

namespace napkin::cli {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 40> spellings{{
    {"\\", "\\textbackslash{}"}, {"{", "\\{"}, {"}", "\\}"}, {"$", "\\$"}, {"&", "\\&"}, {"#", "\\#"}, {"%", "\\%"}, {"_", "\\_"},
    {"^", "\\textasciicircum{}"}, {"~", "\\textasciitilde{}"}, {"<", "$<$"}, {">", "$>$"}, {"|", "$|$"}, {"\"", "''"},
    {"\n", " "}, {"\r", " "}, {"\t", " "},
    {"×", "$\\times$"}, {"·", "$\\cdot$"}, {"±", "$\\pm$"}, {"−", "$-$"}, {"≤", "$\\le$"}, {"≥", "$\\ge$"}, {"≈", "$\\approx$"},
    {"→", "$\\rightarrow$"}, {"←", "$\\leftarrow$"}, {"∞", "$\\infty$"}, {"√", "$\\sqrt{}$"}, {"Σ", "$\\Sigma$"}, {"Δ", "$\\Delta$"},
    {"α", "$\\alpha$"}, {"β", "$\\beta$"}, {"σ", "$\\sigma$"}, {"µ", "$\\mu$"}, {"μ", "$\\mu$"}, {"²", "$^2$"}, {"³", "$^3$"},
    {"…", "\\ldots{}"}, {"½", "$\\frac12$"}, {"–", "--"},
}};

std::string escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto at = std::find_if(spellings.begin(), spellings.end(), [&](const auto& s) { return text.starts_with(s.first); });
    if (at != spellings.end()) {
      out += at->second;
      text.remove_prefix(at->first.size());
    } else {
      out += text.front();
      text.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace

std::string latex_table(const Table& table) {
  std::string out, columns;
  for (const auto& c : table.columns) columns += c.right ? 'r' : 'l';
  const auto line = [&](const auto& text_of) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) out += (c == 0 ? "" : " & ") + escaped(text_of(c));
    out += " \\\\\n";
  };
  if (!table.title.empty()) out += "% " + escaped(table.title) + '\n';
  out += "\\begin{tabular}{" + columns + "}\n\\toprule\n";
  line([&](std::size_t c) { return std::string_view(table.columns[c].title); });
  out += "\\midrule\n";
  for (const auto& row : table.rows) line([&](std::size_t c) { return c < row.size() ? std::string_view(row[c]) : std::string_view(); });
  out += "\\bottomrule\n\\end{tabular}\n";
  for (const std::string& note : table.notes) out += "\\par\\noindent " + escaped(note) + '\n';
  return html_fragment(out);
}

std::string latex_page(std::string_view answer) {
  std::string out;
  while (!answer.empty()) {
    const auto begin = std::min(answer.find(fragment_begin), answer.size());
    std::string_view plain = answer.substr(0, begin);
    while (plain.starts_with('\n')) plain.remove_prefix(1);
    while (plain.ends_with('\n')) plain.remove_suffix(1);
    if (!out.empty() && begin < answer.size()) out += '\n';
    if (!plain.empty()) out += "\\begin{verbatim}\n" + std::string(plain) + "\n\\end{verbatim}\n";
    answer.remove_prefix(begin);
    if (answer.empty()) break;
    const auto end = std::min(answer.find(fragment_end), answer.size());
    out += answer.substr(1, end - 1);
    answer.remove_prefix(std::min(end + 1, answer.size()));
  }
  return out;
}

}  // namespace napkin::cli
