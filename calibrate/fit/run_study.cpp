#include "calibrate/fit/run_study.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

namespace napkin::fit {
namespace {

using namespace validation;

// log(predicted/measured) → predicted/measured − 1.
double relative(double logarithm) { return std::expm1(logarithm); }

std::vector<double> step_errors(const RunModel& model, const std::vector<double>& residual, const std::vector<bool>& runs) {
  std::vector<double> e;
  for (std::size_t i = 0; i < residual.size(); ++i) {
    const Observation& o = model.observations()[i];
    if (o.metric == Metric::step_time && (runs.empty() || runs[o.run])) e.push_back(relative(residual[i]));
  }
  return e;
}

}  // namespace

std::vector<Prior> neutral_priors(const std::vector<FittedConstant>& constants) {
  std::vector<Prior> priors;
  for (const FittedConstant& c : constants) priors.push_back({c.neutral, c.deviation, c.family});
  return priors;
}

std::vector<ConstantStudy> study_constants(const RunModel& model) {
  const auto& constants = model.constants();
  const auto shipped = shipped_values(constants);
  const auto priors = neutral_priors(constants);
  const RunFit fit = fit_runs(model, shipped, priors);
  const Linearised at = model.linearise(shipped);
  std::vector<ConstantStudy> out;
  for (std::size_t k = 0; k < constants.size(); ++k) {
    ConstantStudy s{.constant = k, .figures = fit.figures[k], .refitted = fit.values[k], .standard_error = fit.standard_error[k],
                    .partner = fit.partner[k], .correlation = fit.correlation[k], .with = {}, .without = {}};
    // A constant that stands at its neutral value may have a derivative there and no effect: what counts is what moves.
    auto dropped = shipped;
    dropped[k] = constants[k].neutral;
    std::vector<bool> wanted(model.runs().size(), false);
    for (const std::size_t r : model.reached(k)) wanted[r] = true;
    const auto without = model.residuals(dropped, wanted);
    const auto moves = [&](Metric m) {
      std::vector<std::size_t> on;
      for (std::size_t i = 0; i < at.residual.size(); ++i) {
        const Observation& o = model.observations()[i];
        const bool of_metric = (o.metric == Metric::step_time) == (m == Metric::step_time);
        if (of_metric && wanted[o.run] && (at.slope[k][i] != 0 || without[i] != at.residual[i])) on.push_back(i);
      }
      return on;
    };
    s.metric = Metric::step_time;
    auto on = moves(Metric::step_time);
    if (on.empty()) {
      s.metric = Metric::reserved;
      on = moves(Metric::reserved);
    }
    std::vector<double> before, after;
    for (const std::size_t i : on) {
      before.push_back(relative(at.residual[i]));
      after.push_back(relative(without[i]));
    }
    s.with = summarise(before);
    s.without = summarise(after);
    out.push_back(s);
  }
  return out;
}

std::string leave_out_class(const Description& d, LeaveOut by) {
  switch (by) {
    case LeaveOut::framework: return d.framework;
    case LeaveOut::hardware: return d.hardware;
    case LeaveOut::scale: {
      constexpr std::array<std::pair<double, const char*>, 4> steps{
          {{8, "up to 8"}, {64, "9 to 64"}, {512, "65 to 512"}, {1e18, "above 512"}}};
      for (const auto& [most, name] : steps)
        if (d.gpus <= most) return std::string(name) + " accelerators";
      return {};
    }
    case LeaveOut::model: break;
  }
  std::string name;
  for (const char c : d.model) name += c == ' ' || c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

LeaveOutStudy leave_out(const RunModel& model, LeaveOut by) {
  const auto& constants = model.constants();
  const auto priors = neutral_priors(constants);
  const auto shipped = shipped_values(constants);
  // The fit to everything; what leaves a class out starts from its linearisation and ends at its own minimum.
  const RunFit all = fit_runs(model, shipped, priors);
  const Linearised at = model.linearise(all.values);
  const auto as_shipped = model.residuals(shipped);

  std::map<std::string, std::vector<std::size_t>> split;
  std::map<std::size_t, bool> timed;
  for (const Observation& o : model.observations())
    if (o.metric == Metric::step_time) split[leave_out_class(model.runs()[o.run].run, by)].push_back(o.run);
  std::vector<std::pair<std::string, std::vector<std::size_t>>> classes;
  std::vector<std::size_t> few;
  for (auto& [name, runs] : split) {
    if (runs.size() >= smallest_left_out) classes.emplace_back(name, std::move(runs));
    else few.insert(few.end(), runs.begin(), runs.end());
  }
  std::stable_sort(classes.begin(), classes.end(), [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  if (!few.empty()) classes.emplace_back("others", std::move(few));

  LeaveOutStudy study;
  std::vector<double> every_shipped, every_in, every_out;
  for (const auto& [name, runs] : classes) {
    std::vector<bool> out(model.runs().size(), false);
    for (const std::size_t r : runs) out[r] = true;
    // One step on the linearised model, and one more from there with the true residuals of the runs that stay.
    RunFit fit = fit_linearised(model, at, priors, out);
    std::vector<bool> stay(out.size());
    for (std::size_t r = 0; r < out.size(); ++r) stay[r] = !out[r];
    Linearised again{.values = fit.values, .residual = model.residuals(fit.values, stay), .slope = at.slope};
    fit = fit_linearised(model, again, priors, out);
    const auto residual = model.residuals(fit.values, out);
    const auto with = step_errors(model, at.residual, out), without = step_errors(model, residual, out),
               before = step_errors(model, as_shipped, out);
    LeftOutClass c{.name = name, .shipped = summarise(before), .in = summarise(with), .out = summarise(without), .moved = {}};
    for (std::size_t k = 0; k < constants.size(); ++k)
      if (const double z = (fit.values[k] - all.values[k]) / all.standard_error[k]; std::abs(z) >= 1) c.moved.emplace_back(k, z);
    std::stable_sort(c.moved.begin(), c.moved.end(), [](const auto& a, const auto& b) { return std::abs(a.second) > std::abs(b.second); });
    study.classes.push_back(std::move(c));
    every_shipped.insert(every_shipped.end(), before.begin(), before.end());
    every_in.insert(every_in.end(), with.begin(), with.end());
    every_out.insert(every_out.end(), without.begin(), without.end());
  }
  study.shipped = summarise(every_shipped);
  study.in = summarise(every_in);
  study.out = summarise(every_out);
  return study;
}

}  // namespace napkin::fit
