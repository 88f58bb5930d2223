#include "cli/validation_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/cells.hpp"
#include "model/text.hpp"

namespace napkin::cli {
namespace {

using namespace validation;

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }
std::string signed_percent(double share) { return fmt::format("{:+.1f} %", 100 * share); }
std::string whole(std::size_t n) { return fmt::format("{}", n); }

// n, median, p90, bias.
void append(std::vector<std::string>& cells, const ErrorSummary& e) {
  if (e.n == 0) {
    cells.insert(cells.end(), {"0", "", "", ""});
    return;
  }
  cells.insert(cells.end(), {whole(e.n), percent(e.median_abs), percent(e.p90_abs), signed_percent(e.bias)});
}

const ErrorSummary& of(const ClassSummary& c, Metric m) { return c.metrics[static_cast<std::size_t>(m)]; }

// The memory figure a class has most rows of.
Metric memory_metric(const ClassSummary& c) {
  return of(c, Metric::reserved).n > of(c, Metric::allocated).n ? Metric::reserved : Metric::allocated;
}

std::vector<const Replay*> worst(const std::vector<Replay>& rows, std::size_t shown, auto error) {
  std::vector<const Replay*> v;
  for (const Replay& r : rows)
    if (!r.run.suspect && error(r)) v.push_back(&r);
  std::stable_sort(v.begin(), v.end(), [&](const Replay* a, const Replay* b) { return std::abs(*error(*a)) > std::abs(*error(*b)); });
  if (v.size() > shown) v.resize(shown);
  return v;
}

}  // namespace

Table metric_table(const Summary& s) {
  Table t;
  t.title = "Predicted / measured − 1";
  t.columns = {{"metric", false}, {"n"}, {"median"}, {"nine in ten"}, {"bias"}, {"worst"}};
  const auto row = [&](std::string name, const ErrorSummary& e) {
    if (e.n == 0) return;
    std::vector<std::string> cells{std::move(name)};
    append(cells, e);
    cells.push_back(signed_percent(e.worst));
    t.rows.push_back(std::move(cells));
  };
  for (std::size_t i = 0; i < metric_count; ++i) row(std::string(metric_names[i]), s.all.metrics[i]);
  row("allocated, each rank", s.all.allocated_by_rank);
  row("step_time of suspect rows", of(s.suspect, Metric::step_time));
  return t;
}

Table class_table(const std::string& title, const std::string& column, const std::map<std::string, ClassSummary>& classes) {
  Table t;
  t.title = title;
  t.columns = {{column, false}, {"rows"}, {"refused"}, {"timed"}, {"median"}, {"p90"}, {"bias"}, {"per doubling"}, {"memory", false}, {"n"}, {"median"}, {"p90"}, {"bias"}};
  std::vector<const std::pair<const std::string, ClassSummary>*> order;
  for (const auto& entry : classes) order.push_back(&entry);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->second.rows > b->second.rows; });
  for (const auto* entry : order) {
    const ClassSummary& c = entry->second;
    std::vector<std::string> cells{entry->first.empty() ? "(not named)" : entry->first, whole(c.rows), whole(c.refused)};
    append(cells, of(c, Metric::step_time));
    cells.push_back(c.per_doubling ? fmt::format("{:+.1f}", 100 * *c.per_doubling) : std::string());
    const Metric memory = memory_metric(c);
    if (of(c, memory).n > 0) {
      cells.emplace_back(metric_names[static_cast<std::size_t>(memory)]);
      append(cells, of(c, memory));
    }
    t.rows.push_back(std::move(cells));
  }
  return t;
}

Table kind_table(const Summary& s) {
  Table t;
  t.title = "By kind of record (runs by their step, everything else by its own time)";
  t.columns = {{"kind", false}, {"n"}, {"median"}, {"p90"}, {"bias"}};
  for (const auto& [kind, e] : s.by_kind) {
    std::vector<std::string> cells{kind};
    append(cells, e);
    t.rows.push_back(std::move(cells));
  }
  if (s.by_kind.size() == 1 && s.by_kind.begin()->first == "run") t.rows.clear();
  return t;
}

