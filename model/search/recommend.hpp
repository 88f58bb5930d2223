// Layouts that a prediction cannot tell apart, and which of them to take.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/search/search.hpp"

namespace napkin {

// Step times nearer than this are one: simulation and closed form of a pipeline differ as much, runs of one layout more.
inline constexpr double near_tie = 0.01;

struct Recommendation {
  std::size_t index = 0;             // of the layout to take
  std::vector<std::size_t> group;    // those within `share` of the fastest, in the order of the ranking
  std::string reason;                // why not the fastest; empty where it is the fastest
};

// The simplest of the layouts within `share` of the first one: fewest kinds of parallelism and options in use, then the smallest
// model-parallel group, then most memory left; of equals the fastest. `ranked` is fastest first and not empty.
[[nodiscard]] Recommendation recommend(std::span<const RankedLayout> ranked, double share = near_tie);

// What of a layout somebody has to set up, in words: "tp", "sp", "pp", "interleaving", ...
[[nodiscard]] std::vector<std::string> parts_of(const Layout& l);

}  // namespace napkin
