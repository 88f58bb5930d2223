#include "cli/choices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/cells.hpp"
#include "cli/prediction_view.hpp"
#include "cli/space_flags.hpp"
#include "model/decision/choice.hpp"
#include "model/decision/difference.hpp"
#include "model/frameworks/lack_input.hpp"
#include "model/run/run_input.hpp"
#include "model/validation/statistics.hpp"

namespace napkin::cli {
namespace {

using Json = nlohmann::ordered_json;
using namespace validation;

constexpr double near_best = 0.10;

// The best measured row of one problem.
struct Chosen {
  const SourceText* source = nullptr;
  Replay replay;
  std::size_t rows = 1;  // of the problem
};

struct Compared {
  Chosen chosen;
  Run run;
  Choice choice;
  [[nodiscard]] bool near() const { return choice.best && choice.gain() <= near_best; }
};

std::string problem_of(const Replay& r) {
  return fmt::format("{}|{}|{}|{}", r.run.model, r.run.hardware, r.run.gpus, r.run.task);
}

// The month of the release that a record names in passing, as NVIDIA's containers are called: "NeMo 25.02", "v25.02.02",
// "ngc24.04". Of the record's year, or nothing.
std::optional<int> named_release(const Field& record) {
  const auto year = record.find("year");
  if (!year || record.has("release")) return {};
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  for (const char* key : {"source", "id", "locator"}) {
    const auto f = record.find(key);
    if (!f) continue;
    std::string text = f->string();
    std::replace(text.begin(), text.end(), '_', '.');
    for (std::size_t i = 0; i + 5 <= text.size(); ++i) {
      if (i > 0 && digit(text[i - 1])) continue;
      if (i + 5 < text.size() && digit(text[i + 5])) continue;
      if (!digit(text[i]) || !digit(text[i + 1]) || text[i + 2] != '.') continue;
      const auto month = month_of("20" + text.substr(i, 2) + "-" + text.substr(i + 3, 2));
      if (month && *month / 12 == year->integer(1990, 2100)) return month;
    }
  }
  return {};
}

double speed(const Replay& r) {
  return at(r.measured.figures, Metric::tokens_per_s_per_gpu).value_or(0);
}

struct Selection {
  std::vector<Chosen> chosen;
  std::size_t refused = 0, suspect = 0, out_of_memory = 0, small = 0;
};

Selection select(const std::vector<SourceText>& sources, std::int64_t min_gpus, const Executor& executor) {
  std::vector<Replay> rows(sources.size());
  executor(sources.size(), [&](std::size_t i) { rows[i] = replay(sources[i]); });
  Selection s;
  std::map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].run.kind != "run") continue;
    if (!rows[i].refused.empty())
      ++s.refused;
    else if (rows[i].run.suspect)
      ++s.suspect;
    else if (rows[i].measured.out_of_memory.value_or(false))
      ++s.out_of_memory;
    else if (rows[i].run.gpus < static_cast<double>(min_gpus))
      ++s.small;
    else {
      const auto [at, fresh] = known.try_emplace(problem_of(rows[i]), s.chosen.size());
      if (fresh) {
        s.chosen.push_back({&sources[i], std::move(rows[i])});
        continue;
      }
      Chosen& best = s.chosen[at->second];
      ++best.rows;
      if (speed(rows[i]) > speed(best.replay)) best.source = &sources[i], best.replay = std::move(rows[i]);
    }
  }
  return s;
}

// The term in which theirs takes longest against ours.
TermDifference<Seconds> largest_loss(const Compared& c) {
  const Difference d = difference(c.choice.best->cost, c.choice.theirs);
  return *std::max_element(d.time.begin(), d.time.end(),
                           [](const auto& a, const auto& b) { return a.change() < b.change(); });
}

std::string mostly(const Compared& c) {
  if (!c.choice.best) return "nothing of ours leaves the margin free";
  const TermDifference<Seconds> most = largest_loss(c);
  return most.change() > Seconds{} ? fmt::format("{} +{}", most.name, format(most.change())) : std::string("nothing");
}

// The axes in which the two differ, with ours: "pp 4, micro-batch 1".
std::string differs(const Compared& c) {
  if (!c.choice.best) return {};
  std::string s;
  for (std::size_t a = 0; a < axis_count; ++a) {
    const auto axis = static_cast<LayoutAxis>(a);
    const std::int64_t ours = get_axis(c.choice.best->layout, axis);
    if (ours == get_axis(c.run.layout, axis)) continue;
    s += fmt::format("{}{} {}", s.empty() ? "" : ", ", axis_names[a], axis_value(axis, ours));
  }
  return s.empty() ? "the same" : s;
}

std::string rank_text(const Choice& c) {
  return (c.rank_is_exact ? "" : "> ") + std::to_string(c.rank_is_exact ? c.rank : c.rank - 1);
}

