// The stages of a pipeline from what is known of a rank, and what the closed forms want to know of the stages.
#pragma once

#include <span>
#include <vector>

#include "model/pipeline/simulate.hpp"

namespace napkin {

// `of_rank`: what an average rank does for one micro-batch with all of its chunks that the micro-batch crosses. A lane of
// `depth` stages over p ranks gives each stage p/depth of it; its times go by its share of `work`, what it holds by its
// share of `held` (layers). No shares = equal stages. Messages are not shared out.
[[nodiscard]] std::vector<StageWork> share_out(const StageWork& of_rank, int ranks, int depth,
                                               std::span<const double> work = {}, std::span<const double> held = {});

// Per rank: all of its chunks for one micro-batch (a rank of a two-way program: the mean of its two stages).
[[nodiscard]] StageTimes<Plain> stage_times(const PipelineProgram& program, std::span<const StageWork> stages);

}  // namespace napkin
