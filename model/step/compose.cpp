#include "model/step/compose.hpp"

#include <algorithm>
#include <cmath>

#include "model/pipeline/boundary.hpp"

namespace napkin {
namespace {

// What moving offloaded tensors adds to each pass: the link to the host works beside the kernels (ren2021zerooffload).
template <class K>
SecondsT<K> offload_exposed(Scope<K> scope, const Job& job, const Layout& l, const StageUnit<K>& s, SecondsT<K> window) {
  if (l.offloaded_layers == 0) return {};
  const double share = offloaded_share(l, s);
  const auto transfer = share * s.cost->tensors.activations / scope.read("host bandwidth", job.hardware->accelerator.host_bandwidth);
  return let("offload_exposed", max(SecondsT<K>{}, transfer - window), "ren2021zerooffload");
}

// What `communication` adds to a window of compute it may hide in: it hides in the usable share of the window, and what
// hides still slows the compute by `contention` (shared memory bandwidth and units).
template <class K>
inline SecondsT<K> exposed(Scope<K> scope, const DataParallel& dp, SecondsT<K> communication, SecondsT<K> window,
                    bool overlapped) {
  if (!overlapped) return choose("not overlapped", communication);
  const auto hidden =
      let("t_hidden", min(communication, scope.read("o_dp", dp.usable_window) * window));
  return communication - hidden + scope.read("x_dp", dp.contention) * hidden;
}

// ZeRO-3 gathers parameters for each pass; so does FSDP under ZeRO-2 for the forward pass of each micro-batch, as the
// backward pass reshards (SHARD_GRAD_OP; zhao2023fsdp §4.1). FSDP is what copies units or gathers them on demand.
bool gathers_each_pass(const Job& job, const Layout& l) {
  const DataParallel& dp = job.profile->data_parallel;
  return l.zero >= 3 || (l.zero == 2 && l.pp == 1 && (dp.unit_copies || !dp.prefetch_backward));
}

bool hides_data_parallel(const Layout& l) { return (l.exposed & exposed_data_parallel) == 0; }

// What the reduction of gradients adds, as `adds` says of communication beside the backward pass; copies of the shards
// (HSDP) may be reduced behind it.
template <class K, class Adds>
inline SecondsT<K> reduce_exposed(const DataParallel& dp, const DataParallelCost<K>& cost, Adds adds) {
  if (dp.overlap_replicas) return adds(cost.reduce + cost.reduce_replicas);
  return adds(cost.reduce) + cost.reduce_replicas;
}

template <class K>
[[gnu::always_inline]] inline StagePace<K> pace_of(Scope<K> scope, const Job& job, const Layout& l, const StageUnit<K>& s,
                                                   SecondsT<K> message) {
  const DataParallel& dp = job.profile->data_parallel;
  const bool hides = hides_data_parallel(l);
  StagePace<K> p;
  const SecondsT<K> forward = s.cost->forward_total, backward = s.cost->backward_total;
  if (gathers_each_pass(job, l)) {
    p.gather_forward = exposed(scope, dp, s.dp->gather, forward, hides && dp.overlap_gather) + s.dp->first_unit + s.dp->gather_copies;
    if (l.zero >= 3)
      p.gather_backward =
          exposed(scope, dp, s.dp->gather, backward, hides && dp.overlap_gather && dp.prefetch_backward) + s.dp->gather_copies;
  }
  if (l.zero >= 2) {
    // What the gathers have not used of the backward window is left for the reduction.
    const SecondsT<K> window =
        l.zero >= 3 && dp.prefetch_backward ? max(SecondsT<K>{}, backward - s.dp->gather) : backward;
    p.reduce = reduce_exposed(dp, *s.dp, [&](SecondsT<K> communication) {
                 return exposed(scope, dp, communication, window, hides && dp.overlap_gradient);
               }) + s.dp->reduce_copies;
  }
  if (l.pp > 1) p.messages = l.vpp * message;
  const SecondsT<K> out = offload_exposed(scope, job, l, s, forward), back = offload_exposed(scope, job, l, s, backward);
  p.offload = out + back;
  p.forward = forward + p.gather_forward + p.messages + out;
  p.backward = backward + p.gather_backward + p.reduce + p.messages + back;
  return p;
}

// Accelerators whose steps do not drift apart: a node, or a torus slice, which runs one program in lockstep.
long long lockstep(const Network& n) {
  const bool torus = !n.tiers.empty() && n.tiers[0].topology == Tier::Topology::torus && n.tiers.size() > 1;
  return torus ? n.tiers[0].size : n.node_size;
}

// What a forward and a backward of one stage save by running together: half a stage in DualPipeV, whose ranks cross two.
template <class K>
SecondsT<K> pair_saving(const Layout& l, const StagePace<K>& pace, const StageCost<K>& c) {
  if (l.schedule != Schedule::dualpipe && l.schedule != Schedule::dualpipe_v) return {};
  const double stages = l.schedule == Schedule::dualpipe_v ? 2 : 1;
  const auto communication = c.forward.ep + c.backward.ep;
  const auto together = max(max(pace.forward + pace.backward - communication, communication), max(pace.forward, pace.backward));
  return let("pair_saving", (pace.forward + pace.backward - together) / stages, "deepseek-ai2024v3");
}

}  // namespace

StepCounts step_counts(const Job& job, const Layout& l) {
  StepCounts counts{.micro_batches = micro_batches(job, l)};
  const double beyond = static_cast<double>(gpus(l)) / static_cast<double>(lockstep(job.hardware->network));
  if (beyond > 1) counts.doublings = std::log2(beyond);
  return counts;
}

template <class K>
StagePace<K> stage_pace(Scope<K> scope, const Job& job, const Layout& l, const StageUnit<K>& s, SecondsT<K> message) {
  return pace_of(scope, job, l, s, message);
}

template <class K>
SecondsT<K> stage_message(Scope<K> scope, const Job& job, const Layout& l) {
  if (l.pp == 1) return {};
  const auto bytes = boundary_bytes<K>(
      scope.input("b", l.micro_batch, "layout: micro-batch"),
      scope.input("s", static_cast<double>(job.sequence), "job: sequence length") / scope.input("cp", l.cp, "layout"),
      scope.input("h", static_cast<double>(job.model->hidden), job.model->name),
      scope.input("e", Bytes::si(job.precision.base_bytes), "precision"), scope.input("tp", l.tp, "layout"), l.sp);
  const long long replicas = l.order == RankOrder::replicas_inside ? l.dp : 1;
  const Group group{.size = 2, .stride = static_cast<long long>(l.tp) * l.cp * replicas};
  return let("t_p2p", (1 - scope.read("o_pp", job.profile->overlap.pipeline)) *
                          collective_cost(scope, job.hardware->network, Operation::send_recv, bytes, group).time);
}

template <class K>
StepCost<K> compose(Scope<K> scope, const Job& job, const Layout& l, std::span<const StageUnit<K>> stages,
                    SecondsT<K> p2p, const StepCounts& counts, const SimulatedPipeline* simulated) {
  const DataParallel& dp = job.profile->data_parallel;
  StepCost<K> step;

  // 1. The slowest stage sets the pace of the pipeline; the others are its bubble.
  StagePace<K> slowest;
  StageTimes<K> times;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const StagePace<K> p = pace_of(scope, job, l, stages[i], p2p);
    const auto work = stages[i].ranks * (p.forward + p.backward);
    times.sum_forward += stages[i].ranks * p.forward;
    times.sum_backward += stages[i].ranks * p.backward;
    times.ranks_after += stages[i].ranks;
    times.sum_after += work;
    if (i == 0 || p.forward + p.backward >= slowest.forward + slowest.backward) {
      // The last of the slowest ranks sets the pace; the ranks behind it are counted from here.
      slowest = p;
      step.slowest = static_cast<int>(i);
      times.ranks_after = 0;
      times.sum_after = {};
    }
  }
  const StageUnit<K>& s = stages[static_cast<std::size_t>(step.slowest)];
  const StageCost<K>& c = *s.cost;
  const double count = static_cast<double>(counts.micro_batches);
  const auto m = scope.input("m", count, "micro-batches: batch / (dp · micro-batch)");
  const auto set = [&](Term t, SecondsT<K> v) {
    step.terms[static_cast<std::size_t>(t)] = let(term_names[static_cast<std::size_t>(t)], v);
  };

