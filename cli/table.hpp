// A table of text cells, rendered as a terminal table, Markdown, CSV, HTML or LaTeX. JSON is each command's own (nlohmann).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace napkin::cli {

enum class OutputFormat : std::uint8_t { table, md, csv, json, html, latex };

// Formats in which an answer comes with everything: assumptions, plots, what a table leaves out.
[[nodiscard]] constexpr bool in_full(OutputFormat f) { return f == OutputFormat::table || f == OutputFormat::html; }

struct Table {
  struct Column {
    std::string title;
    bool right = true;  // numbers to the right, words to the left
  };
  std::string title;                          // printed above (not csv); empty = none
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // a short row is filled with empty cells
  std::vector<std::string> notes;             // printed below (not csv)
};

// Ends with a newline; HTML and LaTeX are fragments of the page that print() makes (cli/html_page.hpp). `json` is the caller's business: std::logic_error.
[[nodiscard]] std::string render(const Table& table, OutputFormat format);

// A table of the booktabs package, its text escaped; the title is a comment above it, notes are paragraphs below.
[[nodiscard]] std::string latex_table(const Table& table);
// What a command printed: tables as they are, text between them in verbatim environments.
[[nodiscard]] std::string latex_page(std::string_view answer);

// Columns that UTF-8 text takes on a terminal: combining marks take none, East Asian wide characters and emoji two.
[[nodiscard]] std::size_t display_width(std::string_view text);

}  // namespace napkin::cli
