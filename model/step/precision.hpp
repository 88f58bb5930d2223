// Named precision recipes: which format the linears multiply in, what stays high, what quantising costs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/step/layout.hpp"

namespace napkin {

// "bf16" "fp16" "fp32" "tf32" "fp8" "fp8-rowwise" "fp8-block" "mxfp8" "nvfp4" "mxfp4"; nothing when unknown.
[[nodiscard]] std::optional<Precision> precision_named(std::string_view name);
[[nodiscard]] std::vector<std::string_view> precision_names();

}  // namespace napkin
