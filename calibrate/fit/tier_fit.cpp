#include "calibrate/fit/tier_fit.hpp"

#include "model/collective/placement.hpp"

namespace napkin::fit {
namespace {
constexpr double least_efficiency = 0.02, least_latency = 1e-8, most_latency = 1e-3;
}

std::size_t tier_of(const Network& network, const CollectiveSample& s) {
  Network n = network;
  if (s.per_node > 0) n.tiers.front().size = s.per_node;
  return place(n, {s.ranks, 1}).tiers - 1;
}

Fit fit_tier(Network& network, std::size_t tier, const std::vector<CollectiveSample>& samples, bool latency,
             HeldOut held_out) {
  auto& t = network.tiers.at(tier);
  const auto at = "/network/tiers/" + std::to_string(tier) + "/";
  std::vector<Parameter> parameters{{"efficiency", 0.8, least_efficiency, 1, at + "efficiency"}};
  if (latency) parameters.push_back({"latency", t.latency.value.si(), least_latency, most_latency, at + "latency"});
  const auto apply = [&](double efficiency, double seconds) {
    t.efficiency.value = efficiency;
    t.latency.value = Seconds::si(seconds);
  };
  const double given_latency = t.latency.value.si();
  std::vector<double> measured;
  std::vector<bool> held;
  for (const auto& s : samples) {
    measured.push_back(s.seconds);
    held.push_back(is_held_out(s.shape, held_out));
  }
  const auto fit = robust_fit(
      parameters,
      [&](const std::vector<double>& v, std::size_t i) {
        apply(v[0], latency ? v[1] : given_latency);
        return predict(network, samples[i]);
      },
      measured, held);
  apply(fit.value("efficiency"), latency ? fit.value("latency") : given_latency);
  return fit;
}

}  // namespace napkin::fit
