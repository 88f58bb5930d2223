#include "model/memory/memory.hpp"

namespace napkin {

template <class K>
StateBytes<K> state_bytes(Scope<K> scope, const BytePolicy& bytes, const RankParameters<K>& parameters,
                          const StateShards& shards) {
  const auto dense_n = scope.input("n", static_cast<double>(shards.dense), "ranks a dense state is sharded over");
  const auto expert_n = scope.input("n_e", static_cast<double>(shards.expert), "ranks an expert state is sharded over");
  // Bytes per element of a state, whole or over the sharding group from ZeRO stage `from` on.
  const auto state = [&](ScalarT<K> per_parameter, int from) {
    const bool sharded = shards.zero >= from;
    return (sharded ? parameters.dense / dense_n + parameters.expert / expert_n
                    : parameters.dense + parameters.expert) *
           per_parameter * (1 * byte);
  };
  StateBytes<K> s;
  const auto compute_copy = scope.read("B_copy", bytes.compute_copy);
  // Where compute runs on a copy, the parameters are the optimizer's and are sharded as soon as gradients are (FSDP that
  // keeps the gathered copy between forward and backward, zhao2023fsdp §4.2).
  const int from = bytes.compute_copy.value > 0 ? 2 : 3;
  s.parameters = let("M_param", state(scope.read("B_param", bytes.parameter), from), "rajbhandari2020zero");
  // The copy is whole unless parameters are gathered unit by unit (then it is part of the transient). Made by autocast, it
  // leaves out the tables that no product reads.
  if (shards.zero < 3 && bytes.compute_copy.value > 0) {
    const auto copied = shards.zero < 2 ? parameters.dense - parameters.lookup : parameters.dense;
    s.parameters += let("M_copy", (copied + parameters.expert) * compute_copy * (1 * byte));
  }
  s.gradients = let("M_grad", state(scope.read("B_grad", bytes.gradient), 2), "rajbhandari2020zero");
  if (shards.zero == 0 && shards.dense > 1 && bytes.bucket.value > 0)
    s.gradients += s.buckets = let("M_bucket", state(scope.read("B_bucket", bytes.bucket), 4));
  s.optimizer = let("M_opt",
                    state(scope.read("B_master", bytes.master) + scope.read("B_moments", bytes.moments), 1),
                    "rajbhandari2020zero");
  return s;
}

template <class K>
BytesT<K> frozen_bytes(Scope<K> scope, double per_parameter, const RankParameters<K>& parameters, const StateShards& shards) {
  const auto n = shards.zero >= 3 ? scope.input("n", static_cast<double>(shards.dense)) : ScalarT<K>(1);
  const auto n_e = shards.zero >= 3 ? scope.input("n_e", static_cast<double>(shards.expert)) : ScalarT<K>(1);
  return let("M_frozen", (parameters.dense / n + parameters.expert / n_e) *
                             scope.input("B_frozen", Bytes::si(per_parameter), "bytes of a frozen weight"), "hu2022lora");
}

template <class K>
PassBytes<K> pass_bytes(Scope<K> scope, const Profile& profile, const StageTensors<K>& tensors, const StageLoad& load) {
  const MemoryOverheads& o = profile.memory;
  const auto in_flight = scope.input("in_flight", load.in_flight.activations, "narayanan2021: micro-batches held at once");
  auto buffers = scope.read("B_workspace", o.workspace);
  // Freed, but not yet the allocator's to give again: what the communication streams of a micro-batch still own.
  BytesT<K> gathers{};
  if (load.tp > 1) {
    buffers += scope.read("n_gather", o.gather_buffers) * tensors.hidden_state;
    gathers = scope.input("layers", load.layers, "of the stage") *
              (scope.read("n_held", o.held_whole) + scope.read("n_held_shards", o.held_shards) / scope.input("tp", load.tp, "layout")) *
              tensors.hidden_state;
  }
  auto activations = in_flight * tensors.activations;
  if (load.pipelined && o.boundary_tensors.value > 0)
    activations += load.chunks * in_flight * scope.read("n_boundary", o.boundary_tensors) * tensors.hidden_state / (load.sp ? load.tp : 1);
  if (load.weights_put_off > 0)
    activations += scope.input("put_off", load.weights_put_off, "qi2024zerobubble") * tensors.output_gradients;
  const auto outputs = load.pipelined && tensors.outputs > BytesT<K>{}
                           ? scope.input("m", load.micro_batches, "micro-batches") * tensors.outputs
                           : BytesT<K>{};
  auto logits = tensors.head;
  if (load.in_flight.logits > 1)
    logits += scope.input("losses_in_flight", load.in_flight.logits - 1, "schedule: micro-batches between loss and backward") * tensors.head_kept;
  return {.in_flight = in_flight,
          .activations = let("M_act", activations),
          .last = let("M_last_layer", (in_flight - 1) * tensors.activations + tensors.layer),
          .outputs = outputs,
          .logits = let("M_loss", logits + outputs),
          .transient = tensors.transient,
          .buffers = buffers,
          .overhead = let("M_context", scope.read("B_context", o.context) +
                                           scope.input("communicators", load.communicators, "one per parallel axis in use") *
                                               scope.read("B_comm", o.communicator)),
          .gathers = gathers,
          .accumulates = load.accumulates,
          .host_bound = load.host_bound,
          .runs_ahead = load.runs_ahead,
          .capacity = load.capacity};
}

template <class K>
StageMemory<K> stage_memory(Scope<K> scope, const Profile& profile, const StateBytes<K>& states,
                            const ShardTensors<K>& tensors, const PassBytes<K>& pass) {
  const MemoryOverheads& o = profile.memory;
  const auto parameters = states.parameters + tensors.quantised;
  // Gradients in compute precision exist while a micro-batch's backward pass makes them, then only their blocks do.
  const BytesT<K> early = profile.bytes.gradients_stand || pass.accumulates ? states.gradients : states.buckets;

  // 1. What each moment holds beside parameters, optimizer states and buffers.
  const auto transient = let("M_layer_backward", pass.transient + tensors.gathered);
  const auto at_loss = let("at_loss", early + pass.activations + pass.logits);
  const auto at_backward = let("at_backward", early + pass.activations + transient + pass.outputs);
  const auto end_gradients = states.gradients + tensors.working_gradients - tensors.last_gradients;
  const auto at_end = let("at_end", end_gradients + pass.last + transient + pass.outputs);
  const auto at_optimizer = let("at_optimizer", states.gradients + tensors.updated);

  // 2. The highest of them.
  BytesT<K> gradients = early, activations = pass.activations, logits{}, temporary{};
  Moment peak = Moment::loss;
  if (at_loss >= max(at_backward, at_end) && at_loss >= at_optimizer) {
    logits = pass.logits;
  } else if (at_backward >= at_end && at_backward >= at_optimizer) {
    peak = Moment::backward;
    logits = pass.outputs;
    temporary = transient;
  } else if (at_end >= at_optimizer) {
    peak = Moment::end;
    gradients = end_gradients;
    activations = pass.last;
    logits = pass.outputs;
    temporary = transient;
  } else {
    peak = Moment::optimizer;
    gradients = states.gradients;
    activations = {};
    temporary = tensors.updated;
  }

  // 3. What the allocator and the driver add.
  const auto live = peak == Moment::optimizer ? BytesT<K>{} : activations + logits + temporary;
  auto fragmentation = let("M_frag", scope.read("x_frag", o.fragmentation) * live);
  if (pass.gathers > BytesT<K>{})
    fragmentation += let("M_pinned", scope.read("x_pinned", o.pinned) * min(pass.in_flight * pass.gathers, live));
  const auto allocated =
      let("M_allocated", parameters + gradients + states.optimizer + activations + logits + temporary + pass.buffers);
  // A host behind its accelerator frees what has been used already; then only pipelines run ahead, while they wait.
  auto own = pass.gathers * (pass.host_bound ? max(ScalarT<K>(0), pass.in_flight - 2) : pass.in_flight);
  own += tensors.working_gradients;
  BytesT<K> held{}, remapped{};
  if (own > BytesT<K>{}) {
    // Held while passes run, and given back where memory runs out (PyTorch CUDACachingAllocator waits for the streams'
    // events and frees its cache before it fails): never what decides whether a run fits.
    const auto passes = parameters + states.optimizer + pass.buffers + max(at_loss, at_backward) + own;
    const auto beside = max(BytesT<K>{}, passes - allocated - fragmentation);
    const auto room = fits_below * scope.input("capacity", pass.capacity) - pass.overhead - allocated - fragmentation;
    held = let("M_held", min(beside, max(BytesT<K>{}, room)));
    // Where less and less of what the streams own has room, ever more allocations find none: the share of them, times the
    // share they go without.
    const auto owned = pass.gathers * pass.in_flight;
    const auto without_held = parameters + states.optimizer + pass.buffers + max(at_loss, at_backward) + fragmentation;
    const auto most = max(BytesT<K>{}, pass.capacity - pass.overhead - without_held);
    if (pass.runs_ahead && owned > most) {
      const auto without = let("without_room", (owned - most) / owned);
      remapped = let("M_remapped", pass.gathers * without * without);
    }
  }
  const auto reserved = let("M_reserved", allocated + fragmentation + held);
  return {.parameters = parameters,
          .gradients = gradients,
          .optimizer = states.optimizer,
          .activations = activations,
          .logits = logits,
          .transient = temporary,
          .buffers = pass.buffers,
          .peak = peak,
          .standing = let("M_standing", parameters + states.optimizer + pass.buffers + at_optimizer),
          .overhead = pass.overhead,
          .fragmentation = fragmentation,
          .remapped = remapped,
          .held = held,
          .allocated = allocated,
          .reserved = reserved,
          .device = let("M_device", reserved + pass.overhead)};
}

template <class K>
StageMemory<K> stage_memory(Scope<K> scope, const Profile& profile, const StateBytes<K>& states,
                            const StageTensors<K>& t, const StageLoad& load) {
  const ShardTensors<K> sharded{.quantised = t.quantised, .gathered = t.gathered, .updated = t.updated,
                                .working_gradients = t.working_gradients, .last_gradients = t.last_gradients};
  return stage_memory(scope, profile, states, sharded, pass_bytes(scope, profile, t, load));
}

std::string_view to_string(Moment m) {
  switch (m) {
    case Moment::loss: return "loss";
    case Moment::backward: return "backward";
    case Moment::end: return "end of backward";
    case Moment::optimizer: return "optimizer";
  }
  return "optimizer";
}

std::string_view to_string(Verdict v) {
  switch (v) {
    case Verdict::fits: return "fits";
    case Verdict::borderline: return "borderline";
    case Verdict::does_not_fit: return "does-not-fit";
  }
  return "does-not-fit";
}

Verdict verdict(Bytes device, Bytes capacity) {
  if (device <= fits_below * capacity) return Verdict::fits;
  return device <= borderline_below * capacity ? Verdict::borderline : Verdict::does_not_fit;
}

#define NAPKIN_INSTANTIATE(K)                                                                              \
  template StateBytes<K> state_bytes(Scope<K>, const BytePolicy&, const RankParameters<K>&, const StateShards&); \
  template BytesT<K> frozen_bytes(Scope<K>, double, const RankParameters<K>&, const StateShards&);           \
  template PassBytes<K> pass_bytes(Scope<K>, const Profile&, const StageTensors<K>&, const StageLoad&);      \
  template StageMemory<K> stage_memory(Scope<K>, const Profile&, const StateBytes<K>&, const ShardTensors<K>&,   \
                                       const PassBytes<K>&);                                                 \
  template StageMemory<K> stage_memory(Scope<K>, const Profile&, const StateBytes<K>&, const StageTensors<K>&,   \
                                       const StageLoad&);
NAPKIN_INSTANTIATE(Plain)
NAPKIN_INSTANTIATE(Traced)
#undef NAPKIN_INSTANTIATE

}  // namespace napkin
