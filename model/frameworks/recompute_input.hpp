// The names of recomputed modules in run records and profiles.
#pragma once

#include "model/input/document_input.hpp"
#include "model/frameworks/recompute.hpp"

namespace napkin {

// The bit of a module's name; fails at the field for any other word.
[[nodiscard]] RecomputeModule read_recompute_module(const Field& f);

}  // namespace napkin
