// Layout → step, with every sub-result cached under the few numbers it depends on.
#pragma once

#include <memory>
#include <vector>

#include "model/step/compose.hpp"

namespace napkin {

// Not thread-safe: one per thread. The job must outlive it.
template <class K>
class Evaluator {
 public:
  Evaluator(const Job& job, Scope<K> scope);
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  // Time and memory of one layout. The layout must be valid (search/rules.hpp).
  [[nodiscard]] StepCost<K> evaluate(const Layout& l);
  // The distinct stages of the layout evaluated last, in rank order, and their memory.
  [[nodiscard]] std::span<const StageUnit<K>> stages() const;
  [[nodiscard]] StageMemory<K> memory(const StageUnit<K>& stage) const;

 private:
  struct Caches;
  std::unique_ptr<Caches> caches_;
};

}  // namespace napkin
