#include "model/step/evaluator.hpp"

#include <algorithm>

#include "model/step/memo.hpp"

namespace napkin {

template <class K>
struct Evaluator<K>::Caches {
  const Job& job;
  Scope<K> scope;
  Memo<8, LayerCosts<K>> layers{};                  // layer key
  Memo<2, std::vector<StageContent>> splits{};      // pp, chunks of a rank (negative: folded)
  Memo<10, std::vector<StageCost<K>>> stages{};     // layer key, pp, vpp
  Memo<9, std::vector<DataParallelCost<K>>> data_parallel{};  // tp, cp, ep, etp, pp, vpp, dp, zero, zero group
  Memo<5, SecondsT<K>> messages{};                  // tp, sp, cp, micro-batch, dp
  Layout layout{};
  std::vector<StageUnit<K>> units{};
};

template <class K>
Evaluator<K>::Evaluator(const Job& job, Scope<K> scope) : caches_(new Caches{.job = job, .scope = scope}) {}
template <class K>
Evaluator<K>::~Evaluator() = default;

template <class K>
StepCost<K> Evaluator<K>::evaluate(const Layout& l) {
  Caches& c = *caches_;
  const LayerKey key = layer_key(c.job, l);
  const auto recompute = static_cast<std::int64_t>(l.recompute);
  const std::int64_t chunks = folds(l.schedule) ? -l.vpp : l.vpp;
  const auto& split = c.splits.get({l.pp, chunks}, [&] {
    return split_layers(*c.job.model, l.pp, l.vpp, c.job.profile->split, folds(l.schedule));
  });
  const auto& stages = c.stages.get({l.tp, l.sp, l.cp, l.ep, l.etp, l.micro_batch, recompute, key.modules, l.pp, chunks}, [&] {
    const auto& layers = c.layers.get({l.tp, l.sp, l.cp, l.ep, l.etp, l.micro_batch, recompute, key.modules},
                                      [&] { return layer_costs(c.scope, c.job, key); });
    std::vector<StageCost<K>> v;
    v.reserve(split.size());
    for (const StageContent& content : split) v.push_back(stage_cost(c.scope, c.job, layers, content));
    return v;
  });
  const auto& dp =
      c.data_parallel.get({l.tp, l.cp, l.ep, l.etp, l.pp, chunks, l.dp, l.zero, l.zero_group}, [&] {
        std::vector<DataParallelCost<K>> v;
        v.reserve(stages.size());
        for (const StageCost<K>& s : stages) v.push_back(data_parallel_cost(c.scope, c.job, l, s));
        return v;
      });
  const SecondsT<K> p2p = l.pp == 1 ? SecondsT<K>{}
                                    : c.messages.get({l.tp, l.sp, l.cp, l.micro_batch, l.dp},
                                                     [&] { return stage_message(c.scope, c.job, l); });
  const std::int64_t m = micro_batches(c.job, l);
  c.layout = l;
  c.units.resize(stages.size());
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const StageContent& content = split[i];
    // Micro-batches in flight change monotonically with the rank: the most is at one end of the run.
    const int last = content.first_rank + content.ranks - 1;
    const double in_flight =
        l.pp == 1 ? 1
                  : std::max(micro_batches_in_flight(l.schedule, l.pp, l.vpp, content.first_rank, m),
                             micro_batches_in_flight(l.schedule, l.pp, l.vpp, last, m));
    c.units[i] = {.cost = &stages[i], .dp = &dp[i], .in_flight = in_flight, .first_rank = content.first_rank,
                  .ranks = content.ranks};
  }
  return compose(c.scope, c.job, l, std::span<const StageUnit<K>>(c.units), p2p);
}

template <class K>
std::span<const StageUnit<K>> Evaluator<K>::stages() const {
  return caches_->units;
}

template <class K>
StageMemory<K> Evaluator<K>::memory(const StageUnit<K>& stage) const {
  return stage_memory_of(caches_->scope, caches_->job, caches_->layout, stage);
}

template class Evaluator<Plain>;
template class Evaluator<Traced>;

}  // namespace napkin
