// Measurements compiled into the binary, so that anyone can check the claim.
#pragma once

#include <vector>

#include "model/validation/replay_input.hpp"

namespace napkin::validation {

// Our own steps, kernels and collectives on H200 (tests/own), and published tables typed in with their source
// (tests/published/runs).
[[nodiscard]] std::vector<SourceText> embedded_sources();

}  // namespace napkin::validation
