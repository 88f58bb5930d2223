// The axes of a sweep: what a value list says, and how one value is put into a request.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace napkin::cli {

enum class AxisKind : std::uint8_t { words, gpus, tokens, batch, degree, factor };

struct SweepAxis {
  enum class Of : std::uint8_t { job, layout, space, constant };
  Of of = Of::job;
  std::string name;                 // "gpus", "pp", "network.bandwidth"
  std::vector<std::string> values;  // as a flag takes them
  std::vector<double> numbers;      // of the values, strictly increasing; empty where they are words
  bool geometric = false;           // a range of factors
};

// "256..16384" (doubling), "256..16384*4", "8..64+8", lists of these and of single values: "1,2,4..64". InputError that
// starts with `where` on anything else: an empty item, a range that runs downwards, no value, more than `max_values`.
inline constexpr std::size_t max_values = 100'000;
[[nodiscard]] SweepAxis read_axis(const std::string& where, SweepAxis::Of of, std::string name, AxisKind kind,
                                  const std::string& text);

}  // namespace napkin::cli
