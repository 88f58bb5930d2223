#include "model/step/stage_memory.hpp"

namespace napkin {
namespace {

int communicators(const Layout& l) {
  return (l.tp > 1) + (l.cp > 1) + (l.ep > 1) + (l.pp > 1) + (l.dp > 1);
}

}  // namespace

template <class K>
PassBytes<K> stage_bytes(Scope<K> scope, const Job& job, const Layout& l, const StageUnit<K>& s, std::int64_t micro_batches) {
  StageTensors<K> t = s.cost->tensors;
  // The residual stream is in fp32, and what the norms keep of it.
  if (whole_copy(job, l))
    t.activations += s.cost->depth * (scope.read("B_autocast", job.profile->saved.autocast) *
                                      (t.hidden_state / scope.input("e", job.precision.base_bytes)));
  if (const double share = l.offloaded_layers > 0 ? offloaded_share(l, s) : 0; share > 0) {
    // Two layers are on their way at a time, one out and one back.
    const auto layer = t.activations / s.cost->depth;
    t.transient += 2 * layer;
    t.activations = let("act_kept", (1 - share) * t.activations);
  }
  const bool forwards_first = l.pp > 1 && (l.schedule == Schedule::gpipe || l.schedule == Schedule::looped_bfs);
  const double m = static_cast<double>(micro_batches);
  const bool put_off = l.pp > 1 && (l.schedule == Schedule::zb_h1 || l.schedule == Schedule::zb_h2 ||
                                    l.schedule == Schedule::zb_v || l.schedule == Schedule::zb_interleaved);
  return pass_bytes(scope, *job.profile, t,
                    StageLoad{.in_flight = s.in_flight,
                              .micro_batches = m,
                              .weights_put_off = put_off ? std::min(m, static_cast<double>(l.pp) / l.vpp) : 0,
                              .accumulates = m > 1 && !forwards_first,
                              .tp = l.tp,
                              .chunks = l.vpp,
                              .sp = l.sp,
                              .pipelined = l.pp > 1,
                              .layers = s.cost->depth,
                              .host_bound = s.cost->host_bound,
                              .runs_ahead = !slow_cluster(job),
                              .communicators = communicators(l),
                              .capacity = job.hardware->accelerator.capacity.value});
}

template <class K>
StageMemory<K> stage_memory_of(Scope<K> scope, const Job& job, const Layout& l, const StageUnit<K>& s) {
  // Gathered units are quantised as they come; frozen weights are stored quantised.
  const bool quantised = l.zero < 3 && !job.adapters.any();
  const ShardTensors<K> sharded{.quantised = quantised ? s.cost->tensors.quantised : BytesT<K>{},
                                .gathered = s.dp->gathered,
                                .updated = s.dp->updated,
                                .working_gradients = s.dp->working_gradients,
                                .last_gradients = s.dp->last_gradients};
  return stage_memory(scope, *job.profile, s.dp->states, sharded, *s.bytes);
}

#define NAPKIN_INSTANTIATE(K)                                                                                \
  template PassBytes<K> stage_bytes(Scope<K>, const Job&, const Layout&, const StageUnit<K>&, std::int64_t);   \
  template StageMemory<K> stage_memory_of(Scope<K>, const Job&, const Layout&, const StageUnit<K>&);
NAPKIN_INSTANTIATE(Plain)
NAPKIN_INSTANTIATE(Traced)
#undef NAPKIN_INSTANTIATE

}  // namespace napkin
