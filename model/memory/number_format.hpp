// Formats of quantised tensors: bits of an element with its share of scales, and what they buy.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "model/constant.hpp"

namespace napkin {

// `scale` bits for each `block` elements; a second scale of `scale2` bits for each `block2` blocks; `zero` bits of a
// zero point a block. 0 = none.
struct QuantFormat {
  std::string_view name, what, source;
  double bits = 0, scale = 0, block = 1, scale2 = 0, block2 = 1, zero = 0;
};
[[nodiscard]] const std::vector<QuantFormat>& quant_formats();
[[nodiscard]] std::optional<QuantFormat> quant_format_named(std::string_view name);

// bits + (scale + zero)/block + scale2/(block·block2)
template <class K>
[[nodiscard]] ScalarT<K> bits_per_element(const Scope<K>& scope, const QuantFormat& f);
// Amdahl (amdahl1967): 1 / ((1 − f) + f/r), f = share of the time that runs r times as fast.
template <class K>
[[nodiscard]] ScalarT<K> partial_speedup(ScalarT<K> share, ScalarT<K> ratio);

}  // namespace napkin
