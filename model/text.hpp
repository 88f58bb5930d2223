// Quantities as text: one place picks the prefix for every report.
#pragma once

#include <string>

#include "model/derivation.hpp"
#include "model/quantity.hpp"

namespace napkin {

// "54.5 ms", "79.7 GB", "989 TFLOP/s", "3.35 TB/s", "0.412": three or four significant figures, SI prefixes.
[[nodiscard]] std::string format(Dim dim, double si);
template <Dim D, class K>
[[nodiscard]] std::string format(Quantity<D, K> q) {
  return format(D, q.si());
}
// Bytes in GiB ("74.5 GiB"): what allocators and nvidia-smi count in.
[[nodiscard]] std::string format_gib(Bytes b);
// A plain number with thousands separators when integral: "12,288".
[[nodiscard]] std::string format_count(double v);

}  // namespace napkin
