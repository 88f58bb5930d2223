// A training log → a run record (DESIGN §4): sizes and layout from what the program printed of its arguments, times and
// memory from its step lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace napkin::validation {

struct LogRun {
  std::string record;              // JSON object; what the log does not say is absent
  std::size_t steps = 0;           // step lines read; the first ones (compilation, warm-up) are not measured
  std::vector<std::string> notes;  // what was dropped or taken for granted
};

// InputError when no step line of a known framework is found.
[[nodiscard]] LogRun read_log(std::string_view text, const std::string& name);

}  // namespace napkin::validation
