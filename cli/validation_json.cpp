// The JSON of `napkin validate`.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/validation_view.hpp"
#include "model/text.hpp"
#include "model/validation/residual_classes.hpp"

namespace napkin::cli {
namespace {

using namespace validation;
using Json = nlohmann::ordered_json;

Json errors_json(const ErrorSummary& e) {
  Json j{{"n", e.n}};
  if (e.n > 0) {
    j["median_abs_pct"] = 100 * e.median_abs;
    j["p90_abs_pct"] = 100 * e.p90_abs;
    j["bias_pct"] = 100 * e.bias;
    j["worst_pct"] = 100 * e.worst;
  }
  return j;
}

// All metrics at the top, only those with rows in a class.
void put_metrics(Json& j, const ClassSummary& c, bool all) {
  for (std::size_t i = 0; i < metric_count; ++i)
    if (all || c.metrics[i].n > 0) j[std::string(metric_names[i])] = errors_json(c.metrics[i]);
  if (all || c.allocated_by_rank.n > 0) j["allocated_by_rank"] = errors_json(c.allocated_by_rank);
}

Json class_json(const ClassSummary& c) {
  Json j{{"rows", c.rows}, {"refused", c.refused}};
  put_metrics(j, c, false);
  if (c.per_doubling) j["step_time_pct_per_doubling"] = 100 * *c.per_doubling;
  for (const TermScale& t : c.explained)
    j["residual"].push_back({{"term", term_names[static_cast<std::size_t>(t.term)]},
                             {"scale", t.scale},
                             {"median_abs_pct", 100 * t.median_abs}});
  return j;
}

Json classes_json(const std::map<std::string, ClassSummary>& classes) {
  Json j = Json::object();
  for (const auto& [name, c] : classes) j[name] = class_json(c);
  return j;
}

Json figures_json(const Figures& f, double scale, bool with_units) {
  Json j = Json::object();
  for (std::size_t i = 0; i < metric_count; ++i)
    if (f[i]) j[std::string(with_units ? metric_keys[i] : metric_names[i])] = scale * *f[i];
  return j;
}

Json row_json(const Replay& r) {
  Json j{{"id", r.run.id}, {"place", r.run.place}};
  const auto word = [&](const char* key, const std::string& v) {
    if (!v.empty()) j[key] = v;
  };
  word("kind", r.run.kind);
  word("framework", r.run.framework);
  word("hardware", r.run.hardware);
  word("precision", r.run.precision);
  word("model", r.run.model);
  word("layout", r.layout);
  word("cluster_state", r.run.cluster_state);
  if (r.run.suspect) j["suspect"] = true;
  word("refused", r.refused);
  j["measured"] = figures_json(r.measured.figures, 1, true);
  for (std::size_t i = 0; i < metric_count; ++i)
    if (r.measured.derived[i]) j["measured"]["derived"].push_back(metric_keys[i]);
  for (const double b : r.measured.allocated_by_rank) j["measured"]["allocated_by_rank_bytes"].push_back(b);
  j["predicted"] = figures_json(r.predicted, 1, true);
  for (const double b : r.predicted_by_rank) j["predicted"]["allocated_by_rank_bytes"].push_back(b);
  j["error_pct"] = figures_json(r.error, 100, false);
  for (const double e : r.error_by_rank) j["error_pct"]["allocated_by_rank"].push_back(100 * e);
  for (const PartTime& part : r.parts) {
    const std::string key = part.what.empty() ? "time" : part.what;
    j["measured"][key + "_s"] = part.measured;
    j["predicted"][key + "_s"] = part.predicted;
    j["error_pct"][key] = 100 * part.error();
  }
  if (r.run.kind != "run") return j;
  j["verdict"] = Json::object();
  if (r.refused.empty()) {
    j["verdict"]["predicted"] = to_string(r.verdict);
    j["verdict"]["share_of_capacity"] = r.usage;
    for (std::size_t t = 0; t < term_count; ++t)
      if (r.terms[t] > 0) j["predicted"]["breakdown_s"][std::string(term_names[t])] = r.terms[t];
  }
  if (r.measured.out_of_memory)
    j["verdict"]["measured"] = to_string(*r.measured.out_of_memory ? Verdict::does_not_fit : Verdict::fits);
  return j;
}

Json fit_json(const FitSummary& f) {
  Json j{{"n", f.n}};
  if (f.n > 0) j["accuracy"] = f.accuracy();
  if (f.measured_out > 0) j["recall"] = static_cast<double>(f.caught) / static_cast<double>(f.measured_out);
  j["out_of_memory"] = f.measured_out;
  j["false_fits"] = f.false_fits;
  j["false_ooms"] = f.false_ooms;
  j["band"] = {{"n", f.band}, {"from", band_from}, {"to", band_to}};
  if (f.band > 0) j["band"]["accuracy"] = static_cast<double>(f.band_right) / static_cast<double>(f.band);
  return j;
}

Json group_json(const GroupSummary& g) {
  Json j{{"group", g.name}, {"n", g.n}, {"ran", g.ran}};
  if (!g.cluster_state.empty()) j["cluster_state"] = g.cluster_state;
  if (g.spearman) j["spearman"] = *g.spearman;
  if (g.regret) j["regret_pct"] = 100 * *g.regret;
  j["best"] = g.best;
  if (!g.picked.empty()) j["picked"] = g.picked;
  j["picked_out_of_memory"] = g.picked_out_of_memory;
  return j;
}

}  // namespace

std::string residuals_file(const std::vector<Replay>& rows, const std::string& files, const std::vector<Replay>& embedded) {
  const auto ratio = [](double v) { return fmt::format("{:.4g}", v); };
  const auto classes = residual_classes(rows);
  const Summary all = summarise(rows);
  const ErrorSummary time = summarise(embedded).all.metrics[static_cast<std::size_t>(Metric::step_time)];
  std::string lines;
  for (const auto& [key, c] : classes) {
    std::string line;
    const auto word = [&](const char* name, const std::string& v) {
      if (!v.empty()) line += fmt::format("\"{}\": {}, ", name, Json(v).dump());
    };
    word("framework", key.framework);
    word("hardware", key.hardware);
    word("precision", key.precision);
    word("kind", key.kind);
    const auto range = [&](const char* name, const std::optional<RangeOf>& r) {
      if (r)
        line += fmt::format("\"{}\": {{\"n\": {}, \"low\": {}, \"high\": {}, \"nine_in_ten\": {}}}, ", name, r->n, ratio(r->low), ratio(r->high),
                            ratio(r->nine_in_ten));
    };
    range("time", c.time);
    range("memory", c.memory);
    line.resize(line.size() - 2);
    lines += fmt::format("{}    {{{}}}", lines.empty() ? "" : ",\n", line);
  }
  return fmt::format("{{\n  \"schema\": 1,\n  \"about\": \"measured / predicted of replayed runs: quantiles that eight in ten further runs are expected "
                     "between, and what nine in ten errors stay below, by class; time: the step, memory: reserved or allocated bytes. Written by "
                     "napkin validate --write-intervals\",\n  \"source\": {},\n  \"kind\": \"measured\",\n  \"coverage\": {},\n"
                     "  \"embedded\": {{\"rows\": {}, \"median\": {}, \"nine_in_ten\": {}}},\n  \"classes\": [\n{}\n  ]\n}}\n",
                     Json(fmt::format("{} measured step times replayed: {}",
                                      format_count(static_cast<double>(all.all.metrics[static_cast<std::size_t>(Metric::step_time)].n)), files))
                         .dump(),
                     interval_coverage, time.n, ratio(time.median_abs), ratio(time.p90_abs), lines);
}

Json validation_json(const std::vector<Replay>& rows, const Summary& s) {
  Json j{{"schema", 1}, {"rows", Json::array()}};
  for (const Replay& r : rows) j["rows"].push_back(row_json(r));
  Json& t = j["summary"];
  t["n"] = s.rows;
  t["refused"] = {{"n", s.refused}, {"reasons", Json::object()}};
  for (const auto& [reason, n] : s.reasons) t["refused"]["reasons"][reason] = n;
  put_metrics(t, s.all, true);
  for (std::size_t i = 0; i < dimensions().size(); ++i)
    t["by_" + std::string(dimensions()[i].name)] = classes_json(s.by[i]);
  t["by_kind"] = Json::object();
  for (const auto& [kind, e] : s.by_kind) t["by_kind"][kind] = errors_json(e);
  t["collectives"] = Json::array();
  for (const CollectiveClass& c : s.collectives) {
    Json one{{"hardware", c.hardware}, {"operation", c.operation}, {"ranks", c.ranks}, {"sizes", c.sizes}};
    one.update(errors_json(c.errors));
    t["collectives"].push_back(std::move(one));
  }
  t["fit"] = fit_json(s.fit);
  t["groups"] = Json::array();
  for (const GroupSummary& g : s.groups) t["groups"].push_back(group_json(g));
  t["suspect"] = class_json(s.suspect);
  return j;
}

}  // namespace napkin::cli
