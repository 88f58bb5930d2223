#include "calibrate/fit/run_fit.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "model/validation/statistics.hpp"

namespace napkin::fit {
namespace {

using namespace validation;

constexpr double least_noise = 0.01, most_noise = 0.25;
constexpr double huber = 1.5;             // standard deviations beyond which a figure counts linearly
constexpr int reweightings = 40;
constexpr double moves = 1e-9;            // a derivative below this is none

// The robust standard deviation of residuals around 0.
double scatter(std::vector<double> r) {
  for (double& x : r) x = std::abs(x);
  constexpr double gaussian = 1.4826;     // of the median of |r|
  return std::clamp(gaussian * percentile(std::move(r), 0.5), least_noise, most_noise);
}

double weight(double standardised) {
  const double a = std::abs(standardised);
  return a <= huber ? 1 : huber / a;
}
double loss(double standardised) {
  const double a = std::abs(standardised);
  return a <= huber ? a * a / 2 : huber * (a - huber / 2);
}

// The inverse of the priors' covariance.
Eigen::MatrixXd precision_of(const std::vector<Prior>& priors) {
  const auto n = static_cast<Eigen::Index>(priors.size());
  Eigen::MatrixXd covariance = Eigen::MatrixXd::Zero(n, n);
  for (Eigen::Index a = 0; a < n; ++a)
    for (Eigen::Index b = 0; b < n; ++b) {
      const Prior &p = priors[static_cast<std::size_t>(a)], &q = priors[static_cast<std::size_t>(b)];
      if (a == b) covariance(a, b) = p.deviation * q.deviation;
      else if (!p.family.empty() && p.family == q.family) covariance(a, b) = family_correlation * p.deviation * q.deviation;
    }
  return covariance.inverse();
}

struct Objective {
  const RunModel& model;
  const std::vector<Prior>& priors;
  const std::vector<bool>& left_out;
  Eigen::MatrixXd precision = precision_of(priors);

  // values − centres.
  [[nodiscard]] Eigen::VectorXd off_centre(const std::vector<double>& values) const {
    Eigen::VectorXd off(static_cast<Eigen::Index>(values.size()));
    for (std::size_t k = 0; k < values.size(); ++k) off[static_cast<Eigen::Index>(k)] = values[k] - priors[k].centre;
    return off;
  }