Table collective_table(const Summary& s) {
  Table t;
  t.title = "Collectives by machine, operation, ranks and size";
  t.columns = {{"machine", false}, {"operation", false}, {"ranks"}, {"bytes", false}, {"n"}, {"median"}, {"p90"}, {"bias"}};
  for (const CollectiveClass& c : s.collectives) {
    std::vector<std::string> cells{c.hardware, c.operation, whole(static_cast<std::size_t>(c.ranks)), c.sizes};
    append(cells, c.errors);
    t.rows.push_back(std::move(cells));
  }
  return t;
}

Table fit_table(const Summary& s) {
  const FitSummary& f = s.fit;
  Table t;
  t.title = "Does it fit? (predicted: central device bytes above capacity)";
  t.columns = {{"", false}, {"ran"}, {"out of memory"}};
  if (f.n == 0) return t;
  const std::size_t ran = f.n - f.measured_out;
  t.rows = {{"predicted to fit", whole(ran - f.false_ooms), whole(f.false_fits)},
            {"predicted not to fit", whole(f.false_ooms), whole(f.caught)}};
  t.notes.push_back(fmt::format("accuracy {} of {} rows{}", percent(f.accuracy()), f.n,
                                f.measured_out > 0 ? fmt::format(", recall of the rows that ran out of memory {}",
                                                                 percent(static_cast<double>(f.caught) / static_cast<double>(f.measured_out)))
                                                   : std::string()));
  if (f.band > 0)
    t.notes.push_back(fmt::format("rows predicted at {:.0f}–{:.0f} % of capacity: {} of {} right ({})", 100 * band_from,
                                  100 * band_to, f.band_right, f.band,
                                  percent(static_cast<double>(f.band_right) / static_cast<double>(f.band))));
  return t;
}

Table group_table(const Summary& s, std::size_t shown) {
  Table t;
  t.title = "Choosing the fastest layout that fits, per group of runs of one job";
  t.columns = {{"job", false}, {"cluster", false}, {"rows"}, {"ran"}, {"Spearman"}, {"regret"}, {"our pick", false}};
  std::vector<double> rank, regret;
  std::size_t out = 0;
  for (const GroupSummary& g : s.groups) {
    if (g.spearman) rank.push_back(*g.spearman);
    if (g.regret) regret.push_back(*g.regret);
    out += g.picked_out_of_memory;
    if (t.rows.size() >= shown) continue;
    t.rows.push_back({g.name, g.cluster_state, whole(g.n), whole(g.ran), g.spearman ? fmt::format("{:.2f}", *g.spearman) : "",
                      g.regret ? percent(*g.regret) : "",
                      g.picked.empty() ? "none predicted to fit" : g.picked_out_of_memory ? g.picked + " ran out of memory" : g.picked});
  }
  if (!regret.empty()) {
    double sum = 0;
    for (const double v : regret) sum += v;
    t.notes.push_back(fmt::format("{} groups: Spearman median {}, regret mean {}, median {}; picks that ran out of memory: {}",
                                  s.groups.size(), rank.empty() ? "-" : fmt::format("{:.2f}", percentile(rank, 0.5)),
                                  percent(sum / static_cast<double>(regret.size())), percent(percentile(regret, 0.5)), out));
  }
  return t;
}

Table worst_table(const std::vector<Replay>& rows, std::size_t shown) {
  Table t;
  t.title = "Furthest off in step time";
  t.columns = {{"run", false}, {"model", false}, {"class", false}, {"layout", false}, {"measured"}, {"predicted"}, {"error"}, {"largest terms", false}};
  for (const Replay* r : worst(rows, shown, [](const Replay& x) { return at(x.error, Metric::step_time); })) {
    const auto seconds = [&](const Figures& f) { return format(Seconds::si(*at(f, Metric::step_time))); };
    std::array<std::size_t, term_count> order{};
    for (std::size_t i = 0; i < term_count; ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return r->terms[a] > r->terms[b]; });
    std::string terms;
    for (std::size_t i = 0; i < 3; ++i)
      terms += fmt::format("{}{} {:.0f} %", i == 0 ? "" : ", ", term_names[order[i]],
                           100 * r->terms[order[i]] / *at(r->predicted, Metric::step_time));
    t.rows.push_back({r->run.id, r->run.model, class_of(r->run), r->layout, seconds(r->measured.figures), seconds(r->predicted),
                      signed_percent(*at(r->error, Metric::step_time)), terms});
  }
  return t;
}

