// The two halves of napkin memory: by rule of thumb (memory_rule.cpp), and one layout from its operators (memory_layout.cpp).
#pragma once

#include "cli/calculator.hpp"

namespace napkin::cli {

// Options that only the second half takes; any of them, or a run record, chooses it.
[[nodiscard]] OptionList layout_options();
// Answers when one layout is asked for; false: the rule of thumb answers.
[[nodiscard]] bool memory_of_layout(const Asked& asked);

}  // namespace napkin::cli