  [[nodiscard]] bool counts(std::size_t i) const { return left_out.empty() || !left_out[model.observations()[i].run]; }
  [[nodiscard]] double at(const std::vector<double>& values, const std::vector<double>& residual) const {
    double sum = 0;
    for (std::size_t i = 0; i < residual.size(); ++i)
      if (counts(i)) sum += loss(residual[i] / model.observations()[i].noise);
    const Eigen::VectorXd off = off_centre(values);
    return sum + off.dot(precision * off) / 2;
  }
};

// Minimum of the linearised problem within the bounds; `held` marks the constants that a bound holds there.
std::vector<double> minimise(const Objective& o, const Linearised& l, std::vector<bool>& held) {
  const auto& constants = o.model.constants();
  const std::size_t n = constants.size();
  const auto k_of = [](std::size_t k) { return static_cast<Eigen::Index>(k); };
  Eigen::VectorXd step = Eigen::VectorXd::Zero(k_of(n));
  held.assign(n, false);
  std::vector<double> bound(n);
  for (int round = 0; round < reweightings; ++round) {
    Eigen::MatrixXd normal = Eigen::MatrixXd::Zero(k_of(n), k_of(n));
    Eigen::VectorXd gradient = Eigen::VectorXd::Zero(k_of(n));
    for (std::size_t i = 0; i < l.residual.size(); ++i) {
      if (!o.counts(i)) continue;
      double r = l.residual[i];
      std::vector<std::size_t> on;
      for (std::size_t k = 0; k < n; ++k)
        if (l.slope[k][i] != 0) {
          on.push_back(k);
          r += l.slope[k][i] * step[k_of(k)];
        }
      const double s = o.model.observations()[i].noise, w = weight(r / s) / (s * s);
      for (const std::size_t a : on) {
        gradient[k_of(a)] += w * r * l.slope[a][i];
        for (const std::size_t b : on) normal(k_of(a), k_of(b)) += w * l.slope[a][i] * l.slope[b][i];
      }
    }
    normal += o.precision;
    gradient += o.precision * (o.off_centre(l.values) + step);
    // Constants at a bound that the minimum would leave stay there; the others are solved for.
    Eigen::VectorXd next = step;
    held.assign(n, false);
    for (std::size_t tries = 0; tries <= n; ++tries) {
      Eigen::MatrixXd a = normal;
      Eigen::VectorXd b = gradient;
      for (std::size_t k = 0; k < n; ++k) {
        if (!held[k]) continue;
        const double fixed = bound[k] - l.values[k] - step[k_of(k)];
        b += normal.col(k_of(k)) * fixed;
      }
      for (std::size_t k = 0; k < n; ++k)
        if (held[k]) {
          a.row(k_of(k)).setZero();
          a.col(k_of(k)).setZero();
          a(k_of(k), k_of(k)) = 1;
          b[k_of(k)] = 0;
        }
      next = step - a.ldlt().solve(b);
      bool again = false;
      for (std::size_t k = 0; k < n; ++k) {
        if (held[k]) {
          next[k_of(k)] = bound[k] - l.values[k];
          continue;
        }
        const double v = l.values[k] + next[k_of(k)];
        if (v >= constants[k].low && v <= constants[k].high) continue;
        bound[k] = std::clamp(v, constants[k].low, constants[k].high);
        held[k] = again = true;
      }
      if (!again) break;
    }
    const double moved = (next - step).cwiseAbs().maxCoeff();
    step = next;
    if (moved < 1e-10) break;
  }
  std::vector<double> values(n);
  for (std::size_t k = 0; k < n; ++k) values[k] = std::clamp(l.values[k] + step[k_of(k)], constants[k].low, constants[k].high);
  return values;
}

// Standard errors and correlations at `l`, whose residuals are those of the fit.
void judge(const Objective& o, const Linearised& l, RunFit& fit) {
  const std::size_t n = l.values.size();
  const auto k_of = [](std::size_t k) { return static_cast<Eigen::Index>(k); };
  Eigen::MatrixXd normal = Eigen::MatrixXd::Zero(k_of(n), k_of(n));
  std::map<std::size_t, Eigen::VectorXd> scores;
  fit.figures.assign(n, 0);
  for (std::size_t i = 0; i < l.residual.size(); ++i) {
    if (!o.counts(i)) continue;
    const Observation& seen = o.model.observations()[i];
    const double s2 = seen.noise * seen.noise, w = weight(l.residual[i] / seen.noise) / s2;
    auto& score = scores.try_emplace(seen.cluster, Eigen::VectorXd::Zero(k_of(n))).first->second;
    for (std::size_t a = 0; a < n; ++a) {
      if (l.slope[a][i] == 0) continue;
      ++fit.figures[a];
      score[k_of(a)] += w * l.residual[i] * l.slope[a][i];
      for (std::size_t b = 0; b < n; ++b) normal(k_of(a), k_of(b)) += w * l.slope[a][i] * l.slope[b][i];
    }
  }
  Eigen::MatrixXd meat = Eigen::MatrixXd::Zero(k_of(n), k_of(n));
  for (const auto& [cluster, g] : scores) meat += g * g.transpose();
  const Eigen::MatrixXd& prior = o.precision;
  const Eigen::MatrixXd inverse = (normal + prior).inverse();
  // Clusters few: never below what independent figures would give.
  const Eigen::MatrixXd robust = inverse * (meat + prior) * inverse;
  fit.standard_error.assign(n, 0);
  fit.partner.resize(n);
  std::iota(fit.partner.begin(), fit.partner.end(), std::size_t{0});
  fit.correlation.assign(n, 0);
  for (std::size_t a = 0; a < n; ++a) {
    fit.standard_error[a] = std::sqrt(std::max({0.0, robust(k_of(a), k_of(a)), inverse(k_of(a), k_of(a))}));
    for (std::size_t b = 0; b < n; ++b) {
      if (a == b || fit.figures[a] == 0 || fit.figures[b] == 0) continue;
      const double c = inverse(k_of(a), k_of(b)) / std::sqrt(inverse(k_of(a), k_of(a)) * inverse(k_of(b), k_of(b)));
      if (std::abs(c) > std::abs(fit.correlation[a])) {
        fit.correlation[a] = c;
        fit.partner[a] = b;
      }
    }
  }
}

}  // namespace

RunModel::RunModel(std::vector<RunCase> runs, std::vector<FittedConstant> constants, Executor executor)
    : runs_(std::move(runs)), constants_(std::move(constants)), executor_(std::move(executor)), of_run_(runs_.size()) {
  std::map<std::string, std::size_t> clusters;
  std::map<std::pair<std::string, Metric>, std::vector<double>> scattered;
  const auto library = std::make_shared<Library>();
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (runs_[i].run.suspect) continue;
    const Replay r = replay(runs_[i], library);
    if (!r.refused.empty()) continue;
    runs_[i].run = r.run;  // with the canonical names
    runs_[i].measured = r.measured;
    const auto cluster = clusters.try_emplace(r.run.source + '|' + r.run.model, clusters.size()).first->second;
    const auto take = [&](Metric m) {
      if (!at(r.error, m)) return false;
      of_run_[i].push_back(observations_.size());
      observations_.push_back({.run = i, .metric = m, .measured = *at(r.measured.figures, m), .cluster = cluster});
      scattered[{r.run.framework, m}].push_back(std::log(1 + *at(r.error, m)));
      return true;
    };
    take(Metric::step_time);
    if (!take(Metric::reserved)) take(Metric::allocated);
  }
  for (Observation& o : observations_) o.noise = scatter(scattered[{runs_[o.run].run.framework, o.metric}]);
  std::map<std::string, std::vector<std::string>> lineages;
  for (const FittedConstant& c : constants_) {
    auto& mine = reached_.emplace_back();
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (of_run_[i].empty()) continue;
      auto& lineage = lineages[runs_[i].request.framework.value_or("reference") + '|' + *runs_[i].request.hardware];
      if (lineage.empty()) {
        lineage = profile_lineage(runs_[i].request.framework.value_or("reference"));
        for (std::string& h : hardware_lineage(*runs_[i].request.hardware)) lineage.push_back(std::move(h));
      }
      if (reaches(c, lineage)) mine.push_back(i);
    }
  }
}

