// The layouts that builders of measured runs chose, against ours: napkin validate --choices.
#pragma once

#include <vector>

#include "cli/command.hpp"
#include "model/search/search.hpp"
#include "model/validation/replay_input.hpp"

namespace napkin::cli {

// One choice for every distinct model, hardware, GPU count and task of the runs of at least `min_gpus`: the layout
// measured fastest there, at its own batch, sequence, precision and framework. Rows that are refused, suspect or ran out of memory are
// left out. `shown`: of the table's rows and Markdown's, those with the largest gain; CSV and JSON have all.
void print_choices(const std::vector<validation::SourceText>& sources, std::int64_t min_gpus, std::size_t shown,
                   const Executor& executor, OutputFormat format);

}  // namespace napkin::cli
