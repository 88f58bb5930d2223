// Measurements of parts of a step: kernels, collectives, layers. Each is predicted by the formula the step prices it with.
#pragma once

#include <string>

#include "model/input/document_input.hpp"
#include "model/validation/replay.hpp"

namespace napkin::validation {

// A record that is not a run: it has a `kind` or names a `collective`.
[[nodiscard]] bool is_part(const Field& record);
// {"kind": "device", "name": "NVIDIA H200", ...}: a header, not a measurement.
[[nodiscard]] bool is_device_header(const std::string& line, const std::string& file, std::size_t number);

// Fills kind, parts and class of `r`. `device` is the header record the file has above this one, or empty. InputError
// for a kind, machine or shape that no formula predicts.
void replay_part(const Field& record, const std::string& device, Replay& r);

}  // namespace napkin::validation
