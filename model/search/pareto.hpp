// Layouts that nothing beats in everything: step time, memory left, accelerator-hours, dollars, energy.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/search/search.hpp"

namespace napkin {

// What a step costs besides time. Energy is at the rated power of the accelerators alone, an upper bound: hosts, network and
// cooling are not in it, and a chip that waits draws less.
struct Expense {
  std::int64_t gpus = 0;
  double tokens = 0;           // of a step
  Seconds time{};
  Bytes headroom{};            // capacity − device bytes
  double gpu_hours = 0;        // of a step
  std::optional<double> dollars, joules;  // of a step; nothing where price or power is not known
};
// `price` in US dollars an accelerator and hour; nothing: the hardware's own, if it has one.
[[nodiscard]] Expense expense(const Job& job, const StepCost<Plain>& cost, std::optional<double> price);

// Whether `a` is at least as good as `b` in all of time, hours, dollars and joules a token and in headroom, and better in one.
[[nodiscard]] bool dominates(const Expense& a, const Expense& b);
// Indices of those that none dominates, fastest a token first. Of equals the first stays.
[[nodiscard]] std::vector<std::size_t> pareto_front(const std::vector<Expense>& all);

}  // namespace napkin
