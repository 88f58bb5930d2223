// The subcommands of `napkin calibrate`: one file each.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"
#include "model/kernel/kernel.hpp"

namespace napkin::cli {

void add_calibrate(CLI::App& app, Session& session);

void add_calibrate_fit(CLI::App& calibrate, Session& session);
void add_calibrate_check(CLI::App& calibrate, Session& session);
void add_calibrate_import(CLI::App& calibrate, Session& session);

// "20%" or "0.2" → 0.2; from 0 up to, not including, 1.
[[nodiscard]] double share_of(const char* option, const std::string& text);
// InputError when writing `path` would overwrite an input, or the file could not be named: a folder, a built-in name.
void refuse_output(const char* option, const std::string& path, const std::vector<std::string>& inputs);
// "sustained" or "burst".
[[nodiscard]] Regime regime_of(const std::string& text);
void add_calibrate_measure(CLI::App& calibrate, Session& session);

}  // namespace napkin::cli
