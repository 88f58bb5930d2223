// Measurements of parts of a step: kernels, collectives, layers. Each is predicted by the formula the step prices it with.
#pragma once

#include <optional>
#include <string>

#include "model/input/document_input.hpp"
#include "model/validation/replay.hpp"

namespace napkin::validation {

// A record that is not a run: it has a `kind` or names a `collective`.
[[nodiscard]] bool is_part(const Field& record);
// A header of a file of measurements, not a measurement: what ran them, or what an empty call takes.
struct PartHeader {
  bool device = false;  // {"kind": "device", "name": "NVIDIA H200", ...}
  double call = 0;      // {"kind": "launch", "t_s": ...}: seconds
};
// Nothing for any other line.
[[nodiscard]] std::optional<PartHeader> part_header(const std::string& line, const std::string& file, std::size_t number);

// Fills kind, parts and class of `r`. `device` is the header record the file has above this one, or empty; `call` seconds
// of an empty call timed the same way. InputError for a kind, machine or shape that no formula predicts.
void replay_part(const Field& record, const std::string& device, double call, Replay& r);

}  // namespace napkin::validation
