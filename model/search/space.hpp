// The layout space of a job: axes, their values, and what the user allows of them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/step/layout.hpp"

namespace napkin {

// In enumeration order: an axis' values may depend on the axes before it. dp follows from the GPU count.
enum class LayoutAxis : std::uint8_t {
  tp, cp, ep, etp, exchange, pp, schedule, vpp, split, order, sp, micro_batch, recompute, recompute_layers, overlap, offload,
  zero, zero_group, optimizer_offload
};
inline constexpr std::size_t axis_count = 19;
inline constexpr std::array<std::string_view, axis_count> axis_names{
    "tp",          "cp",        "ep",      "etp",  "cp-exchange", "pp",    "schedule",         "vpp",     "split", "order", "sp",
    "micro-batch", "recompute", "recompute-layers", "overlap", "offload", "zero", "zero-group", "optimizer-offload"};

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
  // Axes that a search leaves alone unless they are opened: the layouts have what the framework does. The schedules are
  // 1F1B and interleaved 1F1B until theirs is.
  std::array<bool, axis_count> opened{};
  [[nodiscard]] bool open(LayoutAxis axis) const { return opened[static_cast<std::size_t>(axis)]; }
  [[nodiscard]] AxisLimit& limit(LayoutAxis axis) { return limits[static_cast<std::size_t>(axis)]; }
};
// Those of the axes that `opened` is about.
inline constexpr std::array<LayoutAxis, 9> optional_axes{
    LayoutAxis::exchange, LayoutAxis::schedule, LayoutAxis::split,      LayoutAxis::order,            LayoutAxis::recompute_layers,
    LayoutAxis::overlap,  LayoutAxis::offload,  LayoutAxis::zero_group, LayoutAxis::optimizer_offload};

// The values of an axis given the axes before it in `prefix`, before rules, within the user's limits. Values of axes that are
// no numbers are those of their enumerations; of `overlap`, ExposedBits.
[[nodiscard]] std::vector<std::int64_t> axis_values(const Job& job, const Space& space, LayoutAxis axis,
                                                    const Layout& prefix);
// Whether the values of `axis` are the same below all layouts with the same tp and cp.
[[nodiscard]] bool fixed_by_cut(const Space& space, LayoutAxis axis);
// What the values 0, 1, ... of an axis are called; empty where they are numbers.
[[nodiscard]] std::span<const std::string_view> value_names(LayoutAxis axis);
void set_axis(Layout& l, LayoutAxis axis, std::int64_t value);
[[nodiscard]] std::int64_t get_axis(const Layout& l, LayoutAxis axis);

// How many layouts lie below `prefix` when the axes from `next` on are still open.
[[nodiscard]] std::int64_t count_layouts(const Job& job, const Space& space, const Layout& prefix, std::size_t next);

[[nodiscard]] std::vector<std::int64_t> divisors(std::int64_t n, std::int64_t at_most);

}  // namespace napkin
