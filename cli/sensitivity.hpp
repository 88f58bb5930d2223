// What a step hangs on: elasticities and upgrades, as tables and JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/sweep_study.hpp"
#include "cli/table.hpp"

namespace napkin::cli {

// Of the study's only point. `top` constants are shown and, unless the layout is fixed, searched again; JSON has all of
// them. Exit code 1 when nothing fits.
void print_sensitivity(const Study& study, std::size_t top, const Executor& executor, OutputFormat format,
                       Session& session);

}  // namespace napkin::cli
