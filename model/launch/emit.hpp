// A run → the launch configuration of a training program.
#pragma once

#include <string>
#include <vector>

#include "model/launch/target.hpp"

namespace napkin::launch {

// One line of a configuration.
struct Written {
  std::string key, section, fact;  // fact: empty where the value is the same for every run
  Value value;
  std::size_t file = 0;
};

struct Verdict {
  const Rule* rule{};
  bool kept = true;
  std::string numbers;
};

struct Emission {
  std::vector<Written> settings;
  std::vector<Verdict> rules;           // those that apply to the run
  std::vector<std::string> notes;       // what the program says otherwise, or leaves to its user
  std::vector<std::string> refusals;    // what it cannot be told; empty = expressible
  [[nodiscard]] bool expressible() const { return refusals.empty(); }
};

// Every fact of the run that differs from what silence means is written, named by a limit, or refused: none is dropped.
[[nodiscard]] Emission emit(const Facts& facts, const Target& target);

}  // namespace napkin::launch
