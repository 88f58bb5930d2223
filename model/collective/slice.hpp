// The part of a torus machine that a job gets.
#pragma once

#include "hardware/hardware.hpp"

namespace napkin {

// The network of a job of `accelerators`: where the innermost tier is a torus, a box of that many, as nearly cubic as
// its axes allow. An axis of the box closes when it is as long as the machine's, or, on a machine built of blocks that
// optical switches join (Tier::block), when all axes are whole blocks (austin2025scaling). Other machines, jobs larger
// than the torus, and numbers that make no box are left as they are.
[[nodiscard]] Network slice_for(const Network& network, long long accelerators);

}  // namespace napkin
