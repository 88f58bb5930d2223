// The settings that stand in a launch configuration, in any of the formats it is written in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/launch/target.hpp"

namespace napkin::launch {

struct Found {
  std::string key;       // dotted, or with its dashes
  Value value;           // arguments: the list of words behind the key
  std::size_t line = 0;
};

// InputError with file and line where the text is not of the format. YAML and TOML: what configurations use of them, that
// is mappings and tables, lists, plain and quoted scalars, comments; anchors, tags and multi-line text are refused.
// A line of a Python file counts when it is "NAME.key = literal". Shell variables that the text itself sets are replaced.
[[nodiscard]] std::vector<Found> read_configuration(std::string_view text, const std::string& name, Format format);

// One reader a format.
[[nodiscard]] std::vector<Found> read_arguments(std::string_view text, const std::string& name);
[[nodiscard]] std::vector<Found> read_yaml(std::string_view text, const std::string& name);
[[nodiscard]] std::vector<Found> read_toml(std::string_view text, const std::string& name);
[[nodiscard]] std::vector<Found> read_python(std::string_view text, const std::string& name);

// A scalar or a bracketed list at the front of `text`, which it takes off; `text` may span lines. Words that are neither
// quoted, numbers nor truth values: text (YAML), code (Python), refused (TOML).
[[nodiscard]] Value take_value(std::string_view& text, Format format, const std::string& place);
// A bare word as the value it spells.
[[nodiscard]] Value typed(std::string_view word);

}  // namespace napkin::launch
