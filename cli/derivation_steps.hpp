// The derivation of one or more numbers as a list of steps: what explain prints and what its JSON holds.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/derivation.hpp"

namespace napkin::cli {

// Places where a formula may be wrapped stand in `formula` and `numbers` instead of the space before an operator.
inline constexpr char wide_break = '\x01';    // between the terms of the outermost sum
inline constexpr char narrow_break = '\x02';  // elsewhere
[[nodiscard]] std::string without_breaks(std::string text);

struct Step {
  std::string name;                // unique in the list: a second, different T becomes T#2
  bool input = false;              // a constant or a parameter: no formula
  std::string formula, numbers;    // in symbols, and with the numbers substituted
  std::string result;              // with its unit
  double value = 0;                // SI
  Dim dim;
  std::string source;
  std::vector<std::string> notes;  // which arm of a max or min binds; why a branch was taken
  std::vector<std::size_t> uses;   // indices of the steps and inputs in `formula`, in order of appearance
};

// Steps in the order of unfolding: each root, then what its formula uses, depth first; every step once. Equal
// sub-derivations are one step. A nameless expression that is used twice, or is nested too deep, becomes a step x1, x2
// ..., so text and time are linear in the number of nodes.
[[nodiscard]] std::vector<Step> derivation_steps(std::span<const Node* const> roots);

}  // namespace napkin::cli
