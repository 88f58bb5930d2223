#include "model/step/evaluator.hpp"

#include <algorithm>
#include <type_traits>

#include "model/step/evaluator_tables.hpp"
#include "model/step/layer_book.hpp"

namespace napkin {

template <class K>
struct Evaluator<K>::Caches {
  Caches(const Job& j, Scope<K> s, const SplitTable* shared)
      : job(j), scope(s), known(shared), own(*j.model, j.sequence), prices(s, j), book(s, j, prices, shared != nullptr) {}

  const Job& job;
  Scope<K> scope;
  const SplitTable* known;  // splits made before, by others; null = none
  SplitTable own;
  Prices<K> prices;
  LayerBook<K> book;
  Memo<2, PricedLayers<K>> layers{};
  Memo<3, ByContent<DataParallelCost<K>>> data_parallel{};
  Memo<2, SecondsT<K>> messages{};
  Shelf<StageCost<K>> stage_costs{};
  Shelf<DataParallelCost<K>> data_parallel_costs{};

  // The layout evaluated last, and what of it may serve the next one.
  std::array<std::uint64_t, 2> cut{};
  std::array<std::uint64_t, 2> layer_words{};
  PricedLayers<K>* priced = nullptr;
  const SplitTable* table = nullptr;
  const RankSplit* split = nullptr;
  std::int64_t micro_batches = -1;  // of `units`; −1: not known
  std::array<std::int64_t, 5> counted{};
  StepCounts counts{};
  Layout layout{};
  std::array<std::uint64_t, 2> message_words{};
  bool has_message = false;         // of `message_words`
  SecondsT<K> message{};
  std::vector<const StageCost<K>*> contents{};             // by RankSplit::contents
  std::vector<const DataParallelCost<K>*> sharded{};
  std::vector<StageUnit<K>> units{};
  std::vector<PassBytes<K>> bytes{};                       // by unit
  std::array<std::int64_t, 4> bytes_of{-1, 0, 0, 0};       // what of the layout they hold for; −1: none
  std::array<Sharding<K>, 8> shardings{};                  // those used last, by ZeRO stage and offload

