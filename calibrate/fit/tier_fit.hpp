// Fits α (latency of a hop) and β (achieved share of the bandwidth) of one tier of the network to measured collectives.
#pragma once

#include <vector>

#include "calibrate/fit/robust_fit.hpp"
#include "calibrate/samples/collective_sample.hpp"

namespace napkin::fit {

// The tier that a sample's ranks need: 0 inside a node.
[[nodiscard]] std::size_t tier_of(const Network& network, const CollectiveSample& s);
// All samples need tier `tier`, which `network` has. `latency`: fit it too; otherwise only the efficiency is (host-timed
// samples say nothing about latency). The fitted values are written into `network`.
Fit fit_tier(Network& network, std::size_t tier, const std::vector<CollectiveSample>& samples, bool latency,
             HeldOut held_out);

}  // namespace napkin::fit
