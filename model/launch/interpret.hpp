// A launch configuration → facts: the table of a target read backwards.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/launch/configuration_input.hpp"

namespace napkin::launch {

struct Reading {
  Facts facts;
  std::set<std::string, std::less<>> said;  // facts that the text states; the others are the program's defaults
  std::vector<std::string> unread;          // keys of the text that the target does not list
  std::map<std::string, std::string, std::less<>> places;  // fact → "file:12: --key"
};

// InputError when two places contradict each other (both are shown), when a value is not one the target has, and when a
// number stands for a variable that is not set.
[[nodiscard]] Reading interpret(const std::vector<Found>& found, const Target& target, const std::string& name);

// Facts that follow from others: accelerators from nodes, data parallelism from the accelerators, the batch from its
// parts, layers from patterns. What a run record states is then there, as far as the facts reach.
void complete(Facts& facts);

}  // namespace napkin::launch
