// Exhaustive search: every layout of the space is checked by the rules and, if valid, evaluated in full.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/search/rules.hpp"
#include "model/search/space.hpp"
#include "model/step/evaluator.hpp"

namespace napkin {

struct Problem {
  Job job;
  Space space;
  std::size_t keep = 10;      // best layouts to return
  double margin = 1 - fits_below;  // share of capacity a layout must leave free
  bool front = false;              // also keep what no layout beats in both time and memory
};

struct RankedLayout {
  Layout layout;
  StepCost<Plain> cost;
};
// Faster first; ties by the layout's own order, so that results do not depend on threads.
[[nodiscard]] bool better(const RankedLayout& a, const RankedLayout& b);

// Layouts by time whose device bytes fall: of one job the rest are dominated, hours and energy go with time. Kept small while
// a search runs.
class Front {
 public:
  void add(const RankedLayout& c);
  [[nodiscard]] const std::vector<RankedLayout>& layouts() const { return front_; }

 private:
  std::vector<RankedLayout> front_;
};

struct Outcome {
  enum class Why : std::uint8_t { optimal, infeasible };
  Why why = Why::infeasible;
  std::vector<RankedLayout> best;           // at most `keep`, best first
  std::vector<RankedLayout> front;          // if asked for: fastest first, device bytes falling
  std::optional<RankedLayout> closest;      // infeasible: the layout with the fewest device bytes
  // The best feasible layout for each value of each axis: what a different choice would cost.
  std::array<std::map<std::int64_t, RankedLayout>, axis_count> best_by_axis;
  std::int64_t searched = 0;             // evaluated: time and memory
  std::int64_t feasible = 0;             // of those, that fit
  std::vector<std::int64_t> dropped;     // by the rules of RuleSet(job), in their order
};

// Runs body(0) … body(n − 1), in any order, possibly at the same time. The search is correct under any executor.
using Executor = std::function<void(std::size_t n, const std::function<void(std::size_t)>& body)>;
void run_in_order(std::size_t n, const std::function<void(std::size_t)>& body);

[[nodiscard]] Outcome search(const Problem& problem, const Executor& executor = run_in_order);

}  // namespace napkin
