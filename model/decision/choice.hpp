// The layout that the builders of a run chose, in our list.
#pragma once

#include <optional>

#include "model/search/search.hpp"

namespace napkin {

struct Choice {
  StepCost<Plain> theirs;            // timed exactly
  bool fits = false;                 // their device bytes are within the capacity
  std::optional<RankedLayout> best;  // ours: leaves the margin free; none when nothing does
  std::size_t rank = 1;              // of theirs: one more than the layouts that fit with the margin and are faster
  bool rank_is_exact = true;         // false: at least `rank`
  std::int64_t feasible = 0;         // layouts that fit with the margin
  struct Dropped {
    std::string name, source;
    std::int64_t layouts = 0;
  };
  std::vector<Dropped> lacks;        // what the release could not run, and the layouts it cost the search
  // Their step time over ours − 1: what the winner would gain. Negative: theirs is faster, by what the search does not
  // have (a schedule, modules to recompute) or may not use (the margin).
  [[nodiscard]] double gain() const { return best ? double(theirs.time / best->cost.time) - 1 : 0; }
};

// Searches the default space of the job. The layout must be valid. The rank is by the closed forms that order the
// search.
[[nodiscard]] Choice choice_of(const Job& job, const Layout& theirs, const Executor& executor,
                               std::size_t most_rank = 2000);

}  // namespace napkin
