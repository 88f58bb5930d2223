#include "model/decision/elasticity.hpp"

#include <algorithm>
#include <cmath>

#include "model/search/finalists.hpp"

namespace napkin {
namespace {

double time_of(const Job& job, const Layout& layout) {
  return Evaluator<Plain>(job, Scope<Plain>()).evaluate(layout, Timing::exact).time.si();
}

// The slope of ln(time) over ln(factor) between 1 − step and 1 + step, no further than the constant's bounds.
template <class Time>
double slope(const ConstantInfo& c, Time time) {
  const Bounds bounds = bounds_of(c.path, c.dim);
  const double least = std::min(1.0, bounds.least / c.si), most = std::max(1.0, bounds.most / c.si);
  const double low = std::max(1 - elasticity_step, least), high = std::min(1 + elasticity_step, most);
  return std::log(time(high) / time(low)) / std::log(high / low);
}

std::vector<Scaling> scaled(const Job& job, std::string_view pattern, double factor) {
  std::vector<Scaling> by;
  for (const ConstantInfo& c : constants_named(job, pattern)) by.push_back({c.path, factor});
  return by;
}

std::vector<Upgrade> purchases(const Job& job) {
  std::vector<Upgrade> all;
  const auto add = [&](std::string name, std::string_view pattern, double factor) {
    if (auto by = scaled(job, pattern, factor); !by.empty())
      all.push_back({.name = std::move(name), .by = std::move(by), .kept = {}, .best = {}});
  };
  add("arithmetic rate x2", "peak", 2);
  add("memory bandwidth x2", "memory.bandwidth", 2);
  add("memory capacity x2", "memory.capacity", 2);
  for (std::size_t i = 0; i < job.hardware->network.tiers.size(); ++i) {
    const std::string at = "/network/tiers/" + std::to_string(i);
    add(job.hardware->network.tiers[i].name + " bandwidth x2", at + "/bandwidth", 2);
    add(job.hardware->network.tiers[i].name + " latency / 2", at + "/latency", 0.5);
  }
  add("host bandwidth x2", "host.bandwidth", 2);
  add("kernel launch / 2", "host.launch", 0.5);
  return all;
}

}  // namespace

std::vector<Elasticity> elasticities(const Job& job, const Layout& layout) {
  std::vector<Elasticity> all;
  for (ConstantInfo& c : constants_of(job)) {
    if (c.si == 0) continue;
    const double kept = slope(c, [&](double factor) {
      const Scaling by{c.path, factor};
      return time_of(ScaledJob(job, {&by, 1}).job(), layout);
    });
    all.push_back({.constant = std::move(c), .kept = kept, .replanned = {}});
  }
  return all;
}

double time_weight(const std::vector<Elasticity>& all) {
  double sum = 0;
  for (const Elasticity& e : all) sum += e.constant.dim.second * e.kept;
  return sum;
}

std::optional<RankedLayout> best_layout(const Problem& problem, const Executor& executor) {
  Problem p = problem;
  p.keep = finalists(1);
  Outcome outcome = search(p, executor);
  (void)time_finalists(p, 1, outcome, executor);
  if (outcome.best.empty()) return {};
  return outcome.best.front();
}

void replan(const Problem& problem, const Layout& best, const Executor& executor, std::vector<Elasticity>& some) {
  executor(some.size(), [&](std::size_t i) {
    bool fits = true;
    const double e = slope(some[i].constant, [&](double factor) {
      const Scaling by{some[i].constant.path, factor};
      const ScaledJob job(problem.job, {&by, 1});
      Problem p = problem;
      p.job = job.job();
      const auto there = best_layout(p, run_in_order);
      fits = fits && there;
      some[i].layout_changes = some[i].layout_changes || !there || there->layout != best;
      return there ? there->cost.time.si() : 1.0;
    });
    if (fits) some[i].replanned = e;
  });
}

std::vector<Upgrade> upgrades(const Job& job, const Layout& layout, const Problem* problem, const Executor& executor) {
  std::vector<Upgrade> all = purchases(job);
  executor(all.size(), [&](std::size_t i) {
    const ScaledJob better(job, all[i].by);
    all[i].kept = Seconds::si(time_of(better.job(), layout));
    if (problem == nullptr) return;
    Problem p = *problem;
    p.job = better.job();
    all[i].best = best_layout(p, run_in_order);
  });
  std::stable_sort(all.begin(), all.end(), [](const Upgrade& a, const Upgrade& b) {
    const auto time = [](const Upgrade& u) { return u.best ? u.best->cost.time : u.kept; };
    return time(a) < time(b);
  });
  return all;
}

}  // namespace napkin
