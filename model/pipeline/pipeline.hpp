// Closed forms of the pipeline schedules: what the search needs of a schedule, and nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/constant.hpp"

namespace napkin {

enum class Schedule : std::uint8_t {
  gpipe, one_f_one_b, interleaved, zb_h1, zb_h2, zb_v, zb_interleaved, dualpipe, dualpipe_v, looped_bfs
};
[[nodiscard]] std::string_view to_string(Schedule s);
[[nodiscard]] std::optional<Schedule> schedule_named(std::string_view name);  // "1f1b", "zb-h1", ...

// Micro-batches whose activations stage `rank` of `pp` holds at once, in units of the activations of that stage for one
// micro-batch (all of its `vpp` chunks). narayanan2021: 1F1B min(pp − rank, m);
// interleaved (2(pp − rank − 1) + (vpp − 1)·pp + 1)/vpp, at most m.
[[nodiscard]] double micro_batches_in_flight(Schedule s, int pp, int vpp, int rank, std::int64_t micro_batches);

}  // namespace napkin
