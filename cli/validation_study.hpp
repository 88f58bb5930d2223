// Studies of the constants that were fitted to runs: `validate --constants` and `--leave-out`. Need Eigen at build time.
#pragma once

#include <string>
#include <vector>

#include "cli/table.hpp"
#include "model/search/search.hpp"
#include "model/validation/replay_input.hpp"

namespace napkin::cli {

// Every constant of the ledger: value, unit, places, standard error, correlation and what dropping it costs; then, apart,
// how many are fitted to kernels and collectives.
[[nodiscard]] std::string constants_report(const std::vector<validation::SourceText>& sources, const Executor& executor,
                                           OutputFormat format);
// `by`: model, scale, framework or hardware. InputError for another word.
[[nodiscard]] std::string leave_out_report(const std::vector<validation::SourceText>& sources, const std::string& by,
                                           const Executor& executor, OutputFormat format);

}  // namespace napkin::cli
