// Registers every command that cli/CMakeLists.txt lists, in that order (the definition is generated from the list).
#pragma once

#include "cli/command.hpp"

namespace napkin::cli {
void add_commands(CLI::App& app, Session& session);
}
