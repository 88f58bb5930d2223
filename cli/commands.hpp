// Registers every command, in the order that help lists them.
#pragma once

#include "cli/command.hpp"

namespace napkin::cli {
void add_commands(CLI::App& app, Session& session);
}
