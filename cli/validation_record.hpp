// The run record of a training log, completed by flags.
#pragma once

#include <string>

#include "cli/run_flags.hpp"
#include "model/validation/log_input.hpp"

namespace napkin::cli {

// One line of JSON: what the log says, with the flags over it. `path` names the run.
[[nodiscard]] std::string record_of_log(const validation::LogRun& run, const std::string& path, const JobFlags& job,
                                        const LayoutFlags& layout);
// Whether any of these flags was given.
[[nodiscard]] bool given(const JobFlags& job, const LayoutFlags& layout);

}  // namespace napkin::cli
