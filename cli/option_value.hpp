// Options that are quantities: the text is read once, and what is wrong with it is said with the option's name.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

#include "model/input_error.hpp"

namespace napkin::cli {

// read(text), as the readers of model/input/number_input.hpp; their complaint becomes "--bytes: ...".
template <class Read>
auto option_value(const char* option, const std::string& text, Read read) {
  try {
    return read(text);
  } catch (const std::invalid_argument& e) {
    throw InputError(fmt::format("{}: {}", option, e.what()));
  }
}

}  // namespace napkin::cli
