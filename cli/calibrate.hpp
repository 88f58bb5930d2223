// The commands below `napkin calibrate`: one file each.
#pragma once

#include "cli/command.hpp"

namespace napkin::cli {

void add_calibrate(CLI::App& app, Session& session);
void add_calibrate_measure(CLI::App& calibrate, Session& session);

}  // namespace napkin::cli
