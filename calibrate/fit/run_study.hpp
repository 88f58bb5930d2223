// What the runs say of each constant that was fitted to them, and how well classes of runs are predicted that no constant saw.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/fit/run_fit.hpp"
#include "model/validation/statistics.hpp"

namespace napkin::fit {

// Wide: runs decide where there are any, else the constant is what it is without them.
[[nodiscard]] std::vector<Prior> neutral_priors(const std::vector<validation::FittedConstant>& constants);

struct ConstantStudy {
  std::size_t constant = 0;           // index into the model's constants
  std::size_t figures = 0;            // observations that it moves
  double refitted = 0;                // where all of them together would put it
  double standard_error = 0;
  std::size_t partner = 0;            // most correlated constant; itself when none
  double correlation = 0;
  validation::Metric metric{};        // the figures below: step time where it moves any, else memory
  validation::ErrorSummary with, without;  // on the figures it moves, at its value and at its neutral one
};
// In the order of the ledger.
[[nodiscard]] std::vector<ConstantStudy> study_constants(const RunModel& model);

enum class LeaveOut : std::uint8_t { model, scale, framework, hardware };
inline constexpr std::array<std::string_view, 4> leave_out_names{"model", "scale", "framework", "hardware"};
// The class of a run under a dimension: "llama-3.1-70b", "65-512 accelerators", ...
[[nodiscard]] std::string leave_out_class(const validation::Description& d, LeaveOut by);

struct LeftOutClass {
  std::string name;
  validation::ErrorSummary shipped, in, out;  // of its step times: as shipped; refitted with it; refitted without it
  std::vector<std::pair<std::size_t, double>> moved;  // constants that go without it, by how many standard errors
};
struct LeaveOutStudy {
  std::vector<LeftOutClass> classes;          // most runs first; those of fewer than `smallest` timed runs are one, "others"
  validation::ErrorSummary shipped, in, out;  // of all runs, each under the fit that did not see its class
  [[nodiscard]] double ratio() const { return out.median_abs / in.median_abs; }
};
inline constexpr std::size_t smallest_left_out = 5;
// Refits every constant from its neutral value without each class in turn and predicts the class.
[[nodiscard]] LeaveOutStudy leave_out(const RunModel& model, LeaveOut by);

}  // namespace napkin::fit
