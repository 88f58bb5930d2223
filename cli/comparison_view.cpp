#include "cli/comparison_view.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/cells.hpp"

namespace napkin::cli {

nlohmann::ordered_json comparison_groups(const fit::CheckReport& report) {
  auto out = nlohmann::ordered_json::array();
  for (const auto& g : report.groups)
    out.push_back({{"group", g.group},
                   {"sizes", g.sizes},
                   {"n", g.residual.n},
                   {"median_abs_pct", 100 * g.residual.median},
                   {"p90_abs_pct", 100 * g.residual.p90},
                   {"bias_pct", 100 * g.residual.bias},
                   {"worst", {{"shape", g.worst},
                              {"measured_s", g.worst_measured},
                              {"predicted_s", g.worst_predicted},
                              {"error_pct", 100 * (g.worst_predicted / g.worst_measured - 1)}}}});
  return out;
}

Table comparison_table(std::string title, const fit::CheckReport& report, OutputFormat format) {
  const Cells cells(format);
  Table t{.title = std::move(title),
          .columns = {{"group", false}, {"sizes", false}, {"n"}, {cells.title("median", "median_abs")},
                      {cells.title("p90", "p90_abs")}, {"bias"}, {"worst", false},
                      {cells.title("measured", "worst_measured_s")}, {cells.title("predicted", "worst_predicted_s")}},
          .rows = {},
          .notes = {}};
  for (const auto& g : report.groups) {
    const auto bias = cells.share(g.residual.bias);
    t.rows.push_back({g.group, g.sizes, fmt::format("{}", g.residual.n), cells.share(g.residual.median),
                      cells.share(g.residual.p90),
                      g.residual.bias > 0 && format != OutputFormat::csv ? "+" + bias : bias, g.worst,
                      cells.time(Seconds::si(g.worst_measured)), cells.time(Seconds::si(g.worst_predicted))});
  }
  t.notes.push_back("Error = predicted / measured - 1; median and p90 of its size, bias its median with sign.");
  if (report.short_calls > 0)
    t.notes.push_back(fmt::format("{} samples timed by the host are shorter than four of its calls: not compared.",
                                  report.short_calls));
  for (const auto& [why, n] : report.refused) t.notes.push_back(fmt::format("{} samples not predicted: {}", n, why));
  return t;
}

}  // namespace napkin::cli
