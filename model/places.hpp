// Which constants of data files a derived number rests on.
#pragma once

#include <set>
#include <span>
#include <string>

#include "model/derivation.hpp"

namespace napkin {

// The places ("h100-sxm#/memory/bandwidth") of the constants among the inputs under `roots`. What a record itself states
// has none.
[[nodiscard]] std::set<std::string> places_under(std::span<const Node* const> roots);

}  // namespace napkin
