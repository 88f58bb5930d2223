// One training step from its parts: pure arithmetic over cached costs. The search and `predict` call the same function.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "model/pipeline/pipeline.hpp"
#include "model/step/simulated.hpp"
#include "model/step/stage_memory.hpp"

namespace napkin {

// The terms a step's time is made of, in the order they are added; their sum is the step time, exactly.
enum class Term : std::uint8_t {
  forward_gemm, forward_attention, forward_elementwise,
  backward_gemm, backward_attention, backward_elementwise,
  recompute,        // forward run again in the backward pass, its communication included
  ends,             // embedding, head and loss where the slowest stage has them
  tp_comm, cp_comm, ep_comm, pp_comm,  // exposed communication
  host,             // launches that kernels are too short to hide
  offload,          // saved tensors on their way to host memory and back, where the passes are too short to hide them
  bubble,           // what the slowest stage waits for the others
  dp_comm,          // exposed gradient reduction
  param_gather,     // exposed parameter gathering
  optimizer,
  straggler,        // growth of the slowest rank with scale
  fixed             // host work per step
};
inline constexpr std::size_t term_count = 20;
inline constexpr std::array<std::string_view, term_count> term_names{
    "forward_gemm",  "forward_attention",  "forward_elementwise", "backward_gemm", "backward_attention",
    "backward_elementwise", "recompute",   "head_and_embedding",  "tp_comm",       "cp_comm",
    "ep_comm",       "pp_comm",            "host",                "offload",       "bubble",        "dp_comm",
    "param_gather",  "optimizer",          "straggler",           "fixed"};

// The step as a stopwatch between its parts sees it, on the slowest stage: what stands in neither (bubble, stragglers, the
// fixed part) belongs to none.
template <class K>
struct Phases {
  SecondsT<K> forward{}, backward{}, optimizer{};
};

template <class K>
struct StepCost {
  SecondsT<K> time{};
  Phases<K> phases;
  std::array<SecondsT<K>, term_count> terms{};
  int slowest = 0;             // index of the stage that sets the pace
  int fullest = 0;             // index of the stage with the most device bytes
  StageMemory<K> memory;       // of the fullest stage
  BytesT<K> host_states{};     // its optimizer states that wait in host memory
  bool simulated = false;      // the pipeline's time is a simulation's, not a closed form's
};

// Time of a stage for one micro-batch: what ZeRO 2–3, offload and the messages to its neighbours add, exposed.
template <class K>
struct StagePace {
  SecondsT<K> gather_forward{}, gather_backward{}, reduce{}, messages{}, offload{};
  SecondsT<K> forward{}, backward{};
};
template <class K>
[[nodiscard]] StagePace<K> stage_pace(Scope<K> scope, const Job& job, const Layout& l, const StageUnit<K>& s,
                                      SecondsT<K> message);

// Numbers of a layout that few of its axes change.
struct StepCounts {
  std::int64_t micro_batches = 1;
  double doublings = 0;  // log2(accelerators / accelerators in lockstep) where there are more
};
[[nodiscard]] StepCounts step_counts(const Job& job, const Layout& l);

// `p2p` is one message between neighbouring stages; `simulated`, where there is one, replaces the closed form.
template <class K>
[[nodiscard]] StepCost<K> compose(Scope<K> scope, const Job& job, const Layout& l,
                                  std::span<const StageUnit<K>> stages, SecondsT<K> p2p, const StepCounts& counts,
                                  const SimulatedPipeline* simulated = nullptr);

// One message between neighbouring stages: boundary_bytes() of a micro-batch, scattered under SP. What of it is exposed.
template <class K>
[[nodiscard]] SecondsT<K> stage_message(Scope<K> scope, const Job& job, const Layout& l);

}  // namespace napkin
