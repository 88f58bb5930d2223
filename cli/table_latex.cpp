// Tables for papers: booktabs, with every character that LaTeX takes for its own escaped.
#include <algorithm>
#include <array>
#include <utility>

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
  return out;
}

std::string verbatim(const std::string& text, OutputFormat format) {
  return format == OutputFormat::latex ? "\\begin{verbatim}\n" + text + "\\end{verbatim}\n" : text;
}

}  // namespace napkin::cli
