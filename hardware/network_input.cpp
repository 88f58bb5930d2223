#include "hardware/values_input.hpp"
#include "model/input/constant_input.hpp"

namespace napkin::hardware_values {
namespace {

constexpr std::int64_t max_axis = 1'000'000;

void read_torus(const Field& f, Tier& tier) {
  const auto dims = f["dims"].elements(), wraps = f["wraps"].elements();
  std::int64_t product = 1;
  for (const auto& d : dims) {
    tier.dims.push_back(whole(d, 1, max_axis));
    product *= tier.dims.back();
    if (product > max_accelerators) d.fail("makes a torus of more than 100,000,000 accelerators");
  }
  for (const auto& w : wraps) tier.wraps.push_back(w.boolean());
  if (dims.empty()) f["dims"].fail("is empty; write the length of each axis, such as [16, 16]");
  if (dims.size() != wraps.size()) f["wraps"].conflict(f["dims"], "write one true or false for each axis");
  if (const auto size = f.find("size"); size && tier.size != product)
    size->conflict(f["dims"], "the product of the axes is " + std::to_string(product));
  tier.size = product;
  if (const auto b = f.find("bidirectional")) tier.bidirectional = b->boolean();
  if (const auto b = f.find("block")) tier.block = whole(*b, 1, max_axis);
}

Tier read_tier(const Field& f) {
  const Group g(f, {"name", "topology", "size", "bandwidth", "efficiency", "latency", "oversubscription", "nics",
                    "rail_optimised", "in_network_reduction", "dims", "wraps", "bidirectional", "block"});
  Tier tier;
  tier.name = f["name"].string();
  tier.topology = static_cast<Tier::Topology>(one_of(f["topology"], topology_names));
  if (const auto size = f.find("size")) tier.size = size->integer(1, max_accelerators);
  tier.bandwidth = g.required("bandwidth", bandwidth);
  tier.efficiency = g.required("efficiency", efficiency);
  tier.latency = g.required("latency", seconds);
  tier.oversubscription = g.optional("oversubscription", oversubscription);
  tier.nics = g.optional("nics", count);
  if (const auto b = f.find("rail_optimised")) tier.rail_optimised = b->boolean();
  if (const auto b = f.find("in_network_reduction")) tier.in_network_reduction = b->boolean();
  if (tier.topology == Tier::Topology::torus) {
    read_torus(f, tier);
  } else {
    for (const auto key : {"dims", "wraps", "bidirectional", "block"})
      if (const auto m = f.find(key)) m->conflict(f["topology"], "only a torus has axes");
  }
  return tier;
}

}  // namespace

Network read_network(const Field& f) {
  f.only({"node_size", "tiers", "library"});
  Network n;
  n.node_size = whole(f["node_size"], 1, max_axis);
  const auto tiers = f["tiers"].elements();
  for (const auto& t : tiers) {
    n.tiers.push_back(read_tier(t));
    if (n.tiers.size() < 2) continue;
    const auto& inner = n.tiers[n.tiers.size() - 2];
    if (inner.size == 0) t.fail("stands outside tier \"" + inner.name + "\", which has no size and so no outside");
    if (n.tiers.back().size != 0 && n.tiers.back().size <= inner.size)
      t.conflict(tiers[n.tiers.size() - 2], "an outer tier joins more accelerators than the one inside it");
  }
  if (n.tiers.empty()) f["tiers"].fail("is empty; write at least one tier");
  return n;
}

}  // namespace napkin::hardware_values
