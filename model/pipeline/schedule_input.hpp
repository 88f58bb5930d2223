// A hand-written schedule, from JSON:
//   { "schema": 1, "micro_batches": 4, "chunks": 2, "placement": "v",
//     "ranks": [ "0F0 0F1 3F0 3I0 3W0 …", … ] }
// One string (or array of strings) a rank, in the notation of PyTorch's schedule files: stage, work, micro-batch. Works are F,
// B (both gradients), I (input gradient), W (weight gradient). "0F3+7B1" runs two together. `placement` says which stages a
// rank holds: "loop" (default), "v", "two-way", or an array of arrays of stages, one a rank.
#pragma once

#include "model/input/document_input.hpp"
#include "model/pipeline/schedule.hpp"

namespace napkin {

// InputError, one line with file, line and field: a word that is no operation, a stage or micro-batch out of range, an
// operation missing or there twice, a rank that would wait for ever.
[[nodiscard]] PipelineProgram read_program(const Document& document);

}  // namespace napkin
