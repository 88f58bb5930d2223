#include "calibrate/samples/csv_input.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include "model/input/document_input.hpp"

namespace napkin::fit {
namespace {

bool read_line(std::istream& in, std::string& line) {
  if (!std::getline(in, line)) return false;
  if (line.ends_with('\r')) line.pop_back();
  return true;
}

}  // namespace

std::vector<std::string> split_csv(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += c;
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

CsvTable::CsvTable(const std::string& path) : in_(std::make_unique<std::ifstream>(path)), path_(path) {
  std::string header;
  if (!read_line(*in_, header)) throw InputError(path + ": cannot be read, or is empty");
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  cells_ = split_csv(header.starts_with(mark) ? std::string_view(header).substr(mark.size()) : header);
  for (std::size_t i = 0; i < cells_.size(); ++i) column_[cells_[i]] = i;
}

CsvTable::CsvTable(const std::string& name, std::string_view text, std::size_t line)
    : in_(std::make_unique<std::istringstream>(std::string(text))), path_(name), line_(line) {
  std::string header;
  if (!read_line(*in_, header)) throw InputError(name + ": is empty");
  cells_ = split_csv(header);
  for (std::size_t i = 0; i < cells_.size(); ++i) column_[cells_[i]] = i;
}

bool CsvTable::next() {
  std::string line;
  do {
    if (!read_line(*in_, line)) return false;
    ++line_;
  } while (line.empty());
  cells_ = split_csv(line);
  return true;
}

std::vector<std::string> CsvTable::columns() const {
  std::vector<std::string> out(column_.size());
  for (const auto& [name, i] : column_)
    if (i < out.size()) out[i] = name;
  return out;
}

void CsvTable::fail(const std::string& message) const {
  throw InputError(path_ + ":" + std::to_string(line_) + ": " + message);
}

const std::string& CsvTable::text(const std::string& name) const {
  const auto at = column_.find(name);
  if (at == column_.end()) throw InputError(path_ + ": has no column \"" + name + "\"");
  if (at->second >= cells_.size()) fail("ends before column \"" + name + "\"");
  return cells_[at->second];
}

double CsvTable::positive(const std::string& name) const {
  const auto& cell = text(name);
  std::string bare = cell;
  std::erase(bare, ',');
  double v = 0;
  const auto [end, error] = std::from_chars(bare.data(), bare.data() + bare.size(), v);
  if (error != std::errc{} || end != bare.data() + bare.size() || !(v > 0) || v > 1e300)
    fail(name + " is \"" + one_line(cell, 40) + "\"; write a number above zero");
  return v;
}

}  // namespace napkin::fit