struct Totals {
  std::size_t fit = 0, near = 0;
  std::vector<double> gains;                                    // increasing
  std::map<std::string, std::vector<double>, std::less<>> far;  // gains above near_best, by the term that explains most
};
Totals totals(const std::vector<Compared>& all) {
  Totals t;
  for (const Compared& c : all) {
    t.fit += c.choice.fits;
    t.near += c.near();
    if (c.choice.best) t.gains.push_back(c.choice.gain());
    if (c.choice.best && !c.near()) t.far[std::string(largest_loss(c).name)].push_back(c.choice.gain());
  }
  std::sort(t.gains.begin(), t.gains.end());
  return t;
}

Json to_json(const std::vector<Compared>& all, const Selection& s) {
  Json j{{"schema", 1}};
  j["choices"] = Json::array();
  for (const Compared& c : all) {
    const Bytes capacity = c.run.hardware->accelerator.capacity.value;
    Json& row = j["choices"].emplace_back(Json{{"id", c.chosen.replay.run.id},
                                               {"model", c.chosen.replay.run.model},
                                               {"hardware", c.run.hardware->accelerator.name},
                                               {"framework", c.run.profile->name},
                                               {"precision", c.run.job.precision.name},
                                               {"gpus", c.run.job.gpus},
                                               {"seq_len", c.run.job.sequence},
                                               {"global_batch", c.run.job.batch},
                                               {"rows", c.chosen.rows}});
    row["theirs"] = {{"layout", layout_json(c.run.layout)},
                     {"words", describe(c.run.layout)},
                     {"step_time_s", c.choice.theirs.time.si()},
                     {"memory", memory_json(c.choice.theirs.memory, capacity)}};
    if (const auto& t = at(c.chosen.replay.measured.figures, Metric::step_time))
      row["theirs"]["measured_step_time_s"] = *t;
    row["feasible"] = c.choice.fits;
    row["rank"] = c.choice.rank;
    row["rank_is_exact"] = c.choice.rank_is_exact;
    row["of"] = c.choice.feasible;
    if (c.choice.best) {
      row["best"] = {{"layout", layout_json(c.choice.best->layout)},
                     {"words", describe(c.choice.best->layout)},
                     {"step_time_s", c.choice.best->cost.time.si()},
                     {"memory", memory_json(c.choice.best->cost.memory, capacity)}};
      row["gain"] = c.choice.gain();
      row["differs"] = differs(c);
    }
    for (const Choice::Dropped& d : c.choice.lacks) row["lacks"][d.name] = d.layouts;
    row["mostly"] = mostly(c);
    row["within_10_pct"] = c.near();
  }
  const Totals t = totals(all);
  const double n = static_cast<double>(all.size());
  j["summary"] = {{"n", all.size()},
                  {"refused", s.refused},
                  {"suspect", s.suspect},
                  {"out_of_memory", s.out_of_memory},
                  {"fewer_gpus", s.small}};
  if (!all.empty()) {
    j["summary"]["feasible_share"] = static_cast<double>(t.fit) / n;
    j["summary"]["within_10_pct_share"] = static_cast<double>(t.near) / n;
  }
  if (!t.gains.empty()) j["summary"]["median_gain"] = percentile(t.gains, 0.5);
  for (const auto& [term, gains] : t.far)
    j["summary"]["further_off"][term] = {{"n", gains.size()}, {"median_gain", percentile(gains, 0.5)}};
  return j;
}

Table choices_table(const std::vector<Compared>& all, std::size_t shown, OutputFormat format) {
  const Cells cell(format);
  Table t;
  t.columns = {{"run", false},
               {"GPUs", true},
               {"theirs", false},
               {cell.title("step", "step_time_s"), true},
               {"per GPU", true},
               {"rank", true},
               {"ours", false},
               {"gain", true},
               {"theirs pays most for", false}};
  if (format != OutputFormat::csv && shown < all.size()) t.title = fmt::format("The {} with the largest gain", shown);
  for (std::size_t i = 0; i < all.size() && (i < shown || format == OutputFormat::csv); ++i) {
    const Compared& c = all[i];
    t.rows.push_back(
        {fmt::format("{}, {}, {}, seq {}, batch {}", c.chosen.replay.run.model, c.run.hardware->accelerator.name,
                     c.run.job.precision.name, c.run.job.sequence, c.run.job.batch),
         std::to_string(c.run.job.gpus), describe(c.run.layout), cell.time(c.choice.theirs.time),
         cell.share(double(c.choice.theirs.memory.device / c.run.hardware->accelerator.capacity.value)),
         rank_text(c.choice), c.choice.best ? describe(c.choice.best->layout) : "-",
         c.choice.best ? cell.share(c.choice.gain()) : "-", mostly(c)});
  }
  return t;
}

