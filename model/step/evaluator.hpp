// Layout → step, with every sub-result cached under the few numbers it depends on.
#pragma once

#include <memory>
#include <vector>

#include "model/step/compose.hpp"
#include "model/step/split_table.hpp"

namespace napkin {

// Not thread-safe: one per thread. The job must outlive it.
template <class K>
class Evaluator {
 public:
  // `splits`: those made before, which evaluators may share as long as nobody adds to them; it must outlive this.
  Evaluator(const Job& job, Scope<K> scope, const SplitTable* splits = nullptr);
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  // Time and memory of one layout. The layout must be valid (search/rules.hpp); InputError where its schedule is simulated
  // and lacks the shape.
  [[nodiscard]] StepCost<K> evaluate(const Layout& l, Timing timing = Timing::quick);
  // The distinct stages of the layout evaluated last, in rank order, and their memory.
  [[nodiscard]] std::span<const StageUnit<K>> stages() const;
  [[nodiscard]] StageMemory<K> memory(const StageUnit<K>& stage) const;
  // Of the layout evaluated last: what each rank adds to its passes, and the exposed message between neighbours.
  [[nodiscard]] std::vector<PassExtra> extras() const;
  [[nodiscard]] Seconds message() const;

 private:
  struct Caches;
  std::unique_ptr<Caches> caches_;
};

}  // namespace napkin
