// model/run/residuals.json → Spread: the residuals of the nearest class of measured runs. The file is written by
// `napkin validate … --write-intervals`.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/step/spread.hpp"

namespace napkin {

// Of a run; an empty member of a class stands for any.
struct SpreadKey {
  std::string framework, hardware, precision, kind;
  friend auto operator<=>(const SpreadKey&, const SpreadKey&) = default;
};
// The classes that a run belongs to, the narrowest first; the last is every run.
[[nodiscard]] std::array<SpreadKey, 6> fallback_chain(const SpreadKey& run);
// Fewer runs make no class: their quantiles would say nothing.
inline constexpr long long smallest_class = 10;

// "nanotron on h100-sxm in bf16, dense"; "all runs" for the widest.
[[nodiscard]] std::string describe(const SpreadKey& key);

// Time and memory each of the narrowest class that has enough runs.
[[nodiscard]] std::shared_ptr<const Spread> find_spread(const SpreadKey& run);

// What the file says of the rows compiled into the binary when it was written: a replay that says otherwise shows it stale.
struct SpreadFingerprint {
  long long rows = 0;
  double median = 0, nine_in_ten = 0;  // of |error| of their step times
};
[[nodiscard]] SpreadFingerprint spread_fingerprint();

}  // namespace napkin
