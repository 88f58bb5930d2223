// napkin calibrate fit --runs: a user's own runs → their machine's and framework's constants.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "calibrate/fit/stack_fit.hpp"
#include "cli/calibrate.hpp"
#include "cli/calibrate_fit_report.hpp"
#include "cli/executor.hpp"
#include "cli/pipeline_trace.hpp"
#include "model/validation/replay_input.hpp"

namespace napkin::cli {
namespace {

using namespace napkin::fit;
using namespace napkin::validation;
using Json = nlohmann::ordered_json;

std::string number(double v, const std::string& unit) { return fmt::format("{:.4g}{}{}", v, unit.empty() ? "" : " ", unit); }

Json to_json(const ErrorSummary& e) {
  return {{"n", e.n}, {"median_abs_pct", 100 * e.median_abs}, {"p90_abs_pct", 100 * e.p90_abs}, {"bias_pct", 100 * e.bias}};
}

Json to_json(const StackFit& fit) {
  Json j{{"schema", 1}, {"hardware", fit.hardware}, {"framework", fit.framework}, {"noise", fit.noise}, {"constants", Json::array()}};
  for (const StackConstant& c : fit.constants)
    j["constants"].push_back({{"place", c.place}, {"of", c.of_machine ? "hardware" : "framework"}, {"unit", c.unit}, {"shipped", c.shipped},
                              {"value", c.value}, {"prior_deviation", c.prior}, {"standard_error", c.standard_error}, {"figures", c.figures}, {"at_bound", c.at_bound}});
  j["step_time"] = {{"before", to_json(fit.time_before)}, {"after", to_json(fit.time_after)}};
  j["memory"] = {{"before", to_json(fit.memory_before)}, {"after", to_json(fit.memory_after)}};
  j["refused"] = fit.refused;
  return j;
}

Table to_table(const StackFit& fit) {
  Table t;
  t.title = fmt::format("{} on {}: constants after {} step times and {} memory figures of your own", fit.framework, fit.hardware,
                        fit.time_after.n, fit.memory_after.n);
  t.columns = {{"constant", false}, {"of", false}, {"shipped"}, {"± prior"}, {"fitted"}, {"±"}, {"moved"}, {"figures"}};
  for (const StackConstant& c : fit.constants)
    t.rows.push_back({c.leaf, c.of_machine ? "machine" : "framework", number(c.shipped, c.unit), fmt::format("{:.2g}", c.prior),
                      number(c.value, c.unit), c.at_bound ? "bound" : fmt::format("{:.2g}", c.standard_error), fmt::format("{:+.1f} prior", (c.value - c.shipped) / c.prior),
                      std::to_string(c.figures)});
  const auto line = [&](const char* what, const ErrorSummary& before, const ErrorSummary& after) {
    if (after.n == 0) return;
    t.notes.push_back(fmt::format("{}: median {:.1f} % → {:.1f} %, nine in ten {:.1f} % → {:.1f} %, bias {:+.1f} % → {:+.1f} %", what,
                                  100 * before.median_abs, 100 * after.median_abs, 100 * before.p90_abs, 100 * after.p90_abs,
                                  100 * before.bias, 100 * after.bias));
  };
  line("step time", fit.time_before, fit.time_after);
  line("memory", fit.memory_before, fit.memory_after);
  t.notes.push_back(fmt::format("Shipped values are priors of the deviation shown; a figure scatters by {:.1f} % in this class of runs, so a few "
                                "runs move little.",
                                100 * fit.noise));
  for (const std::string& r : fit.refused) t.notes.push_back("not predicted: " + r);
  return t;
}

std::string stem(const std::string& path) { return std::filesystem::path(path).stem().string(); }

}  // namespace

std::string runs_report(const FitRequest& r, int& exit_code) {
  std::vector<RunCase> runs;
  std::string files;
  refuse_output("-o", r.output, r.runs);
  refuse_output("--profile", r.profile, r.runs);
  if (!r.output.empty() && r.output == r.profile) throw InputError("--profile: is the file of -o; write another name");
  for (const std::string& file : r.runs) {
    files += (files.empty() ? "" : ", ") + std::filesystem::path(file).filename().string();
    for (const SourceText& line : read_sources(file)) runs.push_back(read_case(line));
  }
  const StackFit fit = fit_stack(std::move(runs), r.base, r.framework, threads(0));
  const std::string about = fmt::format("napkin calibrate fit of {} runs ({}), from the shipped values", fit.time_after.n, files);
  if (!r.output.empty()) write_file(r.output, stack_hardware(fit, r.name.empty() ? stem(r.output) : r.name, about));
  if (!r.profile.empty()) write_file(r.profile, stack_profile(fit, stem(r.profile), about));
  if (std::any_of(fit.constants.begin(), fit.constants.end(), [](const StackConstant& c) { return c.at_bound; })) exit_code = 1;
  return r.format == OutputFormat::json ? to_json(fit).dump(2) + '\n' : render(to_table(fit), r.format);
}

}  // namespace napkin::cli
