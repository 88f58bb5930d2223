// Looking up a machine's matrix rates; used by the kernel models only.
#pragma once

#include "model/kernel/kernel.hpp"

namespace napkin {

// Dense peak of a format; InputError when the machine has none.
[[nodiscard]] const Constant<FlopsPerSecond>& matrix_peak(const Accelerator& a, Format f);
// Fraction of it that a large GEMM reaches in a regime; where only one regime is known, that one.
[[nodiscard]] const Constant<Scalar>& matrix_fraction(const Accelerator& a, Format f, Regime regime);

}  // namespace napkin
