// Quantities in any spelling: "3.35TB/s", "3.35 TBps", "989 TFLOPS", "40%", "6.5e-3/day"; a bare number is in SI units.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cli/calculator.hpp"

namespace napkin::cli {

// The SI value of `text`; std::invalid_argument says what was found and what to write.
[[nodiscard]] double read_spelled(Reads reads, const std::string& text);

// "50GB/s", "400Gbps", "900 GB/s bidirectional" (half of it goes one way, which is what every formula counts).
[[nodiscard]] BytesPerSecond read_bandwidth(const std::string& text);

// A model from its sizes, as a run record would state it; `size` gives the value behind an option, if there is one.
[[nodiscard]] Architecture shape_of(const std::function<std::optional<std::int64_t>(std::string_view)>& size);

}  // namespace napkin::cli
