// A table of text cells, rendered as a terminal table, Markdown or CSV. JSON is each command's own (nlohmann).
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace napkin::cli {

struct Table {
  struct Column {
    std::string title;
    bool right = true;  // numbers to the right, words to the left
  };
  std::string title;                          // printed above (table, md); empty = none
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> notes;             // printed below (table, md)
};

[[nodiscard]] std::string render(const Table& table, OutputFormat format);

}  // namespace napkin::cli
