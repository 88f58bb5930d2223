// The layout space of a job: axes, their values, and what the user allows of them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/step/layout.hpp"

namespace napkin {

// In enumeration order: an axis' values may depend on the axes before it. dp follows from the GPU count.
enum class LayoutAxis : std::uint8_t { tp, cp, ep, etp, pp, vpp, sp, micro_batch, recompute, zero };
inline constexpr std::size_t axis_count = 10;
inline constexpr std::array<std::string_view, axis_count> axis_names{
    "tp", "cp", "ep", "etp", "pp", "vpp", "sp", "micro-batch", "recompute", "zero"};

// What the user allows of an axis: exactly these values (empty = any), none of those, and a range.
struct AxisLimit {
  std::vector<std::int64_t> require, forbid;
  std::int64_t at_least = 0, at_most = 0;  // 0 = no bound
  [[nodiscard]] bool allows(std::int64_t v) const;
};

struct Space {
  std::array<AxisLimit, axis_count> limits;
  AxisLimit dp;
  std::int64_t max_micro_batch = 64;  // largest divisor of the batch that is tried
};

// The values of an axis given the axes before it in `prefix`, before rules, within the user's limits.
[[nodiscard]] std::vector<std::int64_t> axis_values(const Job& job, const Space& space, LayoutAxis axis,
                                                    const Layout& prefix);
void set_axis(Layout& l, LayoutAxis axis, std::int64_t value);
[[nodiscard]] std::int64_t get_axis(const Layout& l, LayoutAxis axis);

// How many layouts lie below `prefix` when the axes from `next` on are still open.
[[nodiscard]] std::int64_t count_layouts(const Job& job, const Space& space, const Layout& prefix, std::size_t next);

[[nodiscard]] std::vector<std::int64_t> divisors(std::int64_t n, std::int64_t at_most);

}  // namespace napkin
