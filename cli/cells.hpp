// Cells of a table: units for people, bare SI numbers for CSV.
#pragma once

#include <fmt/format.h>

#include <string>

#include "cli/table.hpp"
#include "model/text.hpp"

namespace napkin::cli {

class Cells {
  bool si_;
  [[nodiscard]] static std::string bare(double v) { return fmt::format("{:.9g}", v); }

 public:
  explicit Cells(OutputFormat format) : si_(format == OutputFormat::csv) {}
  [[nodiscard]] std::string time(Seconds t) const { return si_ ? bare(t.si()) : format(t); }
  [[nodiscard]] std::string gib(Bytes b) const { return si_ ? bare(b.si()) : format_gib(b); }
  [[nodiscard]] std::string share(double v) const { return si_ ? bare(v) : fmt::format("{:.1f} %", 100 * v); }
  // What `people` reads as the bare number of a column; nothing known: "-", or an empty cell.
  [[nodiscard]] std::string number(double v, std::string people) const { return si_ ? bare(v) : std::move(people); }
  [[nodiscard]] std::string none() const { return si_ ? "" : "-"; }
  // A heading: in words for people, a key with its unit for CSV.
  [[nodiscard]] std::string title(const char* words, const char* key) const { return si_ ? key : words; }
};

}  // namespace napkin::cli