// Those further off than near_best, by the term that explains most.
Table far_table(const std::vector<Compared>& all, OutputFormat format) {
  const Cells cell(format);
  Table t;
  t.title = fmt::format("Further than {:.0f} % off, by the term in which theirs takes longest", 100 * near_best);
  t.columns = {{"term", false}, {"choices", true}, {"median gain", true}};
  const Totals sums = totals(all);
  std::vector<std::pair<std::string, std::vector<double>>> far(sums.far.begin(), sums.far.end());
  std::stable_sort(far.begin(), far.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  for (const auto& [term, gains] : far)
    t.rows.push_back({term, std::to_string(gains.size()), cell.share(percentile(gains, 0.5))});
  return t;
}

// What the builders' releases could not run, with the layouts that the searches lost by it.
Table lacks_table(const std::vector<Compared>& all) {
  Table t;
  t.title = "Dropped from the searches: what the release of that date could not run";
  t.columns = {{"framework", false}, {"rule", false}, {"source", false}, {"choices", true}, {"layouts", true}};
  std::map<std::pair<std::string, std::string>, std::pair<std::size_t, double>> sums;
  std::map<std::pair<std::string, std::string>, std::string> sources;
  for (const Compared& c : all)
    for (const Choice::Dropped& d : c.choice.lacks) {
      const std::pair key{c.run.profile->name, d.name};
      ++sums[key].first;
      sums[key].second += static_cast<double>(d.layouts);
      sources[key] = d.source;
    }
  for (const auto& [key, n] : sums)
    t.rows.push_back({key.first, key.second, sources[key], std::to_string(n.first), format_count(n.second)});
  return t;
}

std::string summary_text(const std::vector<Compared>& all, const Selection& s) {
  const Totals t = totals(all);
  if (all.empty())
    return fmt::format("No choice to compare: {} refused, {} suspect, {} out of memory, {} on fewer GPUs.\n", s.refused,
                       s.suspect, s.out_of_memory, s.small);
  const double n = static_cast<double>(all.size());
  return fmt::format(
      "{} choices: {} ({:.1f} %) fit by our memory; {} ({:.1f} %) are within {:.0f} % of our best; our best gains "
      "{:.1f} % in the median. Left out: {} rows refused, {} suspect, {} out of "
      "memory, {} on fewer GPUs than asked for.\n",
      all.size(), t.fit, 100 * static_cast<double>(t.fit) / n, t.near, 100 * static_cast<double>(t.near) / n,
      100 * near_best, t.gains.empty() ? 0 : 100 * percentile(t.gains, 0.5), s.refused, s.suspect, s.out_of_memory,
      s.small);
}

constexpr const char* heading =
    "# The builders' layouts against ours\n\n`napkin validate --choices --format md`: for every distinct model, "
    "hardware, GPU count and task of published runs, the layout measured fastest, against the default space of that "
    "framework's profile at that batch, sequence and precision, less what the release of that date could not run. Rank: place "
    "by predicted step time among the layouts that leave 6 % of "
    "memory free. Gain: their predicted step over our best's, less one; negative where theirs uses what the search has "
    "not, or the margin. Per GPU: predicted share of the capacity.\n\n";

}  // namespace

void print_choices(const std::vector<SourceText>& sources, std::int64_t min_gpus, std::size_t shown,
                   const Executor& executor, OutputFormat format) {
  const Selection s = select(sources, min_gpus, executor);
  std::vector<Compared> all(s.chosen.size());
  executor(all.size(), [&](std::size_t i) {
    all[i].chosen = s.chosen[i];
    const SourceText& text = *s.chosen[i].source;
    const Document d = Document::parse_line(text.text, text.file, text.line);
    RunRequest request = read_run_record(d.root());
    if (!request.release) request.release = named_release(d.root());
    all[i].run = resolve(request);
    // The same recipe: where theirs does not hide the experts' exchange, ours does not either.
    Job job = all[i].run.job;
    Profile plain = *job.profile;
    plain.overlap.expert_parallel_chunks = plain.overlap.expert_parallel;
    if (all[i].run.layout.vpp == 1) job.profile = &plain;
    all[i].choice = choice_of(job, all[i].run.layout, run_in_order);
  });
  std::stable_sort(all.begin(), all.end(),
                   [](const Compared& a, const Compared& b) { return a.choice.gain() > b.choice.gain(); });
  if (format == OutputFormat::json) return print(to_json(all, s).dump(2) + "\n");
  if (format == OutputFormat::md) print(heading);
  if (format != OutputFormat::csv) print(summary_text(all, s) + "\n");
  if (const Table far = far_table(all, format); format != OutputFormat::csv && !far.rows.empty())
    print(render(far, format) + "\n");
  print(render(choices_table(all, shown, format), format));
  if (const Table lacks = lacks_table(all); format != OutputFormat::csv && !lacks.rows.empty())
    print("\n" + render(lacks, format));
}

}  // namespace napkin::cli