Table worst_memory_table(const std::vector<Replay>& rows, std::size_t shown) {
  const auto metric = [](const Replay& r) { return at(r.error, Metric::allocated) ? Metric::allocated : Metric::reserved; };
  Table t;
  t.title = "Furthest off in memory";
  t.columns = {{"run", false}, {"model", false}, {"class", false}, {"layout", false}, {"figure", false}, {"measured"}, {"predicted"}, {"error"}};
  for (const Replay* r : worst(rows, shown, [&](const Replay& x) { return at(x.error, metric(x)); })) {
    const Metric m = metric(*r);
    const auto bytes = [&](const Figures& f) { return format_gib(Bytes::si(*at(f, m))); };
    t.rows.push_back({r->run.id, r->run.model, class_of(r->run), r->layout, std::string(metric_names[static_cast<std::size_t>(m)]),
                      bytes(r->measured.figures), bytes(r->predicted), signed_percent(*at(r->error, m))});
  }
  return t;
}

Table residual_table(const Summary& s) {
  Table t;
  t.title = "What would explain the residual: one term of the step scaled by one constant, per class";
  t.columns = {{"class", false}, {"timed"}, {"median now"}, {"term", false}, {"scaled by"}, {"median then"}, {"next best", false}};
  std::vector<const std::pair<const std::string, ClassSummary>*> order;
  for (const auto& entry : by(s, "class"))
    if (!entry.second.explained.empty()) order.push_back(&entry);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return of(a->second, Metric::step_time).median_abs > of(b->second, Metric::step_time).median_abs;
  });
  for (const auto* entry : order) {
    const ClassSummary& c = entry->second;
    const TermScale& best = c.explained.front();
    std::string next;
    for (std::size_t i = 1; i < c.explained.size(); ++i)
      next += fmt::format("{}{} × {:.2f} → {}", i == 1 ? "" : ", ", term_names[static_cast<std::size_t>(c.explained[i].term)],
                          c.explained[i].scale, percent(c.explained[i].median_abs));
    t.rows.push_back({entry->first, whole(of(c, Metric::step_time).n), percent(of(c, Metric::step_time).median_abs),
                      std::string(term_names[static_cast<std::size_t>(best.term)]), fmt::format("{:.2f}", best.scale),
                      percent(best.median_abs), next});
  }
  return t;
}

Table refused_table(const Summary& s) {
  Table t;
  t.title = fmt::format("Refused: {} of {} rows", s.refused, s.rows);
  t.columns = {{"rows"}, {"reason", false}};
  std::vector<std::pair<std::size_t, std::string>> order;
  for (const auto& [reason, n] : s.reasons) order.emplace_back(n, reason);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [n, reason] : order) t.rows.push_back({whole(n), reason});
  return t;
}

Table comparison_table(const Replay& r) {
  Table t;
  t.title = r.run.id + ": " + class_of(r.run) + ", " + r.layout;
  t.columns = {{"figure", false}, {"measured"}, {"predicted"}, {"error"}, {"", false}};
  const auto text = [](Metric m, double v) {
    switch (m) {
      case Metric::allocated:
      case Metric::reserved:
      case Metric::static_states: return format_gib(Bytes::si(v));
      case Metric::tokens_per_s_per_gpu:
      case Metric::tflops_per_gpu: return fmt::format("{:.1f}", v);
      case Metric::mfu: return percent(v);
      default: return format(Seconds::si(v));
    }
  };
  for (std::size_t i = 0; i < metric_count; ++i) {
    if (!r.measured.figures[i]) continue;
    t.rows.push_back({std::string(metric_names[i]), text(static_cast<Metric>(i), *r.measured.figures[i]),
                      text(static_cast<Metric>(i), *r.predicted[i]), r.error[i] ? signed_percent(*r.error[i]) : "",
                      r.measured.derived[i] ? "derived" : r.error[i] ? "" : "no convention given: not compared"});
  }
  t.notes.push_back(fmt::format("predicted to use {} of the device's memory: {}", percent(r.usage), to_string(r.verdict)));
  return t;
}

