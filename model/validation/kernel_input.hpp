// Measured kernels, priced by the formulas the step uses.
#pragma once

#include "hardware/hardware.hpp"
#include "model/input/document_input.hpp"
#include "model/validation/replay.hpp"

namespace napkin::validation {

// Whether `kind` names a kernel that calibrate/samples reads: gemm, attn_fwd, membound, copy, ...
[[nodiscard]] bool is_kernel(const std::string& kind);

// Refuses a time shorter than four empty calls timed the same way: it is the host's. `call` 0: not known.
void check_not_hidden(const Field& time, double seconds, double call);

void replay_kernel(const Field& record, const Accelerator& a, double call, Replay& r);

}  // namespace napkin::validation
