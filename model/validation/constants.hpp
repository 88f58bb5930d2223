// How many constants an answer rests on, and how they were obtained.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/constant.hpp"
#include "model/validation/replay.hpp"

namespace napkin::validation {

struct ConstantCount {
  std::string file;                        // "nanotron", "h100-sxm"
  bool machine = false;                    // else a framework's profile
  std::map<Evidence, std::size_t> by_kind;
  std::size_t rows = 0;                    // replays that use it
};

// Of the profiles and machines that the predicted rows name, most used first. A profile counts what it states itself, not
// what it inherits; eras count.
[[nodiscard]] std::vector<ConstantCount> constants_of(const std::vector<Replay>& rows);

// Leaves that the shipped files call fitted and the ledger does not hold: to kernels, by machine, and to collectives.
struct KernelConstants {
  std::size_t machines = 0, leaves = 0, library = 0;
};
[[nodiscard]] KernelConstants kernel_constants();

}  // namespace napkin::validation
