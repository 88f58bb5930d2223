// A prediction as tables and as JSON (keys: docs/json.md).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/table.hpp"
#include "model/run/run_input.hpp"
#include "model/step/prediction.hpp"

namespace napkin::cli {

// "llama3-70b on 1,024 × NVIDIA H100 SXM5 80GB: tp8 sp pp4 dp32 mb1"
[[nodiscard]] std::string headline(const Run& run);
// Step time, throughput, MFU with its convention and peak, and the interval.
[[nodiscard]] Table summary_table(const Run& run, const Prediction<Plain>& p, OutputFormat format);
[[nodiscard]] Table breakdown_table(const Prediction<Plain>& p, OutputFormat format);
[[nodiscard]] Table memory_table(const Run& run, const Prediction<Plain>& p, OutputFormat format);
// What was inferred, a line each.
[[nodiscard]] std::string assumption_lines(const Run& run);

[[nodiscard]] nlohmann::ordered_json prediction_json(const Run& run, const Prediction<Plain>& p);
// Where eight in ten measured runs like it would lie, and which runs say so.
[[nodiscard]] nlohmann::ordered_json interval_json(const Run& run, const Prediction<Plain>& p);
// The run as a record that `predict` reads back; `request` is what it was resolved from.
[[nodiscard]] nlohmann::ordered_json run_record_json(const RunRequest& request, const Run& run);
[[nodiscard]] nlohmann::ordered_json memory_json(const StageMemory<Plain>& m, Bytes capacity);
[[nodiscard]] nlohmann::ordered_json layout_json(const Layout& l);

// Useful work and the largest of the other terms: one line that says what a layout pays for.
[[nodiscard]] std::string reason(const StepCost<Plain>& step);

}  // namespace napkin::cli
