#include "cli/validation_study.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "calibrate/fit/run_study.hpp"
#include "cli/cells.hpp"
#include "model/validation/constants.hpp"

namespace napkin::cli {
namespace {

using namespace napkin::fit;
using namespace napkin::validation;
using Json = nlohmann::ordered_json;

RunModel model_of(const std::vector<SourceText>& sources, const Executor& executor) {
  std::vector<RunCase> runs;
  for (const SourceText& s : sources) {
    try {
      runs.push_back(read_case(s));
    } catch (const InputError&) {
      // No run, or a refused one: the report on rows names it.
    }
  }
  return {std::move(runs), ledger(), executor};
}

std::string percent(double v) { return fmt::format("{:.1f} %", 100 * v); }
std::string points(double v) { return fmt::format("{:+.1f}", 100 * v); }
std::string number(double v) { return fmt::format("{:.4g}", v); }
std::string with_unit(double v, const std::string& unit) { return number(v) + (unit.empty() ? "" : " " + unit); }

Json errors(const ErrorSummary& e) {
  return {{"n", e.n}, {"median_abs_pct", 100 * e.median_abs}, {"p90_abs_pct", 100 * e.p90_abs}, {"bias_pct", 100 * e.bias}};
}

Json to_json(const RunModel& model, const std::vector<ConstantStudy>& studies) {
  Json j{{"schema", 1}, {"limit", ledger_limit}, {"constants", Json::array()}};
  for (const ConstantStudy& s : studies) {
    const FittedConstant& c = model.constants()[s.constant];
    Json one{{"name", c.name},     {"value", c.value},       {"unit", c.unit},
             {"factor", c.factor}, {"places", c.places},     {"source", c.source},
             {"neutral", c.neutral}, {"neutral_because", c.why}, {"figures", s.figures},
             {"refitted", s.refitted}};
    if (s.figures > 0) one["standard_error"] = s.standard_error;
    if (s.partner != s.constant)
      one["correlation"] = {{"with", model.constants()[s.partner].name}, {"value", s.correlation}};
    if (s.with.n > 0)
      one["dropped"] = {{"metric", s.metric == Metric::step_time ? "step_time" : "memory"},
                        {"with", errors(s.with)},
                        {"without", errors(s.without)},
                        {"median_points", 100 * (s.without.median_abs - s.with.median_abs)},
                        {"p90_points", 100 * (s.without.p90_abs - s.with.p90_abs)}};
    j["constants"].push_back(std::move(one));
  }
  const KernelConstants k = kernel_constants();
  j["fitted_to_kernels_and_collectives"] = {{"machines", k.machines}, {"leaves", k.leaves}, {"library_leaves", k.library}};
  return j;
}

Table to_table(const RunModel& model, const std::vector<ConstantStudy>& studies) {
  Table t;
  t.title = fmt::format("Constants fitted to run records: {} (at most {})", studies.size(), ledger_limit);
  t.columns = {{"constant", false}, {"value"}, {"±"}, {"refitted"}, {"neutral"}, {"figures"}, {"correlated with", false},
               {"dropped:", false}, {"median"}, {"then"}, {"p90"}, {"then"}};
  for (const ConstantStudy& s : studies) {
    const FittedConstant& c = model.constants()[s.constant];
    const bool told = s.figures > 0;
    std::vector<std::string> cells{c.name, with_unit(c.value, c.unit), told ? fmt::format("{:.2g}", s.standard_error) : "",
                                   told ? number(s.refitted) : "", number(c.neutral), std::to_string(s.figures),
                                   s.partner == s.constant ? std::string()
                                                           : fmt::format("{:+.2f} {}", s.correlation, model.constants()[s.partner].name)};
    if (s.with.n > 0)
      cells.insert(cells.end(), {s.metric == Metric::step_time ? "step" : "memory", percent(s.with.median_abs),
                                 points(s.without.median_abs - s.with.median_abs), percent(s.with.p90_abs),
                                 points(s.without.p90_abs - s.with.p90_abs)});
    t.rows.push_back(std::move(cells));
  }
  t.notes.push_back("± is one standard error where the runs given would put it (clustered by source and model); correlation is the largest "
                    "in magnitude; dropped: the constant at its neutral value, nothing refitted, change in points on the figures it moves.");
  const KernelConstants k = kernel_constants();
  t.notes.push_back(fmt::format("Not in this list: constants fitted to kernel measurements ({} leaves of {} machines) and to collectives "
                                "({} leaves of the library's tuning).",
                                k.leaves, k.machines, k.library));
  return t;
}

Json to_json(const RunModel& model, const LeaveOutStudy& study, const std::string& by) {
  Json j{{"schema", 1}, {"leave_out", by}, {"ratio", study.ratio()}, {"shipped", errors(study.shipped)}, {"in", errors(study.in)},
         {"out", errors(study.out)}, {"classes", Json::array()}};
  for (const LeftOutClass& c : study.classes) {
    Json one{{"class", c.name}, {"shipped", errors(c.shipped)}, {"in", errors(c.in)}, {"out", errors(c.out)}, {"moved", Json::array()}};
    for (const auto& [k, z] : c.moved) one["moved"].push_back({{"constant", model.constants()[k].name}, {"standard_errors", z}});
    j["classes"].push_back(std::move(one));
  }
  return j;
}

Table to_table(const RunModel& model, const LeaveOutStudy& study, const std::string& by) {
  Table t;
  t.title = fmt::format("Each {} left out in turn: constants refitted without it, then predicted", by);
  t.columns = {{by, false}, {"timed"}, {"shipped"}, {"p90"}, {"fitted with"}, {"p90"}, {"without"}, {"p90"}, {"bias"}, {"ratio"},
               {"constants that move", false}};
  const auto row = [&](const std::string& name, const ErrorSummary& shipped, const ErrorSummary& in, const ErrorSummary& out,
                       std::string moved) {
    t.rows.push_back({name, std::to_string(in.n), percent(shipped.median_abs), percent(shipped.p90_abs), percent(in.median_abs),
                      percent(in.p90_abs), percent(out.median_abs), percent(out.p90_abs), points(out.bias) + " %",
                      fmt::format("{:.2f}", out.median_abs / in.median_abs), std::move(moved)});
  };
  constexpr std::size_t shown = 2;
  for (const LeftOutClass& c : study.classes) {
    std::string moved;
    for (std::size_t i = 0; i < std::min(shown, c.moved.size()); ++i)
      moved += fmt::format("{}{} {:+.1f} SE", i == 0 ? "" : ", ", model.constants()[c.moved[i].first].name, c.moved[i].second);
    row(c.name, c.shipped, c.in, c.out, moved);
  }
  row("all", study.shipped, study.in, study.out, {});
  t.notes.push_back(fmt::format("Median and p90 of |predicted / measured - 1| of the step time. \"all\": every run under the fit that did not see "
                                "its {}; ratio of the medians {:.2f}. Fits start from no knowledge of runs (the neutral values, wide priors).",
                                by, study.ratio()));
  return t;
}

}  // namespace

std::string constants_report(const std::vector<SourceText>& sources, const Executor& executor, OutputFormat format) {
  const RunModel model = model_of(sources, executor);
  const auto studies = study_constants(model);
  return format == OutputFormat::json ? to_json(model, studies).dump(2) + "\n" : render(to_table(model, studies), format);
}

std::string leave_out_report(const std::vector<SourceText>& sources, const std::string& by, const Executor& executor,
                             OutputFormat format) {
  const auto known = std::find(leave_out_names.begin(), leave_out_names.end(), by);
  if (known == leave_out_names.end()) throw InputError("--leave-out: \"" + by + "\" is not known; write model, scale, framework or hardware");
  const RunModel model = model_of(sources, executor);
  const auto study = leave_out(model, static_cast<LeaveOut>(known - leave_out_names.begin()));
  return format == OutputFormat::json ? to_json(model, study, by).dump(2) + "\n" : render(to_table(model, study, by), format);
}

}  // namespace napkin::cli
