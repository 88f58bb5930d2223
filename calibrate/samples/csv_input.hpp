// CSV files whose first line names the columns; cells may be quoted.
#pragma once

#include <istream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace napkin::fit {

class CsvTable {
  std::unique_ptr<std::istream> in_;
  std::string path_;
  std::map<std::string, std::size_t> column_;
  std::vector<std::string> cells_;
  std::size_t line_ = 1;

 public:
  // InputError when the file cannot be read or is empty.
  explicit CsvTable(const std::string& path);
  // Text instead of a file; `line` is that of the header within `name`.
  CsvTable(const std::string& name, std::string_view text, std::size_t line = 1);
  bool next();  // empty lines are skipped
  [[nodiscard]] bool has(const std::string& name) const { return column_.contains(name); }
  [[nodiscard]] std::vector<std::string> columns() const;
  // Cell of a column; a missing column or cell is an InputError. Empty cells read as "".
  [[nodiscard]] const std::string& text(const std::string& name) const;
  [[nodiscard]] double positive(const std::string& name) const;  // a number above zero, thousands separators allowed
  [[nodiscard]] std::string place() const { return path_ + ":" + std::to_string(line_); }
  [[noreturn]] void fail(const std::string& message) const;      // "path:line: message"
};

// "a,"b ""c"" d",e" → a | b "c" d | e
[[nodiscard]] std::vector<std::string> split_csv(std::string_view line);

}  // namespace napkin::fit
