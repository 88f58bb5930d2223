// All constants of a machine that a set of measurements can tell, fitted group by group.
#pragma once

#include <string>
#include <vector>

#include "calibrate/fit/robust_fit.hpp"
#include "calibrate/samples/check.hpp"
#include "calibrate/samples/samples.hpp"

namespace napkin::fit {

struct GroupFit {
  std::string group;  // "gemm bf16, burst", "attention forward cudnn", "network tier nvlink"
  std::string range;  // smallest to largest shape, time or size that was fitted
  Fit fit;
};

// A constant that follows from fitted ones or had to give way to them.
struct Consequence {
  std::string leaf, why;
};

struct HardwareFit {
  Hardware hardware;  // the base with the fitted values
  std::vector<GroupFit> groups;
  std::vector<Consequence> consequences;
  std::vector<std::string> notes;  // what was not fitted, and why
  std::vector<std::string> doubts{};  // constants at a physical bound (not written), groups whose held-out shapes are far off
};

// `held_out`: share of the shapes kept for the report. `regime`: of kernels that state none. Groups with too few samples
// keep the base's constants and a note. InputError when nothing can be fitted.
[[nodiscard]] HardwareFit fit_hardware(const Hardware& base, const Samples& samples, HeldOut held_out, Regime regime);

// Every shape predicted by a fit that has not seen it: `folds` fits, each without another share.
[[nodiscard]] CheckReport cross_validated(const Hardware& base, const Samples& samples, int folds, Regime regime);

}  // namespace napkin::fit
