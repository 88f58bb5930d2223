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

// Micro-batches whose activations rank `rank` of `pp` holds at its peak, in units of what that rank keeps for one
// micro-batch (all of its `vpp` chunks; DualPipe: the one of its two stages that the micro-batch crosses). An activation is
// held until its last gradient is made, the weight gradient where the backward is split.
//   huang2019gpipe, lamy-poirier2023  m
//   narayanan2021                     1F1B PP − r; interleaved (2(PP − r − 1) + (v − 1)·N + 1)/v, N = `group`, 0 = PP
//   qi2024zerobubble                  ZB-H1 PP, ZB-H2 2·PP − 1, ZB-V PP (of 2·PP half stages)
//   deepseek-ai2024v3                 DualPipe PP + 1; DualPipeV PP + ½ (2·PP + 1 half stages)
// and never more than m. Exact; the zero-bubble and two-way schedules from m ≥ 2·PP on, below that at most this
// (tests/published/pipeline_test.cpp).
[[nodiscard]] double micro_batches_in_flight(Schedule s, int pp, int vpp, int rank, std::int64_t micro_batches,
                                             std::int64_t group = 0);

// What the closed forms know of the stages. Times are of one micro-batch through all that a rank holds of the model (all of
// its chunks); the three slowest_* are of the same rank, the slowest one.
template <class K>
struct StageTimes {
  SecondsT<K> slowest_forward{};
  SecondsT<K> slowest_backward{};  // both gradients, recomputation included
  SecondsT<K> slowest_weight{};    // the part of slowest_backward that zero-bubble schedules can put off; the same share
                                   // of the backward is taken for the other ranks
  SecondsT<K> sum_forward{};       // over all ranks
  SecondsT<K> sum_backward{};
  // 1F1B: where the slowest rank stands. Ranks after it, and their forward + backward together; 0 where it is the last.
  int ranks_after = 0;
  SecondsT<K> sum_after{};
  SecondsT<K> p2p{};  // one message between neighbours, delaying only who waits for it. A framework that stands still
                      // while it sends has that time in its forwards and backwards instead.
  SecondsT<K> pair_saving{};  // DualPipe: what a forward and a backward of one stage (half a stage in DualPipeV) save by
                              // running together
};

template <class K>
struct PipelineTime {
  SecondsT<K> makespan{};  // first start to last end of any rank: m·(slowest_forward + slowest_backward) − saved + bubble
  SecondsT<K> bubble{};    // what the slowest rank waits
  SecondsT<K> saved{};     // by pairs that hide communication
};

// The makespan of a schedule in closed form. Equal to the simulation where the stages are uniform (and m ≥ 2·PP for the
// zero-bubble and two-way schedules); docs/pipeline.md says how far it is from it where they are not.
// vpp counts for interleaved, interleaved zero-bubble and looped schedules only.
template <class K>
[[nodiscard]] PipelineTime<K> pipeline_time(Schedule s, int pp, int vpp, std::int64_t micro_batches,
                                            const StageTimes<K>& t);

}  // namespace napkin
