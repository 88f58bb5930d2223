#include "model/step/evaluator.hpp"

#include <algorithm>

#include "model/step/memo.hpp"

namespace napkin {

template <class K>
struct Evaluator<K>::Caches {
  const Job& job;
  Scope<K> scope;
  Memo<8, LayerCosts<K>> layers{};                  // layer key
  Memo<3, std::vector<StageContent>> splits{};      // pp, vpp, schedule
  Memo<11, std::vector<StageCost<K>>> stages{};     // layer key, pp, vpp, schedule
  Memo<10, std::vector<DataParallelCost<K>>> data_parallel{};  // tp, cp, ep, etp, pp, vpp, schedule, dp, zero, zero group
  Memo<5, SecondsT<K>> messages{};                  // tp, sp, cp, micro-batch, dp
  Layout layout{};
  SecondsT<K> message{};
  std::vector<StageUnit<K>> units{};
};

template <class K>
Evaluator<K>::Evaluator(const Job& job, Scope<K> scope) : caches_(new Caches{.job = job, .scope = scope}) {}
template <class K>
Evaluator<K>::~Evaluator() = default;

template <class K>
StepCost<K> Evaluator<K>::evaluate(const Layout& l, Timing timing) {
  Caches& c = *caches_;
  const LayerKey key = layer_key(c.job, l);
  const auto recompute = static_cast<std::int64_t>(l.recompute) + (key.interleaved ? 4 : 0), schedule = static_cast<std::int64_t>(l.schedule);
  const auto& split = c.splits.get({l.pp, l.vpp, schedule}, [&] {
    return split_layers(*c.job.model, l.schedule, l.pp, l.vpp, c.job.profile->split, c.job.sequence);
  });
  const auto& stages = c.stages.get({l.tp, l.sp, l.cp, l.ep, l.etp, l.micro_batch, recompute, key.modules, l.pp, l.vpp, schedule}, [&] {
    const auto& layers = c.layers.get({l.tp, l.sp, l.cp, l.ep, l.etp, l.micro_batch, recompute, key.modules},
                                      [&] { return layer_costs(c.scope, c.job, key); });
    std::vector<StageCost<K>> v;
    v.reserve(split.size());
    for (const StageContent& content : split) v.push_back(stage_cost(c.scope, c.job, layers, content));
    return v;
  });
  const auto& dp =
      c.data_parallel.get({l.tp, l.cp, l.ep, l.etp, l.pp, l.vpp, schedule, l.dp, l.zero, l.zero_group}, [&] {
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
  c.message = p2p;
  c.units.resize(stages.size());
  // All micro-batches of these schedules are between their loss and its backward at once.
  const bool all_forward = l.schedule == Schedule::gpipe || l.schedule == Schedule::looped_bfs;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const StageContent& content = split[i];
    // Micro-batches in flight change monotonically with the rank: the most is at one end of the run.
    const int last = content.first_rank + content.ranks - 1;
    InFlight in_flight;
    if (l.pp > 1) {
      in_flight = {.activations = std::max(micro_batches_in_flight(l.schedule, l.pp, l.vpp, content.first_rank, m),
                                           micro_batches_in_flight(l.schedule, l.pp, l.vpp, last, m)),
                   .logits = all_forward ? static_cast<double>(m) : 1};
    }
    c.units[i] = {.cost = &stages[i], .dp = &dp[i], .in_flight = in_flight, .first_rank = content.first_rank,
                  .ranks = content.ranks};
  }
  if (!is_simulated(l, timing)) return compose(c.scope, c.job, l, std::span<const StageUnit<K>>(c.units), p2p);

  const auto costs = lane_costs(c.job, l);
  const SimulatedPipeline pipeline = simulate_pipeline(l, m, costs, lane_work(l, costs, extras(), message()));
  // Where the closed form gives what is held exactly, searches use it: both timings have the same memory.
  if (l.schedule != Schedule::interleaved) {
    for (StageUnit<K>& unit : c.units) {
      unit.in_flight = {0, 1};
      for (int r = unit.first_rank; r < unit.first_rank + unit.ranks; ++r) {
        const InFlight& of_rank = pipeline.in_flight[static_cast<std::size_t>(r)];
        unit.in_flight.activations = std::max(unit.in_flight.activations, of_rank.activations);
        unit.in_flight.logits = std::max(unit.in_flight.logits, of_rank.logits);
      }
    }
  }
  return compose(c.scope, c.job, l, std::span<const StageUnit<K>>(c.units), p2p, &pipeline);
}

template <class K>
std::vector<PassExtra> Evaluator<K>::extras() const {
  std::vector<PassExtra> extras;
  for (const StageUnit<K>& unit : caches_->units) {
    const StagePace<K> p = stage_pace(caches_->scope, caches_->job, caches_->layout, unit, caches_->message);
    const SecondsT<K> forward = p.forward - unit.cost->forward_total - p.messages;
    const SecondsT<K> backward = p.backward - unit.cost->backward_total - p.messages;
    const PassExtra extra{Seconds::si(forward.si()), Seconds::si(backward.si())};
    extras.insert(extras.end(), static_cast<std::size_t>(unit.ranks), extra);
  }
  return extras;
}

template <class K>
Seconds Evaluator<K>::message() const {
  return Seconds::si(caches_->message.si());
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
