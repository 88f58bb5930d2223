// "lacks" of a framework profile: what its releases could not run, and from which month on they can.
#pragma once

#include <optional>
#include <string_view>

#include "model/frameworks/profile.hpp"
#include "model/input/document_input.hpp"

namespace napkin {

// {"name": ..., "before": "2025-07", "model": "experts", "layout": {"vpp": {"above": 1}, "zero": [2, 3]}, "source": ...}.
[[nodiscard]] Lack read_lack(const Field& f);

// "2025-07" → 12·2025 + 6; nothing for what is no month.
[[nodiscard]] std::optional<int> month_of(std::string_view text);

}  // namespace napkin
