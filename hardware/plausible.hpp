// Checks of a machine that reads well: figures no machine has, and figures that contradict each other.
#pragma once

#include <string>
#include <vector>

#include "hardware/hardware.hpp"

namespace napkin {

// One line for each oddity, beginning with the place of the constant; empty = plausible.
[[nodiscard]] std::vector<std::string> implausible(const Hardware& h);

}  // namespace napkin