  // Layouts come grouped by their cut: what belongs to another one is dropped, so that the tables stay small.
  void recut(const Layout& l) {
    const auto now = cut_of(l);
    if (now == cut) return;
    cut = now;
    messages.clear();
    has_message = false;
    drop_stages();
  }
  void drop_stages() {
    priced = nullptr;
    layers.clear();
    data_parallel.clear();
    shardings.fill({});
    stage_costs.clear();
    data_parallel_costs.clear();
  }
  void find_split(const Layout& l) {
    if (split != nullptr && l.pp == layout.pp && l.vpp == layout.vpp && l.schedule == layout.schedule && l.split == layout.split)
      return;
    split = nullptr;
    const SplitRule rule = split_rule(job, l);
    const SplitTable* const before = table;
    if (known != nullptr) {
      table = known;
      split = known->find(rule, l.schedule, l.pp, l.vpp);
    }
    if (split == nullptr) {
      table = &own;
      split = &own.get(rule, l.schedule, l.pp, l.vpp);
    }
    // Contents are numbered by their table: what was made of another one's is dropped.
    if (table != before) drop_stages();
    priced = nullptr;
    micro_batches = -1;
  }
  // Whether the layers of `l` are those of the layout evaluated last, if their cut is.
  [[nodiscard]] bool same_layers(const Layout& l) const {
    return l.micro_batch == layout.micro_batch && l.sp == layout.sp && l.recompute == layout.recompute &&
           l.recomputed_layers == layout.recomputed_layers && l.vpp == layout.vpp && l.exposed == layout.exposed &&
           l.exchange == layout.exchange && l.modules == layout.modules;
  }
  void price_stages(const Layout& l) {
    if (priced != nullptr && same_layers(l)) return;
    const LayerKey key = layer_key(job, l);
    const auto words = layers_of(key, l);
    if (priced != nullptr && words == layer_words) return;
    layer_words = words;
    bytes_of[0] = -1;
    priced = nullptr;
    priced = &layers.at(words, [&] {
      PricedLayers<K> p{.costs = &book.get(key), .kept = nullptr};
      if (l.recomputed_layers > 0) {
        LayerKey none = key;
        none.recompute = Recompute::none;
        p.kept = &book.get(none);
      }
      return p;
    });
    contents.resize(split->contents.size());
    for (std::size_t i = 0; i < contents.size(); ++i)
      contents[i] = priced->stages.get(split->contents[i], stage_costs, [&] {
        const StageContent& content = table->content(split->contents[i]);
        if (priced->kept == nullptr) return stage_cost(scope, job, *priced->costs, content);
        return stage_cost(scope, job, *priced->costs, *priced->kept, recomputed_share(l, content, l.vpp), content);
      });
  }
  void shard(const Layout& l) {
    const auto key = sharding_of(l);
    Sharding<K>& group = shardings[static_cast<std::size_t>(l.zero) | (l.optimizer_offload ? 4U : 0U)];
    if (group.costs == nullptr || group.key != key)
      group = {key, &data_parallel.at(key, [] { return ByContent<DataParallelCost<K>>{}; })};
    sharded.resize(contents.size());
    for (std::size_t i = 0; i < contents.size(); ++i)
      sharded[i] = group.costs->get(split->contents[i], data_parallel_costs,
                                [&] { return data_parallel_cost(scope, job, l, *contents[i], prices); });
  }
  void count(const Layout& l) {
    const std::array<std::int64_t, 5> now{l.dp, l.micro_batch, l.pp, l.tp, l.cp};
    if (now == counted) return;
    counted = now;
    counts = step_counts(job, l);
  }
  void send(const Layout& l) {
    if (l.pp == 1) {
      message = {};
      has_message = false;
      return;
    }
    const auto words = message_of(l);
    if (has_message && words == message_words) return;
    message = messages.get(words, [&] { return stage_message(scope, job, l); });
    message_words = words;
    has_message = true;
  }
  // What the units hold whatever the sharding.
  void hold_bytes(const Layout& l) {
    const std::array<std::int64_t, 4> now{counts.micro_batches, l.dp, l.offloaded_layers, whole_copy(job, l) ? 1 : 0};
    if (now == bytes_of) return;
    bytes_of = now;
    bytes.resize(units.size());
    for (std::size_t i = 0; i < units.size(); ++i) {
      bytes[i] = stage_bytes(scope, job, l, units[i], counts.micro_batches);
      units[i].bytes = &bytes[i];
    }
  }
  void hold(const Layout& l, std::int64_t m) {
    if (m == micro_batches) return;
    micro_batches = m;
    bytes_of[0] = -1;
    units.resize(split->runs.size());
    // All micro-batches of these schedules are between their loss and its backward at once.
    const bool all_forward = l.schedule == Schedule::gpipe || l.schedule == Schedule::looped_bfs;
    for (std::size_t i = 0; i < units.size(); ++i) {
      const StageRun& run = split->runs[i];
      InFlight in_flight;
      if (l.pp > 1) {
        // Micro-batches in flight change monotonically with the rank: the most is at one end of the run.
        const int last = run.first_rank + run.ranks - 1;
        in_flight = {.activations = std::max(micro_batches_in_flight(l.schedule, l.pp, l.vpp, run.first_rank, m),
                                             micro_batches_in_flight(l.schedule, l.pp, l.vpp, last, m)),
                     .logits = all_forward ? static_cast<double>(m) : 1};
      }
      units[i] = {.cost = nullptr, .dp = nullptr, .bytes = nullptr, .in_flight = in_flight, .first_rank = run.first_rank, .ranks = run.ranks};
    }
  }
};

template <class K>
Evaluator<K>::Evaluator(const Job& job, Scope<K> scope, const SplitTable* splits)
    : caches_(new Caches(job, scope, splits)) {}
template <class K>
Evaluator<K>::~Evaluator() = default;

template <class K>
StepCost<K> Evaluator<K>::evaluate(const Layout& l, Timing timing) {
  Caches& c = *caches_;
  c.count(l);
  const std::int64_t m = c.counts.micro_batches;
  c.recut(l);
  c.find_split(l);
  c.price_stages(l);
  c.shard(l);
  c.hold(l, m);
  c.send(l);
  c.layout = l;
  for (std::size_t i = 0; i < c.units.size(); ++i) {
    const auto content = static_cast<std::size_t>(c.split->runs[i].content);
    c.units[i].cost = c.contents[content];
    c.units[i].dp = c.sharded[content];
  }
  const SecondsT<K> p2p = c.message;
  c.hold_bytes(l);
  if (!is_simulated(l, timing)) return compose(c.scope, c.job, l, std::span<const StageUnit<K>>(c.units), p2p, c.counts);

  const auto costs = [&] {
    if constexpr (std::is_same_v<K, Plain>) return lane_costs(c.job, l, *c.priced->costs, c.priced->kept);
    else return lane_costs(c.job, l);
  }();
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
    c.bytes_of[0] = -1;
    c.hold_bytes(l);
    c.micro_batches = -1;  // what was held is not what hold() says
  }
  return compose(c.scope, c.job, l, std::span<const StageUnit<K>>(c.units), p2p, c.counts, &pipeline);
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
