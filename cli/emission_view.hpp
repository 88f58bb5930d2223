// A launch configuration as an answer.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/table.hpp"
#include "model/launch/emit.hpp"
#include "model/run/run_input.hpp"

namespace napkin::cli {

struct EmissionOutput {
  std::string path;  // of the first file, the others beside it; empty: standard output
  std::string part;  // one file by name; empty: all
};

// Prints or writes the files, and on stderr what was checked and what cannot be said. 0, or 1 when the layout cannot be
// expressed: then no file is written. InputError: a part that is not there, a path that cannot be written.
[[nodiscard]] int give(const launch::Emission& emission, const launch::Target& target, const launch::Facts& facts,
                       const EmissionOutput& output);
[[nodiscard]] nlohmann::ordered_json emission_json(const launch::Emission& emission, const launch::Target& target,
                                                   const launch::Facts& facts, const RunRequest& request, const Run& run);
// The targets and what each is written as.
[[nodiscard]] Table targets_table();

}  // namespace napkin::cli
