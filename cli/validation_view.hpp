// Predicted against measured: as tables, worst first, and as JSON (keys: docs/json.md).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/table.hpp"
#include "model/validation/constants.hpp"
#include "model/validation/summary.hpp"

namespace napkin::cli {

// Errors by metric over all rows.
[[nodiscard]] Table metric_table(const validation::Summary& s);
// Errors by class, most rows first: framework, hardware, precision.
[[nodiscard]] Table class_table(const std::string& title, const std::string& column,
                                const std::map<std::string, validation::ClassSummary>& classes);
// Kernels, collectives and layers.
[[nodiscard]] Table kind_table(const validation::Summary& s);
[[nodiscard]] Table collective_table(const validation::Summary& s);
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
// One row in full: every figure measured beside its prediction.
[[nodiscard]] Table comparison_table(const validation::Replay& row);
// How many constants the answer rests on, by how they were obtained.
[[nodiscard]] Table constant_table(const std::vector<validation::ConstantCount>& counts);
// The whole report as text: terminal tables, or a Markdown document with headings.
[[nodiscard]] std::string validation_report(const std::vector<validation::Replay>& rows, const validation::Summary& s,
                                            std::size_t shown, OutputFormat format);
// One line a row, for --format csv.
[[nodiscard]] Table row_table(const std::vector<validation::Replay>& rows);

// model/run/residuals.json: the classes of `rows`, and the fingerprint of the rows compiled in.
[[nodiscard]] std::string residuals_file(const std::vector<validation::Replay>& rows, const std::string& files,
                                         const std::vector<validation::Replay>& embedded);

[[nodiscard]] nlohmann::ordered_json validation_json(const std::vector<validation::Replay>& rows,
                                                     const validation::Summary& s);

}  // namespace napkin::cli
