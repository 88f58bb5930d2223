// What `napkin calibrate fit` was asked, and its answer. The part that links the fitting library is apart.
#pragma once

#include <string>
#include <vector>

#include "cli/table.hpp"

namespace napkin::cli {

struct FitRequest {
  std::vector<std::string> samples, runs;
  std::string base, held_out = "20%", regime, output, name, framework, profile;
  int folds = 0;  // > 0: also predict every shape by a fit that has not seen it
  OutputFormat format = OutputFormat::table;
};

// Fits, writes the hardware file where one is asked for, and reports every constant with its evidence. `exit_code` becomes 1
// where a constant is at a physical bound or held-out shapes are far off.
[[nodiscard]] std::string fit_report(const FitRequest& request, int& exit_code);
// Of run records: adjusts the constants of their machine and framework, and writes a hardware file and a profile.
[[nodiscard]] std::string runs_report(const FitRequest& request, int& exit_code);

}  // namespace napkin::cli