void RunModel::set_noise(double relative) {
  for (Observation& o : observations_) o.noise = relative;
}

void RunModel::evaluate(const std::vector<double>& values, const std::vector<std::size_t>& runs, std::vector<double>& residual) const {
  const auto library = std::make_shared<Library>(edits_of(constants_, values));
  for (const std::size_t i : runs) {
    const Replay r = replay(runs_[i], library);
    for (const std::size_t o : of_run_[i])
      if (const auto& e = at(r.error, observations_[o].metric)) residual[o] = std::log(1 + *e);
  }
}

std::vector<double> RunModel::residuals(const std::vector<double>& values, const std::vector<bool>& wanted) const {
  constexpr std::size_t blocks = 16;
  std::vector<double> residual(observations_.size(), 0);
  executor_(blocks, [&](std::size_t b) {
    std::vector<std::size_t> mine;
    for (std::size_t i = b; i < runs_.size(); i += blocks)
      if (!of_run_[i].empty() && (wanted.empty() || wanted[i])) mine.push_back(i);
    if (!mine.empty()) evaluate(values, mine, residual);
  });
  return residual;
}

Linearised RunModel::linearise(const std::vector<double>& values) const {
  Linearised l{.values = values, .residual = residuals(values), .slope = {}};
  l.slope.assign(constants_.size(), std::vector<double>(observations_.size(), 0));
  executor_(constants_.size(), [&](std::size_t k) {
    if (reached_[k].empty()) return;
    const FittedConstant& c = constants_[k];
    const double step = std::max(0.02 * std::abs(values[k]), 0.05 * c.deviation);
    std::array<double, 2> at{std::max(c.low, values[k] - step), std::min(c.high, values[k] + step)};
    std::array<std::vector<double>, 2> r{l.residual, l.residual};
    for (std::size_t side = 0; side < 2; ++side) {
      if (at[side] == values[k]) continue;
      std::vector<double> moved = values;
      moved[k] = at[side];
      evaluate(moved, reached_[k], r[side]);
    }
    for (const std::size_t i : reached_[k])
      for (const std::size_t o : of_run_[i]) {
        const double d = (r[1][o] - r[0][o]) / (at[1] - at[0]);
        if (std::abs(d) * c.deviation > moves) l.slope[k][o] = d;
      }
  });
  return l;
}

RunFit fit_runs(const RunModel& model, const std::vector<double>& start, const std::vector<Prior>& priors,
                const std::vector<bool>& left_out, int steps) {
  const Objective objective{.model = model, .priors = priors, .left_out = left_out};
  std::vector<bool> wanted;
  for (const bool out : left_out) wanted.push_back(!out);
  RunFit fit;
  fit.values = start;
  Linearised l = model.linearise(start);
  double best = objective.at(start, l.residual);
  for (int s = 0; s < steps; ++s) {
    const std::vector<double> aim = minimise(objective, l, fit.at_bound);
    // The model has kinks: a full step that does not lead down is halved.
    bool better = false;
    double fall = 0;
    for (double share = 1; share > 0.05 && !better; share /= 2) {
      std::vector<double> next = fit.values;
      for (std::size_t k = 0; k < next.size(); ++k) next[k] += share * (aim[k] - next[k]);
      const double value = objective.at(next, model.residuals(next, wanted));
      if (!(value < best)) continue;
      fall = best - value;
      best = value;
      fit.values = next;
      better = true;
    }
    if (!better) break;
    l = model.linearise(fit.values);
    if (fall < 1e-3 * best) break;
  }
  judge(objective, l, fit);
  if (fit.at_bound.size() != fit.values.size()) fit.at_bound.assign(fit.values.size(), false);
  for (std::size_t k = 0; k < fit.values.size(); ++k)
    fit.at_bound[k] = fit.values[k] <= model.constants()[k].low || fit.values[k] >= model.constants()[k].high;
  return fit;
}

RunFit fit_linearised(const RunModel& model, const Linearised& at, const std::vector<Prior>& priors, const std::vector<bool>& left_out) {
  const Objective objective{.model = model, .priors = priors, .left_out = left_out};
  RunFit fit;
  fit.values = minimise(objective, at, fit.at_bound);
  judge(objective, at, fit);
  return fit;
}

}  // namespace napkin::fit
