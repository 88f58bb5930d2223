// The text of a configuration's files.
#pragma once

#include <string>

#include "model/launch/emit.hpp"

namespace napkin::launch {

// `file` is an index of target.files. Ends with a newline. Settings that are nothing are left out where the format has
// no word for it.
[[nodiscard]] std::string file_text(const Emission& emission, const Target& target, std::size_t file, const Facts& facts);

// One value as the format writes it.
[[nodiscard]] std::string spelling(const Value& v, Format format);

}  // namespace napkin::launch
