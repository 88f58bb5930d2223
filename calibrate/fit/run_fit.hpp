// Constants fitted to whole runs: what their step times and memory say of a few shared constants, with priors.
#pragma once

#include <string>
#include <vector>

#include "model/search/search.hpp"
#include "model/validation/ledger.hpp"
#include "model/validation/replay_input.hpp"

namespace napkin::fit {

// One measured figure of one run.
struct Observation {
  std::size_t run = 0;
  validation::Metric metric{};
  double measured = 0;
  double noise = 0.05;     // relative: what one standard deviation of this figure is taken for
  std::size_t cluster = 0; // runs of one source and model share what the model gets wrong
};

// Gaussian, in the unit of the constant. Those of one family (not empty) are correlated: what runs say of some members, in
// deviations from the centre, is expected of the others (gelman2013 ch. 5).
struct Prior {
  double centre = 0, deviation = 1;
  std::string family{};
};
inline constexpr double family_correlation = 0.9;  // assumed; not varied

// log(predicted / measured) of every observation and its derivatives by every constant, at `values`.
struct Linearised {
  std::vector<double> values, residual;
  std::vector<std::vector<double>> slope;  // [constant][observation]
};

// Runs that are predicted again and again under changed constants.
class RunModel {
  std::vector<validation::RunCase> runs_;
  std::vector<validation::FittedConstant> constants_;
  Executor executor_;
  std::vector<Observation> observations_;
  std::vector<std::vector<std::size_t>> reached_;       // [constant] → runs
  std::vector<std::vector<std::size_t>> of_run_;        // [run] → observations
  void evaluate(const std::vector<double>& values, const std::vector<std::size_t>& runs, std::vector<double>& residual) const;

 public:
  // Takes the step time of each run, and reserved memory or, failing that, allocated. Runs that cannot be predicted, are
  // suspect or measured nothing of these are left out. The noise of a framework's figures is their scatter (robust).
  RunModel(std::vector<validation::RunCase> runs, std::vector<validation::FittedConstant> constants, Executor executor);
  [[nodiscard]] const std::vector<validation::RunCase>& runs() const { return runs_; }
  [[nodiscard]] const std::vector<validation::FittedConstant>& constants() const { return constants_; }
  [[nodiscard]] const std::vector<Observation>& observations() const { return observations_; }
  [[nodiscard]] const std::vector<std::size_t>& reached(std::size_t constant) const { return reached_[constant]; }
  void set_noise(double relative);
  // Of every observation of the runs where `wanted` (all if empty); what is not predicted keeps `otherwise`.
  [[nodiscard]] std::vector<double> residuals(const std::vector<double>& values, const std::vector<bool>& wanted = {}) const;
  [[nodiscard]] Linearised linearise(const std::vector<double>& values) const;
};

struct RunFit {
  std::vector<double> values;
  std::vector<double> standard_error;          // clustered; of a constant that no run moves: the prior's deviation
  std::vector<std::size_t> figures;            // observations that the constant moves
  std::vector<std::size_t> partner;            // the constant it is most correlated with; itself when none
  std::vector<double> correlation;
  std::vector<bool> at_bound;
};

// Minimises Σ ρ(rᵢ/sᵢ) + ½ Σ ((θ − centre)/deviation)² with Huber's ρ (huber1964) by Gauss–Newton from `start`, at most
// `steps` linearisations; the runs where `left_out` count for nothing. Covariance: H⁻¹ (Σ_c g_c g_cᵀ) H⁻¹ over clusters
// (white1980, liang1986).
[[nodiscard]] RunFit fit_runs(const RunModel& model, const std::vector<double>& start, const std::vector<Prior>& priors,
                              const std::vector<bool>& left_out = {}, int steps = 4);
// The same minimum of the model as linearised at `at`, for fits that leave out a few runs: no run is predicted again.
[[nodiscard]] RunFit fit_linearised(const RunModel& model, const Linearised& at, const std::vector<Prior>& priors,
                                    const std::vector<bool>& left_out = {});

}  // namespace napkin::fit
