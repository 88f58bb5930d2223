// The ledger of constants that were fitted to run records, and what replays say under other values of them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/constant.hpp"
#include "model/input/edits_input.hpp"

namespace napkin::validation {

struct FittedConstant {
  std::string name, unit;            // unit: as its file writes it; empty for a share or a factor
  std::vector<std::string> places;   // "h100-sxm#/kernels/gemm/sustained/bf16"; several hold one constant
  std::string source;                // what its file says of it
  std::string family;                // constants of one kind: one that no run tells of takes after the others; empty = alone
  std::string why;                   // why `neutral` is what it would be without runs
  double value = 0;                  // shipped
  double neutral = 0;                // before any fit to runs
  double low = 0, high = 1;          // bounds of a fit
  double deviation = 1;              // of the prior around `neutral` where runs decide: wide
  bool factor = false;               // multiplies what stands at its places
};

// model/validation/ledger.json, checked: every place holds a number that its file calls fitted, and the same number at all
// places of one constant. InputError otherwise.
[[nodiscard]] const std::vector<FittedConstant>& ledger();

// How many the ledger may hold.
inline constexpr std::size_t ledger_limit = 40;

// `values` in the order of `constants`, as changes to the files that hold them. What equals the shipped value is left out.
[[nodiscard]] Edits edits_of(std::span<const FittedConstant> constants, std::span<const double> values);
[[nodiscard]] std::vector<double> shipped_values(std::span<const FittedConstant> constants);
[[nodiscard]] std::vector<double> neutral_values(std::span<const FittedConstant> constants);

// Leaves that their files call fitted to runs or layouts and the ledger lacks.
[[nodiscard]] std::vector<std::string> missing_from_ledger();

// Whether a change of the file named may reach runs of this framework and hardware: it is one of them, or extended by one.
[[nodiscard]] bool reaches(const FittedConstant& c, const std::vector<std::string>& lineage);
// The stems of the files that stand behind a name, itself first: "torchtitan" → torchtitan, pytorch-compile, ...
[[nodiscard]] std::vector<std::string> profile_lineage(const std::string& what);
[[nodiscard]] std::vector<std::string> hardware_lineage(const std::string& what);

}  // namespace napkin::validation