Table constant_table(const std::vector<ConstantCount>& counts) {
  Table t;
  t.title = "Constants: how many, and how obtained";
  t.columns = {{"file", false}, {"of", false}, {"rows"}, {"datasheet"}, {"measured"}, {"fitted"}, {"assumed"}};
  std::map<Evidence, std::size_t> sum;
  for (const ConstantCount& c : counts) {
    std::vector<std::string> cells{c.file, c.machine ? "machine" : "framework", whole(c.rows)};
    for (const Evidence e : {Evidence::datasheet, Evidence::measured, Evidence::fitted, Evidence::assumed}) {
      const auto at = c.by_kind.find(e);
      const std::size_t n = at == c.by_kind.end() ? 0 : at->second;
      sum[e] += c.machine ? 0 : n;
      cells.push_back(whole(n));
    }
    t.rows.push_back(std::move(cells));
  }
  t.notes.push_back(fmt::format("framework profiles state {} fitted, {} measured, {} assumed and {} documented constants; "
                                "a machine's are fitted to kernels and collectives, not to runs",
                                sum[Evidence::fitted], sum[Evidence::measured], sum[Evidence::assumed], sum[Evidence::datasheet]));
  return t;
}

std::string validation_report(const std::vector<Replay>& rows, const Summary& s, std::size_t shown, OutputFormat format) {
  constexpr std::array<std::pair<const char*, const char*>, 4> breakdowns{{
      {"source", "By source"}, {"family", "By family of model"}, {"task", "By task"}, {"cluster_state", "By state of the cluster"}}};
  const bool md = format == OutputFormat::md;
  std::vector<Table> tables;
  // For a reader, what to expect; at a terminal, the worst first.
  if (md) tables.push_back(class_table("By framework", "framework", by(s, "framework")));
  tables.push_back(worst_table(rows, shown));
  tables.push_back(worst_memory_table(rows, shown));
  tables.push_back(metric_table(s));
  tables.push_back(class_table("By framework, hardware and precision", "class", by(s, "class")));
  for (const auto& [dimension, title] : breakdowns)
    if (by(s, dimension).size() > 1) tables.push_back(class_table(title, dimension, by(s, dimension)));
  tables.push_back(kind_table(s));
  tables.push_back(collective_table(s));
  tables.push_back(residual_table(s));
  tables.push_back(fit_table(s));
  tables.push_back(group_table(s, shown));
  tables.push_back(refused_table(s));
  tables.push_back(constant_table(constants_of(rows)));
  std::string text;
  for (Table& t : tables) {
    if (t.rows.empty()) continue;
    if (!text.empty()) text += '\n';
    if (md) text += "## " + std::exchange(t.title, {}) + "\n\n";
    text += render(t, format);
  }
  return text;
}

Table row_table(const std::vector<Replay>& rows) {
  Table t;
  for (const char* words : {"id", "framework", "hardware", "precision", "layout", "suspect", "refused", "verdict_predicted", "oom_measured"})
    t.columns.push_back({words, false});
  for (const auto key : metric_keys)
    for (const char* side : {"measured_", "predicted_"}) t.columns.push_back({side + std::string(key)});
  for (const Replay& r : rows) {
    const bool predicted = r.refused.empty();
    std::vector<std::string> cells{r.run.id, r.run.framework, r.run.hardware, r.run.precision, r.layout,
                                   r.run.suspect ? "true" : "false", r.refused,
                                   predicted ? std::string(to_string(r.verdict)) : std::string(),
                                   r.measured.out_of_memory ? (*r.measured.out_of_memory ? "true" : "false") : ""};
    for (std::size_t i = 0; i < metric_count; ++i)
      for (const Figures* f : {&r.measured.figures, &r.predicted})
        cells.push_back((*f)[i] ? fmt::format("{:.9g}", *(*f)[i]) : std::string());
    t.rows.push_back(std::move(cells));
  }
  return t;
}

}  // namespace napkin::cli
