// A sweep's points as a table, a plot, JSON; where the best layout and the lowest curve change.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/sweep_study.hpp"
#include "cli/table.hpp"

namespace napkin::cli {

// `rows` by point. All of them are functions of the study and its rows alone: the same on one process and on many.
struct SweepResult {
  const Study& study;
  std::vector<nlohmann::ordered_json> rows;
  nlohmann::ordered_json changes, crossovers;  // arrays
};
// Fills changes and crossovers.
void find_changes(SweepResult& r);

[[nodiscard]] Table sweep_table(const SweepResult& r, OutputFormat format);
[[nodiscard]] Table changes_table(const SweepResult& r);
[[nodiscard]] Table crossovers_table(const SweepResult& r);
[[nodiscard]] nlohmann::ordered_json sweep_json(const SweepResult& r);

// What --y may name, and its key in a row; empty: no such quantity.
[[nodiscard]] std::string y_key(const std::string& name);
// y over the first axis, a curve for each combination of the others. Empty when nothing can be drawn.
[[nodiscard]] std::string sweep_plot(const SweepResult& r, const std::string& y);

}  // namespace napkin::cli
