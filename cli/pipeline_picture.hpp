// A timeline as a picture: characters for a terminal, SVG for a page.
#pragma once

#include <string>

#include "model/pipeline/simulate.hpp"

namespace napkin::cli {

// One line a rank, at most `width` characters, a column the same time everywhere. An operation starts with its letter (small
// for the second chunk) and, where there is room, its micro-batch: "F0", "b12"; the rank waits at '.'.
// F forward, B backward, I input gradient, W weight gradient.
[[nodiscard]] std::string timeline_text(const PipelineProgram& program, const Timeline& timeline, int width);

// Ranks as rows, operations as boxes with their micro-batch, the later chunks darker, a scale of time below.
[[nodiscard]] std::string timeline_svg(const PipelineProgram& program, const Timeline& timeline,
                                       const std::string& title, int width = 1200);

}  // namespace napkin::cli
