// Launch targets from model/frameworks/launch/*.json (compiled in) or a file.
#pragma once

#include <string>
#include <vector>

#include "model/launch/target.hpp"

namespace napkin::launch {

// A name or alias of a shipped target ("megatron-lm", "megatron-args"), or the path of a file. Unknown names are refused
// with the closest one; facts, rules and formats that are not known are errors of the file.
[[nodiscard]] Target read_target(const std::string& what);
[[nodiscard]] std::vector<std::string> target_names();

}  // namespace napkin::launch
