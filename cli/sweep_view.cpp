#include "cli/sweep_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "cli/cells.hpp"
#include "cli/plot.hpp"
#include "model/decision/curve.hpp"
#include "model/text.hpp"

namespace napkin::cli {
namespace {

using Json = nlohmann::ordered_json;
using Of = SweepAxis::Of;

constexpr std::size_t most_curves = 12;
constexpr double tie = 0.005;  // closer than this no curve leads

bool ok(const Json& row) {
  return row.at("status") == "ok";
}
std::string text(const Json& row, const char* key) {
  return row.contains(key) ? row.at(key).get<std::string>() : std::string();
}

std::string axis_title(const SweepAxis& a) {
  return a.of == Of::constant ? a.name + " x" : a.name;
}
std::string cell_of(const SweepAxis& a, std::size_t i, OutputFormat format) {
  const bool counts = a.name == "gpus" && format != OutputFormat::csv;
  if (format == OutputFormat::csv && !a.numbers.empty()) return fmt::format("{:.12g}", a.numbers[i]);
  return counts ? format_count(a.numbers[i]) : a.values[i];
}

// The points of one curve: the first swept axis runs, the others stand at one value each.
struct CurvePoints {
  std::string name;                 // "hw h100, pp 4"; empty when there is only one
  std::vector<std::size_t> points;  // along x
};

std::vector<CurvePoints> curves_of(const Study& study) {
  const auto swept = study.swept();
  if (swept.empty()) return {};
  std::vector<CurvePoints> curves;
  std::map<std::vector<std::size_t>, std::size_t> known;
  for (std::size_t p = 0; p < study.points(); ++p) {
    auto key = study.position(p);
    key[swept.front()] = 0;
    const auto [at, fresh] = known.try_emplace(key, curves.size());
    if (fresh) {
      CurvePoints c;
      for (std::size_t i = 1; i < swept.size(); ++i) {
        const SweepAxis& a = study.axes[swept[i]];
        c.name += (c.name.empty() ? "" : ", ") + axis_title(a) + ' ' + cell_of(a, key[swept[i]], OutputFormat::table);
      }
      curves.push_back(std::move(c));
    }
    curves[at->second].points.push_back(p);
  }
  return curves;
}

// The terms in which `other` takes longest against `row`: "bubble +200 ms".
std::string largest_loss(const Json& row, const Json& other) {
  std::string most;
  double loss = 0;
  for (const auto& [term, v] : other.at("breakdown_s").items()) {
    const double d = v.get<double>() - row.at("breakdown_s").at(term).get<double>();
    if (d > loss) loss = d, most = term;
  }
  return most.empty() ? std::string("nothing") : most + " +" + format(Seconds::si(loss));
}

// "--micro-batch: rule "..." is broken: batch 8 over dp 16; a batch of 16 would divide" without the flag and the
// advice: nobody gave the flag here.
std::string brief(std::string why) {
  if (const auto colon = why.find(": "); why.starts_with("--") && colon != why.npos) why.erase(0, colon + 2);
  return why.substr(0, why.find("; "));
}

Json change_between(const SweepResult& r, std::size_t before, std::size_t after, const std::string& curve) {
  const Json &a = r.rows[before], &b = r.rows[after];
  Json change{
      {"from", a.at("at")}, {"to", b.at("at")}, {"layout_before", a.at("words")}, {"layout_after", b.at("words")}};
  if (!curve.empty()) change["curve"] = curve;
  // The old shape at the new point says what the change is for.
  const Json old = evaluate_layout(r.study, after, text(a, "shape"));
  if (!ok(old)) {
    change["before_there"] = {{"status", old.at("status")}, {"why", brief(text(old, "why"))}};
    return change;
  }
  const double more = old.at("step_time_s").get<double>() / b.at("step_time_s").get<double>() - 1;
  change["before_there"] = {{"status", "ok"},
                            {"layout", old.at("words")},
                            {"step_time_s", old.at("step_time_s")},
                            {"slower", more},
                            {"mostly", largest_loss(b, old)}};
  return change;
}

// Curves that can be compared at one x: the same job in every respect but these.
bool comparable(const Study& study) {
  const auto swept = study.swept();
  constexpr std::array jobs{"gpus", "seq", "batch", "model"};
  return std::none_of(swept.begin() + 1, swept.end(), [&](std::size_t a) {
    return std::find(jobs.begin(), jobs.end(), study.axes[a].name) != jobs.end();
  });
}

}  // namespace

void find_changes(SweepResult& r) {
  r.changes = Json::array();
  r.crossovers = Json::array();
  const auto curves = curves_of(r.study);
  if (curves.empty()) return;
  const SweepAxis& x = r.study.axes[r.study.swept().front()];
  // Along an axis that limits the search, layouts change because they must.
  if (!r.study.fixed && !x.numbers.empty() && x.of != Of::space)
    for (const CurvePoints& c : curves) {
      std::optional<std::size_t> last;
      for (const std::size_t p : c.points) {
        if (!ok(r.rows[p])) continue;
        if (last && text(r.rows[*last], "shape") != text(r.rows[p], "shape"))
          r.changes.push_back(change_between(r, *last, p, c.name));
        last = p;
      }
    }
  if (curves.size() < 2 || !comparable(r.study)) return;
  std::vector<Curve> times;
  for (const CurvePoints& c : curves) {
    Curve t;
    for (const std::size_t p : c.points)
      t.push_back(ok(r.rows[p]) ? std::optional(r.rows[p].at("step_time_s").get<double>()) : std::nullopt);
    times.push_back(std::move(t));
  }
  for (const Crossing& c : crossings(x.numbers, times, !x.numbers.empty() && x.numbers.front() > 0, tie)) {
    Json crossover{{"axis", x.name},
                   {"from", curves[c.from].name},
                   {"to", curves[c.to].name},
                   {"between",
                    {r.rows[curves[c.to].points[c.before]].at("at").at(x.name),
                     r.rows[curves[c.to].points[c.after]].at("at").at(x.name)}}};
    if (c.x) crossover["about"] = *c.x;
    const auto gap = [&](std::size_t i) { return *times[c.from][i] / *times[c.to][i] - 1; };
    if (times[c.to][c.before]) crossover["ahead_before"] = -gap(c.before);
    if (times[c.from][c.after]) crossover["ahead_after"] = gap(c.after);
    const Json &mine = r.rows[curves[c.to].points[c.after]], &theirs = r.rows[curves[c.from].points[c.after]];
    if (ok(theirs))
      crossover["mostly"] = largest_loss(mine, theirs);
    else
      crossover["why"] = theirs.at("why");
    r.crossovers.push_back(std::move(crossover));
  }
}

Table sweep_table(const SweepResult& r, OutputFormat format) {
  const Study& study = r.study;
  const auto swept = study.swept();
  const Cells cell(format);
  const bool csv = format == OutputFormat::csv;
  Table t;
  std::string constant;
  for (const SweepAxis& a : study.axes)
    if (a.values.size() == 1)
      constant += fmt::format("{}{} {}", constant.empty() ? "" : ", ", axis_title(a), a.values.front());
  t.title = constant + (constant.empty() ? "" : ": ") +
            (study.fixed ? study.layout_words.empty() ? std::string("one layout") : "layout " + study.layout_words
                         : std::string("the best layout")) +
            " at each point";
  for (const std::size_t a : swept) t.columns.push_back({axis_title(study.axes[a]), !study.axes[a].numbers.empty()});
  const bool price =
      std::any_of(r.rows.begin(), r.rows.end(), [](const Json& row) { return row.contains("usd_per_billion_tokens"); });
  t.columns.insert(t.columns.end(), {{cell.title("step", "step_time_s"), true},
                                     {cell.title("tokens/s/GPU", "tokens_per_s_per_gpu"), true},
                                     {cell.title("MFU", "mfu"), true},
                                     {cell.title("per GPU", "device_bytes"), true},
                                     {"memory", false}});
  if (price) t.columns.push_back({cell.title("$/Gtoken", "usd_per_billion_tokens"), true});
  t.columns.push_back({"layout", false});
  t.columns.push_back({csv ? "why" : "where the time goes", false});
  for (std::size_t p = 0; p < r.rows.size(); ++p) {
    const Json& row = r.rows[p];
    const auto position = study.position(p);
    std::vector<std::string> cells;
    for (const std::size_t a : swept) cells.push_back(cell_of(study.axes[a], position[a], format));
    if (row.contains("memory") && ok(row)) {
      cells.push_back(cell.time(Seconds::si(row.at("step_time_s").get<double>())));
      cells.push_back(fmt::format("{:.1f}", row.at("tokens_per_s_per_gpu").get<double>()));
      cells.push_back(cell.share(row.at("mfu").get<double>()));
    } else {
      cells.resize(cells.size() + 3, csv ? "" : "-");
    }
    if (row.contains("memory")) {
      cells.push_back(cell.gib(Bytes::si(row.at("memory").at("device_bytes").get<double>())));
      cells.push_back(row.at("memory").at("verdict").get<std::string>());
    } else {
      cells.insert(cells.end(), {csv ? "" : "-", row.at("status").get<std::string>()});
    }
    if (price)
      cells.push_back(ok(row) && row.contains("usd_per_billion_tokens")
                          ? fmt::format("{:.0f}", row.at("usd_per_billion_tokens").get<double>())
                      : csv ? ""
                            : "-");
    cells.push_back(text(row, "words"));
    cells.push_back(ok(row) ? text(row, "reason") : text(row, "why"));
    t.rows.push_back(std::move(cells));
  }
  return t;
}

Table changes_table(const SweepResult& r) {
  const SweepAxis& x = r.study.axes[r.study.swept().front()];
  Table t;
  t.title = "Where the best layout changes along " + axis_title(x);
  const bool curves =
      std::any_of(r.changes.begin(), r.changes.end(), [](const Json& c) { return c.contains("curve"); });
  if (curves) t.columns.push_back({"curve", false});
  t.columns.insert(t.columns.end(),
                   {{"from", true}, {"to", true}, {"before", false}, {"after", false}, {"the old one there", false}});
  const auto value = [&](const Json& at) {
    const double v = at.at(x.name).get<double>();
    const auto i = std::find(x.numbers.begin(), x.numbers.end(), v) - x.numbers.begin();
    return cell_of(x, static_cast<std::size_t>(i), OutputFormat::table);
  };
  for (const Json& c : r.changes) {
    const Json& there = c.at("before_there");
    std::vector<std::string> cells;
    if (curves) cells.push_back(text(c, "curve"));
    cells.insert(
        cells.end(),
        {value(c.at("from")), value(c.at("to")), text(c, "layout_before"), text(c, "layout_after"),
         there.at("status") == "ok"
             ? fmt::format("{:.1f} % slower, mostly {}", 100 * there.at("slower").get<double>(), text(there, "mostly"))
             : text(there, "why")});
    t.rows.push_back(std::move(cells));
  }
  return t;
}

Table crossovers_table(const SweepResult& r) {
  const SweepAxis& x = r.study.axes[r.study.swept().front()];
  Table t;
  t.title = "Where another curve becomes the fastest along " + axis_title(x);
  t.columns = {{"between", false},      {"about", true},       {"from", false},    {"to", false},
               {"behind before", true}, {"ahead after", true}, {"ahead by", false}};
  const auto share = [](const Json& c, const char* key) {
    return c.contains(key) ? fmt::format("{:.1f} %", 100 * c.at(key).get<double>()) : std::string("-");
  };
  const auto number = [](const Json& v) {
    return v.is_number() ? format_count(v.get<double>()) : v.get<std::string>();
  };
  for (const Json& c : r.crossovers)
    t.rows.push_back({number(c.at("between")[0]) + " and " + number(c.at("between")[1]),
                      c.contains("about") ? fmt::format("{:.4g}", c.at("about").get<double>()) : "-", text(c, "from"),
                      text(c, "to"), share(c, "ahead_before"), share(c, "ahead_after"),
                      c.contains("mostly") ? text(c, "mostly") : text(c, "why")});
  t.notes.push_back(
      fmt::format("\"about\" is where straight lines between the points, in logarithms, meet; a curve leads until "
                  "another is {:g} % faster.",
                  100 * tie));
  return t;
}

nlohmann::ordered_json sweep_json(const SweepResult& r) {
  Json j{{"schema", 1}, {"mode", r.study.fixed ? "fixed-layout" : "best-layout"}};
  j["axes"] = Json::array();
  for (const SweepAxis& a : r.study.axes)
    j["axes"].push_back({{"name", a.name}, {"values", a.numbers.empty() ? Json(a.values) : Json(a.numbers)}});
  j["points"] = r.rows;
  j["changes"] = r.changes;
  j["crossovers"] = r.crossovers;
  return j;
}

namespace {
struct Quantity {
  const char *name, *key, *title;
};
constexpr std::array<Quantity, 8> quantities{
    {{"step", "step_time_s", "step time, s"},
     {"tokens", "tokens_per_s", "tokens/s"},
     {"tokens-per-gpu", "tokens_per_s_per_gpu", "tokens/s per GPU"},
     {"mfu", "mfu", "MFU"},
     {"memory", "device_bytes", "GiB per GPU"},
     {"gpu-hours", "gpu_hours_per_billion_tokens", "GPU-hours per 10^9 tokens"},
     {"cost", "usd_per_billion_tokens", "US dollars per 10^9 tokens"},
     {"energy", "joules_per_token", "J per token, accelerators at rated power"}}};
}  // namespace

std::string y_key(const std::string& name) {
  for (const Quantity& q : quantities)
    if (name == q.name) return q.key;
  return {};
}

std::string sweep_plot(const SweepResult& r, const std::string& y) {
  const auto curves = curves_of(r.study);
  if (curves.empty() || curves.size() > most_curves) return {};
  const SweepAxis& x = r.study.axes[r.study.swept().front()];
  const Quantity& q =
      *std::find_if(quantities.begin(), quantities.end(), [&](const Quantity& c) { return y == c.name; });
  Plot plot{.x_title = axis_title(x), .y_title = q.title, .x = x.numbers, .words = x.values, .series = {}};
  for (const CurvePoints& c : curves) {
    Plot::Series s{.name = c.name, .y = {}};
    for (const std::size_t p : c.points) {
      const Json& row = r.rows[p];
      std::optional<double> v;
      if (ok(row) && y == "memory")
        v = double(Bytes::si(row.at("memory").at("device_bytes").get<double>()) / GiB);
      else if (ok(row) && row.contains(q.key))
        v = row.at(q.key).get<double>();
      s.y.push_back(v);
    }
    plot.series.push_back(std::move(s));
  }
  return draw(plot);
}

}  // namespace napkin::cli
