// Whether the first layout stays first when the model is wrong by as much as it usually is.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/search/search.hpp"

namespace napkin {

// One cause of error: all terms of a kind take `1 + e` of what is predicted, in every layout alike, e within ± the
// interval.
struct Hold {
  std::string_view cause;                   // "arithmetic", "communication" ...
  double from = 0, to = 0;                  // the e between which the first layout stays first
  std::optional<std::size_t> below, above;  // who is first beyond, where that is within the interval
  double share = 1;                         // of the interval in which it stays
  double regret = 0;                        // most that it is slower than the best within the interval, as a share
};

struct Robustness {
  double interval = 0;                        // ± share of the step time
  std::vector<Hold> holds;                    // by cause
  [[nodiscard]] const Hold& weakest() const;  // least share, then most regret
};

// `candidates`: the first is the one whose place is asked about; the more of different kinds the better. `interval`:
// how far nine in ten measured runs lie from predictions of the framework (Spread::time). Step times are linear in e,
// so the ends of the first layout's reign are where straight lines cross, and its regret is largest at an end of the
// interval.
[[nodiscard]] Robustness robustness(std::span<const RankedLayout> candidates, double interval);

}  // namespace napkin
