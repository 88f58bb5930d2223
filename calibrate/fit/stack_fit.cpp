#include "calibrate/fit/stack_fit.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "calibrate/fit/hardware_file.hpp"
#include "hardware/constants.hpp"
#include "hardware/hardware_input.hpp"
#include "model/frameworks/profile_input.hpp"
#include "model/run/spread_input.hpp"

namespace napkin::fit {
namespace {

using namespace validation;

constexpr double relative_prior = 0.05, share_prior = 0.05;
constexpr double gaussian_ninety = 1.645;  // standard deviations that nine in ten lie within

struct Adjustable {
  std::string place, leaf;
  bool of_machine;
  double low, high, deviation;  // deviation 0: relative_prior of the value
};

// Constants that differ from one user's stack to the next: how fast its kernels and links are under load, and what overlaps.
std::vector<Adjustable> adjustables(const Hardware& h, const Profile& p) {
  std::vector<Adjustable> out;
  const auto machine = [&](const std::string& leaf, const auto& c, double high) { out.push_back({c.place, leaf, true, 0.05, high, 0}); };
  for (std::size_t i = 0; i < number_format_count; ++i)
    if (const auto& rate = h.accelerator.gemm.rate[i]; rate && rate->sustained)
      machine("/kernels/gemm/sustained/" + std::string(format_names[i]), *rate->sustained, 1);
  for (std::size_t i = 0; i < h.network.tiers.size(); ++i)
    machine("/network/tiers/" + std::to_string(i) + "/efficiency", h.network.tiers[i].efficiency, 1);
  const auto software = [&](const std::string& leaf, const auto& c, double low, double high, double deviation) {
    out.push_back({c.place, leaf, false, low, high, deviation});
  };
  software("/compute/gemm_share", p.gemm_share, 0.2, 1, 0);
  software("/compute/straggler", p.straggler, 0, 0.1, 0.002);
  software("/overlap/tensor_parallel", p.overlap.tensor_parallel, 0, 1, share_prior);
  software("/overlap/expert_parallel", p.overlap.expert_parallel, 0, 1, share_prior);
  software("/overlap/pipeline", p.overlap.pipeline, 0, 1, share_prior);
  software("/data_parallel/usable_window", p.data_parallel.usable_window, 0, 1, share_prior);
  software("/data_parallel/contention", p.data_parallel.contention, 0, 1, share_prior);
  software("/elementwise/traffic", p.elementwise.traffic, 0.3, 10, 0);
  software("/memory/fragmentation", p.memory.fragmentation, 0, 2, share_prior);
  return out;
}

std::string one_name(const std::vector<RunCase>& runs, const std::string& given, const char* option,
                     std::optional<std::string> RunRequest::*member, const char* fallback) {
  if (!given.empty()) return given;
  std::set<std::string> names;
  for (const RunCase& r : runs) names.insert((r.request.*member).value_or(fallback));
  if (names.size() == 1 && !names.begin()->empty()) return *names.begin();
  std::string list;
  for (const std::string& n : names) list += (list.empty() ? "" : ", ") + (n.empty() ? std::string("none") : n);
  throw InputError(std::string(option) + ": the runs name " + list + "; write which one they are of");
}

ErrorSummary errors(const RunModel& model, const std::vector<double>& residual, bool time) {
  std::vector<double> e;
  for (std::size_t i = 0; i < residual.size(); ++i)
    if ((model.observations()[i].metric == Metric::step_time) == time) e.push_back(std::expm1(residual[i]));
  return summarise(e);
}

// The place in a profile file that a constant is overlaid at: eras do not matter to a file of one's own.
std::pair<std::string, std::string> group_and_leaf(const std::string& leaf) {
  const auto at = leaf.find('/', 1);
  return {leaf.substr(1, at - 1), leaf.substr(at + 1)};
}

double rounded(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", v);
  return std::strtod(text, nullptr);
}

}  // namespace

StackFit fit_stack(std::vector<RunCase> runs, const std::string& hardware, const std::string& framework, const Executor& executor) {
  if (runs.empty()) throw InputError("--runs: the files hold no run record; write one JSON object a line, with `measured`");
  StackFit fit;
  fit.hardware = one_name(runs, hardware, "--base", &RunRequest::hardware, "");
  fit.framework = one_name(runs, framework, "--framework", &RunRequest::framework, "reference");
  int year = 0;
  for (RunCase& r : runs) {
    r.request.hardware = fit.hardware;
    r.request.framework = fit.framework;
    year = std::max(year, r.request.year.value_or(0));
  }
  for (const RunCase& r : runs) {
    const Replay first = replay(r, nullptr);
    if (!first.refused.empty()) fit.refused.push_back(first.run.place + ": " + first.refused);
  }
  const Hardware h = read_hardware(fit.hardware);
  const Profile p = read_profile(fit.framework, year);
  std::vector<FittedConstant> constants;
  std::vector<Adjustable> known;
  for (Adjustable& a : adjustables(h, p)) {
    const auto [stem, pointer] = split_place(a.place);
    const auto text = profile_text(stem) ? profile_text(stem) : catalog_text(stem);
    const Document d = text ? Document::parse(*text, stem + ".json") : Document::read(a.of_machine ? fit.hardware : fit.framework);
    const WrittenNumber n = written_number(d, pointer);
    const double deviation = a.deviation > 0 ? a.deviation : relative_prior * n.number;
    // Several formats may hang on one leaf; each place is one constant.
    if (!(deviation > 0) || n.number < a.low || n.number > a.high) continue;
    constants.push_back({.name = a.leaf, .unit = n.unit, .places = {a.place}, .source = {}, .family = {}, .why = {}, .value = n.number, .neutral = n.number,
                         .low = a.low, .high = a.high, .deviation = deviation});
    known.push_back(std::move(a));
  }
  RunModel model(std::move(runs), constants, executor);
  if (model.observations().empty())
    throw InputError("--runs: no run has a step time, throughput or memory that can be predicted" +
                     (fit.refused.empty() ? std::string() : "; the first: " + fit.refused.front()));
  const auto spread = find_spread({p.name, h.accelerator.name, {}, "dense"});
  fit.noise = std::clamp(spread->time.nine_in_ten / gaussian_ninety, 0.02, 0.15);
  model.set_noise(fit.noise);
  std::vector<Prior> priors;
  for (const FittedConstant& c : constants) priors.push_back({c.value, c.deviation});
  const auto shipped = shipped_values(constants);
  const RunFit found = fit_runs(model, shipped, priors);
  const auto before = model.residuals(shipped), after = model.residuals(found.values);
  fit.time_before = errors(model, before, true);
  fit.time_after = errors(model, after, true);
  fit.memory_before = errors(model, before, false);
  fit.memory_after = errors(model, after, false);
  for (std::size_t k = 0; k < constants.size(); ++k) {
    if (found.figures[k] == 0) continue;
    const double value = rounded(found.values[k]);
    fit.constants.push_back({.place = known[k].place, .leaf = known[k].leaf, .of_machine = known[k].of_machine, .unit = constants[k].unit,
                             .shipped = constants[k].value, .value = value, .prior = constants[k].deviation,
                             .standard_error = std::min(found.standard_error[k], constants[k].deviation), .figures = found.figures[k], .at_bound = found.at_bound[k]});
    fit.edits.set(known[k].place, value);
  }
  return fit;
}

std::string stack_profile(const StackFit& fit, const std::string& name, const std::string& about) {
  using Json = nlohmann::ordered_json;
  if (!profile_text(fit.framework))
    throw InputError("--profile: \"" + fit.framework + "\" is a file; a profile extends a shipped one, so name that with --framework");
  Json j{{"schema", 1}, {"name", name}, {"title", name + ": " + fit.framework + " fitted to own runs"}, {"extends", fit.framework}};
  for (const StackConstant& c : fit.constants) {
    if (c.of_machine) continue;
    const auto [group, leaf] = group_and_leaf(c.leaf);
    Json value = c.value;
    if (!c.unit.empty()) {
      char text[64];
      std::snprintf(text, sizeof text, "%.5g %s", c.value, c.unit.c_str());
      value = text;
    }
    j[group][leaf] = {{"value", value}, {"source", about}, {"kind", "fitted"},
                      {"fit", {{"figures", c.figures}, {"standard_error", rounded(c.standard_error)}, {"prior", c.shipped}, {"prior_deviation", rounded(c.prior)}}}};
    if (c.at_bound) j[group][leaf]["fit"]["at_bound"] = true;
    j[group]["source"] = about;
    j[group]["kind"] = "fitted";
  }
  return j.dump(2) + '\n';
}

std::string stack_hardware(const StackFit& fit, const std::string& name, const std::string& about) {
  HardwareFit file{.hardware = read_hardware(fit.hardware, fit.edits), .groups = {}, .consequences = {}, .notes = {}};
  GroupFit group{.group = "own runs", .range = std::to_string(fit.time_after.n) + " step times", .fit = {}};
  for (const StackConstant& c : fit.constants)
    if (c.of_machine) group.fit.parameters.push_back({.name = c.leaf, .value = c.value, .standard_error = c.standard_error, .at_bound = c.at_bound, .leaf = c.leaf});
  group.fit.fitted = {.n = fit.time_after.n, .median = fit.time_after.median_abs, .p90 = fit.time_after.p90_abs, .bias = fit.time_after.bias};
  file.groups.push_back(std::move(group));
  return hardware_file(file, name, about, {});
}

}  // namespace napkin::fit
