// Numbers as people write them: "4k", "1.5T", "80 GB", "400 Gb/s", "4M-tokens". No JSON here.
// Suffixes (DESIGN §4): in token counts and sequence lengths k, M, G, T are powers of 1,024; in parameters, GPUs, FLOP
// and bytes they are powers of ten. Ki, Mi, Gi, Ti are always powers of 1,024.
// Each reader throws std::invalid_argument whose text says what was found and what to write; callers add the place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/quantity.hpp"

namespace napkin {

[[nodiscard]] double parse_number(std::string_view text);               // "1.5e3", no suffix; finite
[[nodiscard]] double parse_count(std::string_view text);                // "100B" "7B" "1.5T" "16k": powers of ten
[[nodiscard]] std::int64_t parse_tokens(std::string_view text);         // "4k" "4M" "8192": powers of 1,024
[[nodiscard]] Bytes parse_bytes(std::string_view text);                 // "80GB" "80 GiB"; "80 Gb" is refused: bits
[[nodiscard]] BytesPerSecond parse_bandwidth(std::string_view text);    // "3.35 TB/s", "400 Gb/s" (bits)
[[nodiscard]] Seconds parse_seconds(std::string_view text);             // "5 us", "1.2 ms", "3 h"
[[nodiscard]] FlopsPerSecond parse_flop_rate(std::string_view text);    // "989.4 TFLOP/s"
[[nodiscard]] Hertz parse_frequency(std::string_view text);             // "1830 MHz"
[[nodiscard]] Watts parse_power(std::string_view text);                 // "700 W"

// A global batch: sequences ("1024") or tokens ("4M-tokens").
struct Batch {
  std::int64_t sequences{};  // 0 when given in tokens
  std::int64_t tokens{};     // 0 when given in sequences
};
[[nodiscard]] Batch parse_batch(std::string_view text);

}  // namespace napkin
