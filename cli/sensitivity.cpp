#include "cli/sensitivity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/cells.hpp"
#include "cli/prediction_view.hpp"
#include "model/decision/elasticity.hpp"
#include "model/step/prediction.hpp"
#include "model/text.hpp"

namespace napkin::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Answer {
  Run run;  // with the layout taken
  Seconds time{};
  bool fixed = false;
  std::vector<Elasticity> elasticities;  // largest first
  std::vector<Upgrade> upgrades;
};

std::string dotted(const ConstantInfo& c) {
  std::string s = c.label.substr(1);
  std::replace(s.begin(), s.end(), '/', '.');
  return s;
}
std::string share(double v) {
  return fmt::format("{:+.1f} %", 100 * v);
}
double gain(Seconds now, Seconds before) {
  return double(now / before) - 1;
}

Table elasticity_table(const Answer& a, std::size_t top, OutputFormat format) {
  const bool csv = format == OutputFormat::csv;
  Table t;
  t.title = fmt::format("{}: {}\n\nWhat the step time hangs on: change of the step for 1 % more of a constant",
                        headline(a.run), napkin::format(a.time));
  t.columns = {{"constant", false}, {"value", true}, {"kind", false}, {csv ? "elasticity" : "same layout", true}};
  if (!a.fixed)
    t.columns.insert(t.columns.end(),
                     {{csv ? "elasticity_replanned" : "best layout", true}, {csv ? "layout_changes" : "which", false}});
  t.columns.push_back({"source", false});
  for (std::size_t i = 0; i < std::min(top, a.elasticities.size()); ++i) {
    const Elasticity& e = a.elasticities[i];
    if (!csv && std::abs(e.kept) < 5e-5 && std::abs(e.replanned.value_or(0)) < 5e-5) break;
    const auto number = [&](double v) { return csv ? fmt::format("{:.6g}", v) : fmt::format("{:+.3f} %", v); };
    std::vector<std::string> cells{
        dotted(e.constant), csv ? fmt::format("{:.9g}", e.constant.si) : napkin::format(e.constant.dim, e.constant.si),
        e.constant.source ? std::string(to_string(e.constant.source->kind)) : std::string(), number(e.kept)};
    if (!a.fixed)
      cells.insert(cells.end(), {e.replanned ? number(*e.replanned)
                                 : csv       ? ""
                                             : "-",
                                 !e.replanned       ? ""
                                 : e.layout_changes ? "changes"
                                                    : "the same"});
    cells.push_back(e.constant.place);
    t.rows.push_back(std::move(cells));
  }
  t.notes.push_back(
      fmt::format("Central differences of +-{:.0f} % through the evaluator. Every second comes from some constant: "
                  "times less rates add up to {:.3f} (1 by "
                  "dimensional analysis).",
                  100 * elasticity_step, time_weight(a.elasticities)));
  return t;
}

Table upgrade_table(const Answer& a) {
  Table t;
  t.title = "Which upgrade buys most";
  t.columns = {{"upgrade", false}, {"step, same layout", true}, {"", true}};
  if (!a.fixed)
    t.columns.insert(t.columns.end(), {{"step, best layout", true}, {"", true}, {"best layout then", false}});
  for (const Upgrade& u : a.upgrades) {
    std::vector<std::string> cells{u.name, format(u.kept), share(gain(u.kept, a.time))};
    if (!a.fixed && u.best)
      cells.insert(cells.end(), {format(u.best->cost.time), share(gain(u.best->cost.time, a.time)),
                                 u.best->layout == a.run.layout ? "the same" : describe(u.best->layout)});
    t.rows.push_back(std::move(cells));
  }
  return t;
}

Json answer_json(const Answer& a, const PointJob& at) {
  Json j{{"schema", 1},
         {"mode", a.fixed ? "fixed-layout" : "best-layout"},
         {"run", run_record_json(at.request, a.run)},
         {"step_time_s", a.time.si()},
         {"difference", elasticity_step},
         {"time_weight", time_weight(a.elasticities)}};
  j["elasticities"] = Json::array();
  for (const Elasticity& e : a.elasticities) {
    Json& row = j["elasticities"].emplace_back(Json{{"constant", dotted(e.constant)},
                                                    {"path", e.constant.path},
                                                    {"value", e.constant.si},
                                                    {"place", e.constant.place},
                                                    {"elasticity", e.kept}});
    if (e.constant.source) row["kind"] = to_string(e.constant.source->kind), row["source"] = e.constant.source->text;
    if (e.replanned) row["elasticity_replanned"] = *e.replanned, row["layout_changes"] = e.layout_changes;
  }
  j["upgrades"] = Json::array();
  for (const Upgrade& u : a.upgrades) {
    Json& row = j["upgrades"].emplace_back(
        Json{{"upgrade", u.name}, {"step_time_s", u.kept.si()}, {"change", gain(u.kept, a.time)}});
    if (u.best)
      row["best"] = {{"step_time_s", u.best->cost.time.si()},
                     {"change", gain(u.best->cost.time, a.time)},
                     {"layout", layout_json(u.best->layout)},
                     {"words", describe(u.best->layout)}};
  }
  return j;
}

}  // namespace

void print_sensitivity(const Study& study, std::size_t top, const Executor& executor, OutputFormat format,
                       Session& session) {
  if (study.points() != 1) throw InputError("--sensitivity: takes one point; give each axis one value");
  const PointJob at = resolve_point(study, 0);
  const ScaledJob scaled(at.run.job, at.scaled);
  const Problem problem{.job = scaled.job(), .space = at.space, .keep = 1, .margin = study.margin};
  Answer a{.run = at.run, .time = {}, .fixed = study.fixed, .elasticities = {}, .upgrades = {}};
  a.run.job = scaled.job();
  if (study.fixed) {
    a.time = predict(Scope<Plain>(), a.run.job, a.run.layout, a.run.convention).step.time;
  } else {
    const auto best = best_layout(problem, executor);
    if (!best) {
      session.exit_code = 1;
      note("no layout fits; `napkin plan` says what would");
      return;
    }
    a.run.layout = best->layout;
    a.time = best->cost.time;
  }
  a.elasticities = elasticities(a.run.job, a.run.layout);
  std::stable_sort(a.elasticities.begin(), a.elasticities.end(),
                   [](const Elasticity& x, const Elasticity& y) { return std::abs(x.kept) > std::abs(y.kept); });
  if (!study.fixed) {
    std::vector<Elasticity> largest(
        a.elasticities.begin(),
        a.elasticities.begin() + static_cast<std::ptrdiff_t>(std::min(top, a.elasticities.size())));
    replan(problem, a.run.layout, executor, largest);
    std::copy(largest.begin(), largest.end(), a.elasticities.begin());
  }
  a.upgrades = upgrades(a.run.job, a.run.layout, study.fixed ? nullptr : &problem, executor);
  if (format == OutputFormat::json) return print(answer_json(a, at).dump(2) + "\n");
  print(render(elasticity_table(a, top, format), format));
  if (format != OutputFormat::csv) print("\n" + render(upgrade_table(a), format));
}

}  // namespace napkin::cli
