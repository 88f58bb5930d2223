// Predicted against measured by group, as check and fit show it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "calibrate/samples/check.hpp"
#include "cli/table.hpp"

namespace napkin::cli {

[[nodiscard]] nlohmann::ordered_json comparison_groups(const fit::CheckReport& report);  // an array
// Without notes of its own but what an error is, and what was not compared.
[[nodiscard]] Table comparison_table(std::string title, const fit::CheckReport& report, OutputFormat format);

}  // namespace napkin::cli
