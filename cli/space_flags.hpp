// Options that limit or open the layout space of a search.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "model/search/space.hpp"

namespace napkin::cli {

struct SpaceFlags {
  std::string space = "default";             // or "full"
  std::vector<std::string> vary;             // optional axes
  std::vector<std::string> require, forbid;  // "tp=8", "pp=2,4", "recompute=full"
  std::vector<std::string> limit;            // "pp<=8", "dp>=2"
  std::map<std::string, std::int64_t> at_most;
};

void add_space_options(CLI::App& command, SpaceFlags& flags);
// InputError on an unknown axis or value. An optional axis that is limited is searched.
[[nodiscard]] Space read_space(const SpaceFlags& flags);
// A value as the options take it.
[[nodiscard]] std::string axis_value(LayoutAxis axis, std::int64_t value);

}  // namespace napkin::cli
