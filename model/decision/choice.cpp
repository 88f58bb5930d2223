#include "model/decision/choice.hpp"

#include <algorithm>

#include "model/search/finalists.hpp"

namespace napkin {

Choice choice_of(const Job& job, const Layout& theirs, const Executor& executor, std::size_t most_rank) {
  Evaluator<Plain> evaluator(job, Scope<Plain>());
  const Seconds quick = evaluator.evaluate(theirs).time;
  Choice c;
  c.theirs = evaluator.evaluate(theirs, Timing::exact);
  c.fits = c.theirs.memory.device <= job.hardware->accelerator.capacity.value;
  const Problem problem{.job = job, .space = {}, .keep = std::max(most_rank, finalists(1))};
  Outcome outcome = search(problem, executor);
  c.feasible = outcome.feasible;
  const RuleSet set(job);
  for (std::size_t r = rules().size(); r < set.size(); ++r)
    c.lacks.push_back({std::string(set.name(r)), std::string(set.source(r)), outcome.dropped[r]});
  c.rank = 1 + static_cast<std::size_t>(std::count_if(outcome.best.begin(), outcome.best.end(),
                                                      [&](const RankedLayout& l) { return l.cost.time < quick; }));
  c.rank_is_exact = c.rank <= outcome.best.size() || outcome.best.size() < problem.keep;
  if (outcome.best.size() > finalists(1)) outcome.best.resize(finalists(1));
  (void)time_finalists(problem, 1, outcome);
  if (!outcome.best.empty()) c.best = outcome.best.front();
  return c;
}

}  // namespace napkin
