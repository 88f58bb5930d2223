// Robust non-linear least squares with physical bounds: what every fitted constant comes from.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibrate/samples/residual.hpp"

namespace napkin::fit {

// A positive constant to be found. Fitted in its logarithm, so that steps are relative.
struct Parameter {
  std::string name;
  double start = 1, low = 1e-300, high = 1e300;
  std::string leaf{};  // where a hardware file holds it ("/kernels/gemm/wave"); empty = of these samples only
};

struct Estimate {
  std::string name;
  double value = 0;
  double standard_error = 0;  // of the value; 0 when the bound holds it
  bool at_bound = false;
  std::string leaf{};  // of the parameter
};

struct Fit {
  std::vector<Estimate> parameters;
  std::vector<std::string> kept{};  // constants that too few of the fitted samples tell: left as they were
  Residual fitted, held_out;
  [[nodiscard]] double value(const std::string& name) const;
  [[nodiscard]] bool has(const std::string& name) const;
};

// Predicted value of sample i under the parameters (in the order given).
using Model = std::function<double(const std::vector<double>& values, std::size_t sample)>;

// Minimises the Huber loss of log(predicted/measured) by iteratively reweighted Levenberg–Marquardt; `huber` is the
// relative error beyond which a sample counts linearly (huber1964). Samples whose `held_out` is true are only reported.
// Parameters that a bound holds are marked. Throws std::invalid_argument on empty or non-positive data.
[[nodiscard]] Fit robust_fit(const std::vector<Parameter>& parameters, const Model& model,
                             const std::vector<double>& measured, const std::vector<bool>& held_out,
                             double huber = 0.05);

}  // namespace napkin::fit
