// A timeline as trace-event JSON, for Perfetto (ui.perfetto.dev) and chrome://tracing.
#pragma once

#include <span>
#include <string>

#include "model/pipeline/simulate.hpp"

namespace napkin::cli {

// One thread a rank, one slice an operation (micro-batch, chunk and stage in its arguments), an arrow for every message
// between ranks, a counter of what each rank holds. Times in microseconds, as the format has them.
// `held_unit` names the unit of StageWork::activation: "micro-batches", "bytes".
[[nodiscard]] std::string trace_json(const PipelineProgram& program, std::span<const StageWork> stages,
                                     const Timeline& timeline, const std::string& title,
                                     const std::string& held_unit = "micro-batches");

// Writes `text` to `path`; InputError when that fails.
void write_file(const std::string& path, const std::string& text);

}  // namespace napkin::cli
