// One user's stack: the few constants of a machine and a framework that their own runs may move, from the shipped values on.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "calibrate/fit/hardware_fit.hpp"
#include "calibrate/fit/run_fit.hpp"
#include "model/validation/statistics.hpp"

namespace napkin::fit {

struct StackConstant {
  std::string place;          // "h100-sxm#/network/tiers/1/efficiency"
  std::string leaf;           // of a hardware file, or of a profile: "/overlap/tensor_parallel"
  bool of_machine = false;
  std::string unit;
  double shipped = 0, value = 0;
  double prior = 0;           // standard deviation the shipped value was given
  double standard_error = 0;  // after the runs
  std::size_t figures = 0;    // measured figures that it moves
  bool at_bound = false;      // a physical bound holds it
};

struct StackFit {
  std::string hardware, framework;              // what was fitted, as named
  std::vector<StackConstant> constants;         // those that the runs move
  std::vector<std::string> refused;             // runs that could not be predicted, with the reason
  validation::ErrorSummary time_before, time_after, memory_before, memory_after;
  double noise = 0.05;                          // relative scatter a figure was given
  Edits edits;                                  // the fitted values, for further predictions
};

// `hardware`, `framework`: what the runs are taken to be of; empty = what they say, which must then be one. Shipped values are
// priors of 5 % (shares: 5 points) beside a scatter of the class of runs at hand, so that a few runs move little (gelman2013).
// InputError when no run can be predicted or the runs name several stacks.
[[nodiscard]] StackFit fit_stack(std::vector<validation::RunCase> runs, const std::string& hardware, const std::string& framework,
                                 const Executor& executor);

// A profile that extends the fitted one, and a hardware file with every constant of the base: what --framework and --hw take.
[[nodiscard]] std::string stack_profile(const StackFit& fit, const std::string& name, const std::string& about);
[[nodiscard]] std::string stack_hardware(const StackFit& fit, const std::string& name, const std::string& about);

}  // namespace napkin::fit
