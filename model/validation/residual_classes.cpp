#include "model/validation/residual_classes.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "model/validation/statistics.hpp"

namespace napkin::validation {
namespace {

// The order statistic at (n + 1)·q, between neighbours by linear interpolation, within the sample.
double conformal(std::vector<double> v, double q) {
  const auto n = static_cast<double>(v.size());
  const double at = std::clamp((n + 1) * q - 1, 0.0, n - 1);
  return percentile(std::move(v), n > 1 ? at / (n - 1) : 0);
}

std::optional<RangeOf> range_of(const std::vector<double>& ratios) {
  if (static_cast<long long>(ratios.size()) < smallest_class) return {};
  std::vector<double> off;
  for (const double r : ratios) off.push_back(std::abs(1 / r - 1));
  constexpr double tail = (1 - interval_coverage) / 2;
  return RangeOf{.n = static_cast<long long>(ratios.size()),
                 .low = conformal(ratios, tail),
                 .high = conformal(ratios, 1 - tail),
                 .nine_in_ten = percentile(std::move(off), 0.9)};
}

}  // namespace

SpreadKey key_of(const Replay& r) { return {r.run.framework, r.run.hardware, r.run.precision, r.run.workload}; }

std::optional<double> time_ratio(const Replay& r) {
  if (const auto& e = at(r.error, Metric::step_time)) return 1 / (1 + *e);
  return {};
}
std::optional<double> memory_ratio(const Replay& r) {
  for (const Metric m : {Metric::reserved, Metric::allocated})
    if (const auto& e = at(r.error, m)) return 1 / (1 + *e);
  return {};
}

std::map<SpreadKey, ResidualClass> residual_classes(const std::vector<Replay>& rows) {
  std::map<SpreadKey, std::vector<double>> time, memory;
  for (const Replay& r : rows) {
    if (!r.refused.empty() || r.run.suspect || r.run.kind != "run") continue;
    // Wider classes of a row that states less are the same class: it counts once in each.
    const auto chain = fallback_chain(key_of(r));
    for (const SpreadKey& key : std::set<SpreadKey>(chain.begin(), chain.end())) {
      if (const auto v = time_ratio(r)) time[key].push_back(*v);
      if (const auto v = memory_ratio(r)) memory[key].push_back(*v);
    }
  }
  std::map<SpreadKey, ResidualClass> out;
  for (const auto& [key, ratios] : time)
    if (const auto range = range_of(ratios)) out[key].time = range;
  for (const auto& [key, ratios] : memory)
    if (const auto range = range_of(ratios)) out[key].memory = range;
  return out;
}

std::optional<RangeOf> nearest_time(const std::map<SpreadKey, ResidualClass>& classes, const SpreadKey& run) {
  for (const SpreadKey& key : fallback_chain(run))
    if (const auto at = classes.find(key); at != classes.end() && at->second.time) return at->second.time;
  return {};
}

}  // namespace napkin::validation
