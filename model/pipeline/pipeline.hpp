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

// What the closed forms know of the stages. Times are of one micro-batch through a whole stage, all of its chunks;
// the three slowest_* are of the same stage, the slowest one.
template <class K>
struct StageTimes {
  SecondsT<K> slowest_forward{};
  SecondsT<K> slowest_backward{};  // both gradients
  SecondsT<K> slowest_weight{};    // the part of slowest_backward that zero-bubble schedules may delay
  SecondsT<K> sum_forward{};       // over all stages
  SecondsT<K> sum_backward{};
  SecondsT<K> p2p{};  // exposed: how much later than its producer ends a neighbour's operation may start
};

template <class K>
struct PipelineTime {
  SecondsT<K> makespan{};  // from the first operation of any rank to the last of any rank
  SecondsT<K> bubble{};    // makespan − m·(slowest_forward + slowest_backward): what the slowest stage waits
};

template <class K>
[[nodiscard]] PipelineTime<K> pipeline_time(Schedule s, int pp, int vpp, std::int64_t micro_batches,
                                            const StageTimes<K>& t);

}  // namespace napkin
