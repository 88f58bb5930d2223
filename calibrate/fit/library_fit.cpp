#include "calibrate/fit/library_fit.hpp"

#include <cmath>
#include <functional>
#include <memory>
#include <set>
#include <type_traits>

namespace napkin::fit {
namespace {

constexpr std::size_t felt_by = 4;             // samples
constexpr double first_time = 1e-5, first_size = 1e6;  // of constants that the generation has not
constexpr double tried = 1.25, felt = 0.002;   // a constant changed so much moves a prediction by this share
constexpr double least_time = 1e-8, most_time = 2e-3, least_size = 256, most_size = 4e9, least_share = 1e-3,
                 least_efficiency = 0.02;

// A constant of the library as a number.
struct Knob {
  Parameter parameter;
  std::function<void(CollectiveTuning&, double)> set;
};

std::vector<Knob> knobs(const CollectiveTuning& tuning, bool several_group_sizes) {
  std::vector<Knob> out;
  for_each_library_constant(tuning, [&](const std::string& path, const auto& constant) {
    if (!several_group_sizes && (path.ends_with("/hop") || path.ends_with("per_peer") || path == "direct/copy")) return;
    if (path == "ring/simple/share") return;  // 1 by definition: the tier's efficiency is that ring's
    using Value = std::decay_t<decltype(constant.value)>;
    constexpr bool time = std::is_same_v<Value, Seconds>, size = std::is_same_v<Value, Bytes>;
    const double low = time ? least_time : size ? least_size : least_share, high = time ? most_time : size ? most_size : 1;
    const double given = constant.value.si() > 0 ? constant.value.si() : time ? first_time : size ? first_size : 0;
    const double start = std::min(std::max(given, 2 * low), high / 2);
    out.push_back({{path, start, low, high, "/network/library/" + path}, [path](CollectiveTuning& t, double v) {
                     for_each_library_constant(t, [&](const std::string& at, auto& c) {
                       if (at == path) c.value = std::decay_t<decltype(c.value)>::si(v);
                     });
                   }});
  });
  return out;
}

}  // namespace

Fit fit_library(Network& network, const std::vector<CollectiveSample>& samples, HeldOut held_out) {
  const CollectiveTuning given = *network.tuning;
  const auto tuning = std::make_shared<CollectiveTuning>(given);
  tuning->own = true;
  network.tuning = tuning;
  auto& tier = network.tiers.front();
  std::vector<double> measured;
  std::vector<bool> held;
  std::set<int> sizes;
  for (const auto& s : samples) {
    measured.push_back(s.seconds);
    held.push_back(is_held_out(s.shape, held_out));
    sizes.insert(s.ranks);
  }
  auto all = knobs(*tuning, sizes.size() > 1);
  for (const auto& k : all) k.set(*tuning, k.parameter.start);
  std::vector<double> before;
  for (const auto& s : samples) before.push_back(predict(network, s));
  std::vector<Knob> fitted;
  for (auto& k : all) {
    const CollectiveTuning kept = *tuning;
    k.set(*tuning, tried * k.parameter.start);
    std::size_t moved = 0;
    for (std::size_t i = 0; i < samples.size(); ++i)
      moved += !held[i] && std::abs(predict(network, samples[i]) / before[i] - 1) > felt ? 1 : 0;
    *tuning = kept;
    if (moved >= felt_by) fitted.push_back(std::move(k));
  }
  // Constants that these samples do not tell stay as they were given, not where a search would start.
  *tuning = given;
  tuning->own = true;
  std::vector<Parameter> parameters{{"efficiency", tier.efficiency.value.si(), least_efficiency, 1, "/network/tiers/0/efficiency"}};
  for (const auto& k : fitted) parameters.push_back(k.parameter);
  const auto apply = [&](const std::vector<double>& v) {
    tier.efficiency.value = v[0];
    for (std::size_t i = 0; i < fitted.size(); ++i) fitted[i].set(*tuning, v[i + 1]);
  };
  std::vector<double> current;
  const auto fit = robust_fit(
      parameters,
      [&](const std::vector<double>& v, std::size_t i) {
        if (v != current) apply(current = v);
        return predict(network, samples[i]);
      },
      measured, held);
  std::vector<double> best;
  for (const auto& p : fit.parameters) best.push_back(p.value);
  apply(best);
  return fit;
}

}  // namespace napkin::fit
