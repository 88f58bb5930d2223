// Predicted against measured: as tables, worst first, and as JSON (keys: docs/json.md).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/table.hpp"
#include "model/validation/summary.hpp"

namespace napkin::cli {

// Errors by metric over all rows.
[[nodiscard]] Table metric_table(const validation::Summary& s);
// Errors by class, most rows first: framework, hardware, precision.
[[nodiscard]] Table class_table(const std::string& title, const std::string& column,
                                const std::map<std::string, validation::ClassSummary>& classes);
// Verdict against what happened.
[[nodiscard]] Table fit_table(const validation::Summary& s);
// Rankings of layouts, greatest regret first.
[[nodiscard]] Table group_table(const validation::Summary& s, std::size_t shown);
// The rows furthest off in step time, and in allocated or reserved memory.
[[nodiscard]] Table worst_table(const std::vector<validation::Replay>& rows, std::size_t shown);
[[nodiscard]] Table worst_memory_table(const std::vector<validation::Replay>& rows, std::size_t shown);
// Which term of the step, scaled by one constant, would leave least error in each class.
[[nodiscard]] Table residual_table(const validation::Summary& s);
[[nodiscard]] Table refused_table(const validation::Summary& s);
// One line a row, for --format csv.
[[nodiscard]] Table row_table(const std::vector<validation::Replay>& rows);

[[nodiscard]] nlohmann::ordered_json validation_json(const std::vector<validation::Replay>& rows,
                                                     const validation::Summary& s);

}  // namespace napkin::cli
