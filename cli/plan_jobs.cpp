#include "cli/plan_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/cells.hpp"
#include "cli/prediction_view.hpp"
#include "cli/sweep_axis.hpp"
#include "model/search/pareto.hpp"
#include "model/text.hpp"

namespace napkin::cli {
namespace {

std::vector<std::optional<std::string>> values_of(const char* flag, AxisKind kind, const std::optional<std::string>& text) {
  if (!text || (text->find(',') == std::string::npos && text->find("..") == std::string::npos)) return {text};
  const SweepAxis axis = read_axis(flag, SweepAxis::Of::job, flag + 2, kind, *text);
  return {axis.values.begin(), axis.values.end()};
}

std::string dollars(double v) { return v < 100 ? fmt::format("${:.3g}", v) : fmt::format("${}", format_count(std::round(v))); }

// A layout of the front, and the job it is of.
struct Point {
  const Planned* of;
  const RankedLayout* layout;
  Expense expense;
};

std::vector<Point> front_of(const std::vector<Planned>& all, std::optional<double> price) {
  std::vector<Point> points;
  std::vector<Expense> expenses;
  for (const Planned& p : all)
    for (const RankedLayout& c : p.outcome.front) {
      points.push_back({&p, &c, expense(p.base.job, c.cost, price)});
      expenses.push_back(points.back().expense);
    }
  std::vector<Point> front;
  for (const std::size_t i : pareto_front(expenses)) front.push_back(points[i]);
  return front;
}

// What tells the jobs of a list apart.
std::string job_words(const Run& r) {
  return fmt::format("{} GPUs, batch {}, {}", format_count(static_cast<double>(r.job.gpus)), format_count(static_cast<double>(r.job.batch)),
                     r.job.precision.name);
}

double per_billion(const Expense& e) { return 1e9 / e.tokens; }

void add_expense(nlohmann::ordered_json& j, const Expense& e) {
  j["step_time_s"] = e.time.si();
  j["tokens_per_s"] = e.tokens / e.time.si();
  j["headroom_bytes"] = e.headroom.si();
  j["gpu_hours"] = e.gpu_hours;
  j["gpu_hours_per_billion_tokens"] = per_billion(e) * e.gpu_hours;
  if (e.dollars) j["dollars"] = *e.dollars, j["dollars_per_billion_tokens"] = per_billion(e) * *e.dollars;
  if (e.joules) j["energy_joules"] = *e.joules, j["joules_per_token"] = *e.joules / e.tokens;
}

// How energy and dollars were come by.
std::vector<std::string> basis(const std::vector<Planned>& all, std::optional<double> price) {
  std::vector<std::string> notes;
  const Accelerator& a = all.front().base.hardware->accelerator;
  if (a.power)
    notes.push_back(fmt::format("Energy: accelerators alone at {} each ({}); an upper bound, hosts, network and cooling not counted.",
                                format(a.power->value), a.power->source ? to_string(a.power->source->kind) : "assumed"));
  if (price)
    notes.push_back(fmt::format("Dollars: at ${:.4g} an accelerator and hour, as given.", *price));
  else if (a.price_per_hour)
    notes.push_back(fmt::format("Dollars: at ${:.4g} an accelerator and hour ({}).", double(a.price_per_hour->value),
                                a.price_per_hour->source ? to_string(a.price_per_hour->source->kind) : "assumed"));
  return notes;
}

std::vector<std::string> expense_cells(const Expense& e, const Cells& cell) {
  const auto digits = [&](double v, int n) { return cell.number(v, fmt::format("{:.{}g}", v, n)); };
  return {cell.time(e.time),
          digits(e.tokens / e.time.si(), 4),
          cell.gib(e.headroom),
          digits(per_billion(e) * e.gpu_hours, 4),
          e.dollars ? cell.number(per_billion(e) * *e.dollars, dollars(per_billion(e) * *e.dollars)) : cell.none(),
          e.joules ? digits(*e.joules / e.tokens, 3) : cell.none()};
}
std::vector<Table::Column> expense_columns(const Cells& cell) {
  return {{cell.title("step", "step_time_s"), true},
          {cell.title("tokens/s", "tokens_per_s"), true},
          {cell.title("memory left", "headroom_bytes"), true},
          {cell.title("GPU-h/Gtoken", "gpu_hours_per_billion_tokens"), true},
          {cell.title("$/Gtoken", "dollars_per_billion_tokens"), true},
          {cell.title("J/token", "joules_per_token"), true}};
}

}  // namespace

std::vector<JobFlags> each_job(const JobFlags& flags) {
  std::vector<JobFlags> jobs;
  for (const auto& gpus : values_of("--gpus", AxisKind::gpus, flags.gpus))
    for (const auto& batch : values_of("--batch", AxisKind::batch, flags.batch))
      for (const auto& precision : values_of("--precision", AxisKind::words, flags.precision)) {
        JobFlags& job = jobs.emplace_back(flags);
        job.gpus = gpus;
        job.batch = batch;
        job.precision = precision;
      }
  return jobs;
}

Table jobs_table(const std::vector<Planned>& all, std::optional<double> price, OutputFormat output) {
  const Cells cell(output);
  Table t;
  t.title = fmt::format("{} on {}: the best layout of each job", all.front().base.model->name,
                        all.front().base.hardware->accelerator.title);
  t.columns = {{"gpus", true}, {"batch", true}, {"precision", false}, {"layout", false}};
  const auto more = expense_columns(cell);
  t.columns.insert(t.columns.end(), more.begin(), more.end());
  for (const Planned& p : all) {
    std::vector<std::string>& row = t.rows.emplace_back();
    row = {std::to_string(p.base.job.gpus), std::to_string(p.base.job.batch), p.base.job.precision.name,
           p.outcome.best.empty() ? "nothing fits" : describe(p.outcome.best.front().layout)};
    if (p.outcome.best.empty()) continue;
    const auto cells = expense_cells(expense(p.base.job, p.outcome.best.front().cost, price), cell);
    row.insert(row.end(), cells.begin(), cells.end());
  }
  t.notes = basis(all, price);
  return t;
}

nlohmann::ordered_json jobs_json(const std::vector<Planned>& all, std::optional<double> price) {
  auto jobs = nlohmann::ordered_json::array();
  for (const Planned& p : all) {
    auto& j = jobs.emplace_back(nlohmann::ordered_json{{"gpus", p.base.job.gpus},
                                                       {"global_batch", p.base.job.batch},
                                                       {"precision", p.base.job.precision.name},
                                                       {"searched", p.outcome.searched},
                                                       {"feasible", p.outcome.feasible}});
    if (p.outcome.best.empty()) continue;
    Run run = p.base;
    run.layout = p.outcome.best.front().layout;
    j["run"] = run_record_json(p.request, run);
    add_expense(j, expense(p.base.job, p.outcome.best.front().cost, price));
  }
  return jobs;
}

Table pareto_table(const std::vector<Planned>& all, std::optional<double> price, OutputFormat output) {
  const Cells cell(output);
  Table t;
  t.title = "Pareto front: what no other layout beats in step time, memory left, GPU-hours, dollars and energy";
  if (all.size() > 1) t.columns.push_back({"job", false});
  t.columns.push_back({"layout", false});
  const auto more = expense_columns(cell);
  t.columns.insert(t.columns.end(), more.begin(), more.end());
  const auto front = front_of(all, price);
  std::size_t shown = 0;
  const Point* before = nullptr;
  for (const Point& p : front) {
    const Bytes step = 0.01 * p.of->base.hardware->accelerator.capacity.value;
    const bool near = before != nullptr && before->of == p.of && p.expense.headroom - before->expense.headroom < step;
    if (output != OutputFormat::csv && near) continue;
    before = &p;
    ++shown;
    std::vector<std::string>& row = t.rows.emplace_back();
    if (all.size() > 1) row.push_back(job_words(p.of->base));
    row.push_back(describe(p.layout->layout));
    const auto cells = expense_cells(p.expense, cell);
    row.insert(row.end(), cells.begin(), cells.end());
  }
  t.notes = basis(all, price);
  if (shown < front.size())
    t.notes.push_back(fmt::format("{} of {} points: those between free less than 1 % more memory (--format json and csv have all).", shown, front.size()));
  return t;
}

nlohmann::ordered_json pareto_json(const std::vector<Planned>& all, std::optional<double> price) {
  nlohmann::ordered_json j;
  j["objectives"] = {"step_time_s", "headroom_bytes", "gpu_hours_per_billion_tokens", "dollars_per_billion_tokens", "joules_per_token"};
  const Accelerator& a = all.front().base.hardware->accelerator;
  if (a.power) j["power"] = {{"watts", a.power->value.si()}, {"kind", a.power->source ? to_string(a.power->source->kind) : "assumed"}};
  j["front"] = nlohmann::ordered_json::array();
  for (const Point& p : front_of(all, price)) {
    Run run = p.of->base;
    run.layout = p.layout->layout;
    auto& point = j["front"].emplace_back();
    point["run"] = run_record_json(p.of->request, run);
    add_expense(point, p.expense);
  }
  return j;
}

std::string recommendation_line(const std::vector<RankedLayout>& ranked, const Recommendation& r) {
  if (r.group.size() < 2) return {};
  if (r.index == 0) return fmt::format("Take rank 1: of the {} layouts within {:.0f} % of it none is simpler.", r.group.size(), 100 * near_tie);
  return fmt::format("Of {} layouts within {:.0f} %, take rank {} ({}): {}.", r.group.size(), 100 * near_tie, r.index + 1,
                     describe(ranked[r.index].layout), r.reason);
}

nlohmann::ordered_json recommendation_json(const std::vector<RankedLayout>& ranked, const Recommendation& r) {
  return {{"rank", r.index + 1},
          {"layout", describe(ranked[r.index].layout)},
          {"slower", double(ranked[r.index].cost.time / ranked.front().cost.time) - 1},
          {"near_ties", r.group.size()},
          {"within", near_tie},
          {"reason", r.reason}};
}

}  // namespace napkin::cli
