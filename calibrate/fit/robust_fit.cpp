#include "calibrate/fit/robust_fit.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace napkin::fit {
namespace {

// Relative step of the numerical derivative: larger than the kinks of a model with ceilings, smaller than its curvature.
constexpr double derivative_step = 1e-3;
constexpr int max_iterations = 60;
constexpr double converged = 1e-7;  // relative fall of the loss
constexpr double bound_slack = 1e-6;

// Huber's loss: r²/2 inside ±δ, linear outside.
double huber_loss(double r, double delta) {
  const double a = std::abs(r);
  return a <= delta ? r * r / 2 : delta * (a - delta / 2);
}

class Problem {
  const std::vector<Parameter>& parameters_;
  const Model& model_;
  const std::vector<double>& measured_;
  std::vector<std::size_t> fitted_;
  double delta_;

 public:
  Problem(const std::vector<Parameter>& parameters, const Model& model, const std::vector<double>& measured,
          const std::vector<bool>& held_out, double delta)
      : parameters_(parameters), model_(model), measured_(measured), delta_(delta) {
    for (std::size_t i = 0; i < measured.size(); ++i)
      if (!held_out[i]) fitted_.push_back(i);
  }
  [[nodiscard]] std::size_t samples() const { return fitted_.size(); }
  [[nodiscard]] std::vector<double> values(const Eigen::VectorXd& logs) const {
    std::vector<double> v(parameters_.size());
    for (std::size_t j = 0; j < v.size(); ++j) v[j] = std::exp(logs[static_cast<Eigen::Index>(j)]);
    return v;
  }
  [[nodiscard]] Eigen::VectorXd residuals(const Eigen::VectorXd& logs) const {
    const auto v = values(logs);
    Eigen::VectorXd r(static_cast<Eigen::Index>(fitted_.size()));
    for (std::size_t i = 0; i < fitted_.size(); ++i)
      r[static_cast<Eigen::Index>(i)] = std::log(model_(v, fitted_[i]) / measured_[fitted_[i]]);
    return r;
  }
  [[nodiscard]] double loss(const Eigen::VectorXd& r) const {
    double sum = 0;
    for (const double x : r) sum += huber_loss(x, delta_);
    return sum;
  }
  [[nodiscard]] Eigen::VectorXd weights(const Eigen::VectorXd& r) const {
    return r.unaryExpr([d = delta_](double x) { return std::abs(x) <= d ? 1.0 : d / std::abs(x); });
  }
  [[nodiscard]] Eigen::MatrixXd jacobian(const Eigen::VectorXd& logs) const {
    Eigen::MatrixXd j(static_cast<Eigen::Index>(fitted_.size()), logs.size());
    for (Eigen::Index c = 0; c < logs.size(); ++c) {
      Eigen::VectorXd up = logs, down = logs;
      up[c] += derivative_step;
      down[c] -= derivative_step;
      j.col(c) = (residuals(up) - residuals(down)) / (2 * derivative_step);
    }
    return j;
  }
  [[nodiscard]] Eigen::VectorXd clamp(Eigen::VectorXd logs) const {
    for (std::size_t j = 0; j < parameters_.size(); ++j) {
      auto& x = logs[static_cast<Eigen::Index>(j)];
      x = std::clamp(x, std::log(parameters_[j].low), std::log(parameters_[j].high));
    }
    return logs;
  }
  [[nodiscard]] bool held(const Eigen::VectorXd& logs, std::size_t j) const {
    const double x = logs[static_cast<Eigen::Index>(j)];
    return x <= std::log(parameters_[j].low) + bound_slack || x >= std::log(parameters_[j].high) - bound_slack;
  }
};

Eigen::VectorXd minimise(const Problem& p, Eigen::VectorXd logs) {
  Eigen::VectorXd r = p.residuals(logs);
  double loss = p.loss(r), damping = 1e-2;
  for (int iteration = 0; iteration < max_iterations; ++iteration) {
    const Eigen::MatrixXd j = p.jacobian(logs);
    const Eigen::MatrixXd jw = p.weights(r).asDiagonal() * j;
    const Eigen::MatrixXd normal = j.transpose() * jw;
    const Eigen::VectorXd gradient = jw.transpose() * r;
    bool stepped = false;
    for (; damping < 1e8 && !stepped; damping *= 4) {
      Eigen::MatrixXd damped = normal;
      damped.diagonal() += damping * (normal.diagonal().array() + 1e-12).matrix();
      const Eigen::VectorXd next = p.clamp(logs - damped.ldlt().solve(gradient));
      const Eigen::VectorXd next_r = p.residuals(next);
      const double next_loss = p.loss(next_r);
      if (!(next_loss < loss)) continue;
      const double fall = (loss - next_loss) / loss;
      logs = next;
      r = next_r;
      loss = next_loss;
      damping /= 40;  // the loop's increment gives back a factor of 4
      stepped = true;
      if (fall < converged) return logs;
    }
    if (!stepped) break;
  }
  return logs;
}

}  // namespace

