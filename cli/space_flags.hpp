// Options that limit the layout space of a search.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "model/search/space.hpp"

namespace napkin::cli {

struct SpaceFlags {
  std::vector<std::string> require, forbid;  // "tp=8", "pp=2,4", "recompute=full"
  std::map<std::string, std::int64_t> at_most;
};

void add_space_options(CLI::App& command, SpaceFlags& flags);
// InputError on an unknown axis or value.
[[nodiscard]] Space read_space(const SpaceFlags& flags);

}  // namespace napkin::cli
