// A layout that does not fit: the changes, alone or in pairs, that make it fit, each verified by evaluating it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/step/evaluator.hpp"

namespace napkin {

struct Fix {
  std::vector<std::string> changes;  // one or two, in words
  bool same_training = true;         // false: numerics, or the sequences the model sees, change
  Job job;                           // as changed; points at `profile` where that changed
  std::shared_ptr<const Profile> profile;
  Layout layout;
  StepCost<Plain> cost;
  double slowdown = 0;  // GPU-seconds per token over those of the layout as it is, − 1; negative = cheaper
};

struct FixProblem {
  Job job;
  Layout layout;          // valid
  Bytes limit{};          // device bytes a fix may use
  std::size_t keep = 8;
};

// Those that leave the training as it is before the others, cheapest first. Of changes to the same one or two knobs only the cheapest is listed; a pair only where neither of its
// changes is enough. Empty when the layout is within the limit, or nothing of the list brings it there.
[[nodiscard]] std::vector<Fix> fixes(const FixProblem& problem);

}  // namespace napkin
