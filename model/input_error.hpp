// The user's data is wrong: one line that says where, what was found and what to write. Caught once, in main.
#pragma once

#include <stdexcept>
#include <string>

namespace napkin {

class InputError : public std::runtime_error {
 public:
  explicit InputError(const std::string& line) : std::runtime_error(line) {}
};

}  // namespace napkin
