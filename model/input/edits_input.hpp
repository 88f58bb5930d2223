// Constants of data files changed on the way in: fits, sensitivities and what-if questions read a changed file through the
// same modules as the file itself.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "model/input/document_input.hpp"

namespace napkin {

// The number of a constant as its file writes it: "5 us" is {5, "us"}, a share has no unit.
struct WrittenNumber {
  double number = 0;
  std::string unit;
};

// "h100-sxm#/memory/bandwidth" (Constant::place) → its file's name and the JSON pointer in it; InputError without '#'.
[[nodiscard]] std::pair<std::string, std::string> split_place(std::string_view place);
// What stands at a pointer, the "value" of a group of its own included. InputError where there is no number.
[[nodiscard]] WrittenNumber written_number(const Document& d, std::string_view pointer);

// Numbers by place. Copied freely; a few dozen at most.
class Edits {
  std::map<std::string, std::map<std::string, double>, std::less<>> by_file_;

 public:
  // `number` in the unit the file writes.
  void set(std::string_view place, double number);
  [[nodiscard]] bool empty() const { return by_file_.empty(); }
  // `d` itself where nothing concerns it. InputError for a pointer that holds no number.
  [[nodiscard]] Document apply(const Document& d) const;
};

}  // namespace napkin
