// What the layers of a model weigh against each other, for splitting them over pipeline stages.
#pragma once

#include "model/pipeline/split.hpp"
#include "model/transformer/architecture.hpp"

namespace napkin {

// The stack of a model in training FLOPs a token: layers by kind (dense-first, MoE, sliding window …), the MTP modules with
// the head they repeat, the LM head. The embedding look-up has none.
[[nodiscard]] Stack stack_flops(const Architecture& a, std::int64_t sequence);

}  // namespace napkin
