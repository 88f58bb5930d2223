// The tree behind Document and Field, for the files of this folder.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/input/document_input.hpp"

namespace napkin {

struct Value {
  Field::Type type = Field::Type::null;
  bool truth = false;
  bool integral = false;     // the number was written without fraction or exponent and fits int64
  std::int64_t integer = 0;
  double number = 0;
  std::string text{};
  std::size_t line = 0;
  std::vector<std::pair<std::string, Value>> members{};
  std::vector<Value> elements{};
};

struct Document::Impl {
  std::string name;
  Value root;
};

// "file:line"
[[nodiscard]] std::string location(const std::string& name, std::size_t line);
// The JSON text of a value; NaN and the infinities as the literals they were.
[[nodiscard]] std::string text_of(const Value& v);

}  // namespace napkin