  // 2. Memory of the fullest stage. What finds no room in a stage slows it down.
  SecondsT<K> stall{};
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const StageMemory<K> bytes = stage_memory_of(scope, job, l, stages[i]);
    if (bytes.remapped > BytesT<K>{}) stall = max(stall, bytes.remapped / scope.read("remap", job.profile->memory.remap));
    if (i == 0 || bytes.device > step.memory.device) {
      step.memory = bytes;
      step.host_states = stages[i].dp->host_states;
      step.fullest = static_cast<int>(i);
    }
  }

  // 3. Work of the slowest stage over the micro-batches.
  set(Term::forward_gemm, m * c.forward.gemm);
  set(Term::forward_attention, m * c.forward.attention);
  set(Term::forward_elementwise, m * c.forward.elementwise + c.once);
  set(Term::backward_gemm, m * c.backward.gemm);
  set(Term::backward_attention, m * c.backward.attention);
  set(Term::backward_elementwise, m * c.backward.elementwise);
  set(Term::recompute, m * c.recompute);
  set(Term::ends, m * (c.ends_forward + c.ends_backward));
  set(Term::tp_comm, m * (c.forward.tp + c.backward.tp));
  set(Term::cp_comm, m * (c.forward.cp + c.backward.cp));
  set(Term::ep_comm, m * (c.forward.ep + c.backward.ep));
  set(Term::pp_comm, m * (2 * slowest.messages));
  set(Term::host, m * (c.forward.host + c.backward.host + stall));
  set(Term::offload, m * slowest.offload);

  // 4. The bubble of the schedule.
  if (l.pp > 1) {
    times.slowest_forward = slowest.forward;
    times.slowest_backward = slowest.backward;
    times.slowest_weight = c.weight_gradient;
    // The exposed part of the messages already stands in every stage's passes (pace): nobody waits for it a second time.
    times.p2p = {};
    if (simulated == nullptr) {
      // A forward and a backward run together compute while the other's experts communicate (deepseek-ai2024v3 §3.2.1).
      times.pair_saving = pair_saving(l, slowest, c);
      const PipelineTime<K> pipeline = pipeline_time(l.schedule, l.pp, l.vpp, counts.micro_batches, times);
      set(Term::bubble, pipeline.bubble);
      if (pipeline.saved > SecondsT<K>{})
        set(Term::ep_comm, step.terms[static_cast<std::size_t>(Term::ep_comm)] - pipeline.saved);
    } else {
      step.simulated = true;
      const auto total = scope.input("T_pipeline", simulated->makespan, "simulation of the schedule over these stages");
      const Seconds by_pairs = simulated->saved[static_cast<std::size_t>(s.first_rank + s.ranks - 1)];
      SecondsT<K> work = m * (slowest.forward + slowest.backward);
      if (by_pairs > Seconds{}) {
        // A forward and a backward run together compute while the other's experts communicate (deepseek-ai2024v3 §3.2.1).
        const auto saved = let("T_saved", scope.input("saved", by_pairs, "simulation: hidden by pairs"), "deepseek-ai2024v3");
        set(Term::ep_comm, step.terms[static_cast<std::size_t>(Term::ep_comm)] - saved);
        work = work - saved;
      }
      set(Term::bubble, max(SecondsT<K>{}, total - work));
    }
  }

  // 5. Data parallelism: gradients behind the last micro-batch's backward, gathers behind the first one's forward.
  // Of several chunks a rank, all but one have the other chunks' passes over pp micro-batches to hide behind
  // (narayanan2021: a group of pp micro-batches goes through one chunk after another).
  const double chunks = l.vpp;
  const bool hides = hides_data_parallel(l);
  const auto once_a_step = [&](SecondsT<K> communication, SecondsT<K> pass, bool overlapped) {
    if (chunks == 1) return exposed(scope, dp, communication, pass, overlapped);
    return exposed(scope, dp, communication / chunks, pass / chunks, overlapped) +
           exposed(scope, dp, (1 - 1 / chunks) * communication, (1 - 1 / chunks) * l.pp * pass, overlapped);
  };
  const SecondsT<K> tied = stages.front().dp->tied;
  if (l.zero >= 2) {
    set(Term::dp_comm, m * slowest.reduce + tied);
  } else {
    set(Term::dp_comm, tied + reduce_exposed(dp, *s.dp, [&](SecondsT<K> communication) {
          return once_a_step(communication, c.backward_total, hides && (dp.overlap_gradient || (dp.whole_reduction && l.zero == 0)));
        }));
  }
  if (gathers_each_pass(job, l)) {
    set(Term::param_gather, m * (slowest.gather_forward + slowest.gather_backward));
  } else if (l.zero >= 1) {
    set(Term::param_gather, once_a_step(s.dp->gather, c.forward_total, hides && dp.overlap_gather) + s.dp->gather_copies);
  }
  set(Term::optimizer, s.dp->optimizer);
  set(Term::fixed, l.zero >= 2 || l.tp > 1 ? scope.read("t_fixed", job.profile->host.step) +
                                                 scope.read("t_sharded_update", job.profile->host.sharded_update)
                                           : scope.read("t_fixed", job.profile->host.step));
  const auto term = [&](Term t) { return step.terms[static_cast<std::size_t>(t)]; };
  const SecondsT<K> none{}, gather = gathers_each_pass(job, l) ? none : term(Term::param_gather);
  step.phases = {.forward = let("forward", m * (slowest.forward + stall) + (dp.overlap_gather ? gather : none)),
                 .backward = let("backward", m * slowest.backward + (l.zero >= 2 ? none : term(Term::dp_comm))),
                 .optimizer = let("update", term(Term::optimizer) + term(Term::fixed) + (dp.overlap_gather ? none : gather))};

  // 6. Growth with scale, and the host.
  SecondsT<K> sum = step.terms[0];
  for (std::size_t t = 1; t < static_cast<std::size_t>(Term::straggler); ++t) sum = sum + step.terms[t];
  sum = let("t_work", sum);
  if (counts.doublings > 0) {
    const auto doublings = scope.input("doublings", counts.doublings, "log2(accelerators / accelerators in step)");
    set(Term::straggler, scope.read("x_straggler", job.profile->straggler) * doublings * sum);
  }
  step.time = let("step_time", sum + step.terms[static_cast<std::size_t>(Term::straggler)] +
                                   step.terms[static_cast<std::size_t>(Term::fixed)]);

  return step;
}

#define NAPKIN_INSTANTIATE(K)                                                                              \
  template StepCost<K> compose(Scope<K>, const Job&, const Layout&, std::span<const StageUnit<K>>, SecondsT<K>, \
                               const StepCounts&, const SimulatedPipeline*);                           \
  template StagePace<K> stage_pace(Scope<K>, const Job&, const Layout&, const StageUnit<K>&, SecondsT<K>);     \
  template SecondsT<K> stage_message(Scope<K>, const Job&, const Layout&);
NAPKIN_INSTANTIATE(Plain)
NAPKIN_INSTANTIATE(Traced)
#undef NAPKIN_INSTANTIATE

}  // namespace napkin
