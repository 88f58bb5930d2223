// --from: a run read from a launch configuration, with flags over it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/run_flags.hpp"
#include "model/launch/interpret.hpp"

namespace napkin::cli {

struct LaunchFlags {
  std::vector<std::string> from;  // target, file
  [[nodiscard]] bool given() const { return !from.empty(); }
};
void add_launch_options(CLI::App& command, LaunchFlags& flags);

// Where a run comes from: a record, or a launch configuration; flags over either.
struct LaunchedRequest {
  RunRequest request;
  std::optional<launch::Reading> reading;  // of a configuration
};
[[nodiscard]] LaunchedRequest read_request(const std::string& record, const LaunchFlags& launch, const JobFlags& job,
                                           const LayoutFlags& layout);
// Notes on stderr: settings that were not read, and what the file says otherwise than the run that is predicted.
void note_reading(const LaunchedRequest& launched, const Run& run);

}  // namespace napkin::cli