Fit robust_fit(const std::vector<Parameter>& parameters, const Model& model, const std::vector<double>& measured,
               const std::vector<bool>& held_out, double huber) {
  if (parameters.empty() || measured.size() != held_out.size())
    throw std::invalid_argument("a fit needs parameters, and one held-out mark for each sample");
  for (const double m : measured)
    if (!(m > 0) || !std::isfinite(m)) throw std::invalid_argument("a measured value is not a positive number");
  const Problem problem(parameters, model, measured, held_out, huber);
  if (problem.samples() < parameters.size())
    throw std::invalid_argument("a fit of " + std::to_string(parameters.size()) + " constants needs as many samples; " +
                                std::to_string(problem.samples()) + " found");
  Eigen::VectorXd start(static_cast<Eigen::Index>(parameters.size()));
  for (std::size_t j = 0; j < parameters.size(); ++j) start[static_cast<Eigen::Index>(j)] = std::log(parameters[j].start);
  const Eigen::VectorXd logs = minimise(problem, problem.clamp(start));

  // Standard errors: σ²·(JᵀWJ)⁻¹ over the parameters that no bound holds.
  const Eigen::VectorXd r = problem.residuals(logs), w = problem.weights(r);
  Eigen::MatrixXd j = problem.jacobian(logs);
  for (std::size_t c = 0; c < parameters.size(); ++c)
    if (problem.held(logs, c)) j.col(static_cast<Eigen::Index>(c)).setZero();
  const double freedom = std::max(1.0, static_cast<double>(problem.samples()) - static_cast<double>(parameters.size()));
  const double variance = (w.array() * r.array().square()).sum() / freedom;
  const Eigen::MatrixXd covariance =
      (j.transpose() * w.asDiagonal() * j).completeOrthogonalDecomposition().pseudoInverse() * variance;

  Fit fit;
  const auto values = problem.values(logs);
  for (std::size_t c = 0; c < parameters.size(); ++c) {
    const auto i = static_cast<Eigen::Index>(c);
    fit.parameters.push_back({parameters[c].name, values[c], values[c] * std::sqrt(std::max(0.0, covariance(i, i))),
                              problem.held(logs, c), parameters[c].leaf});
  }
  std::vector<double> fitted, held;
  for (std::size_t i = 0; i < measured.size(); ++i)
    (held_out[i] ? held : fitted).push_back(model(values, i) / measured[i] - 1);
  fit.fitted = residual_of(std::move(fitted));
  fit.held_out = residual_of(std::move(held));
  return fit;
}

bool Fit::has(const std::string& name) const {
  return std::any_of(parameters.begin(), parameters.end(), [&](const Estimate& p) { return p.name == name; });
}

double Fit::value(const std::string& name) const {
  for (const auto& p : parameters)
    if (p.name == name) return p.value;
  throw std::invalid_argument("no fitted constant is named " + name);
}

}  // namespace napkin::fit
