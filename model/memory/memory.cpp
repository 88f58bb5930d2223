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
StageMemory<K> stage_memory(Scope<K> scope, const Profile& profile, const StateBytes<K>& states,
                            const StageTensors<K>& tensors, const StageLoad& load) {
  const MemoryOverheads& o = profile.memory;
  StageMemory<K> m;
  m.parameters = states.parameters + tensors.quantised;
  m.optimizer = states.optimizer;
  const auto in_flight = scope.input("in_flight", load.in_flight.activations, "narayanan2021: micro-batches held at once");
  m.buffers = scope.read("B_workspace", o.workspace);
  // Freed, but not yet the allocator's to give again: what the communication streams of a micro-batch still own.
  BytesT<K> gathers{};
  if (load.tp > 1) {
    m.buffers += scope.read("n_gather", o.gather_buffers) * tensors.hidden_state;
    gathers = scope.input("layers", load.layers, "of the stage") *
              (scope.read("n_held", o.held_whole) + scope.read("n_held_shards", o.held_shards) / scope.input("tp", load.tp, "layout")) *
              tensors.hidden_state;
  }
  // Gradients in compute precision exist while a micro-batch's backward pass makes them, then only their blocks do.
  const bool stand = profile.bytes.gradients_stand;
  const BytesT<K> gradients = states.gradients + tensors.working_gradients;
  const BytesT<K> early = stand || load.accumulates ? states.gradients : states.buckets;

  // 1. What each moment holds beside parameters, optimizer states and buffers.
  auto activations = in_flight * tensors.activations;
  if (load.pipelined && o.boundary_tensors.value > 0)
    activations += load.chunks * in_flight * scope.read("n_boundary", o.boundary_tensors) * tensors.hidden_state / (load.sp ? load.tp : 1);
  if (load.weights_put_off > 0)
    activations += scope.input("put_off", load.weights_put_off, "qi2024zerobubble") * tensors.output_gradients;
  activations = let("M_act", activations);
  const auto outputs = load.pipelined && tensors.outputs > BytesT<K>{}
                           ? scope.input("m", load.micro_batches, "micro-batches") * tensors.outputs
                           : BytesT<K>{};
  auto logits = tensors.head;
  if (load.in_flight.logits > 1)
    logits += scope.input("losses_in_flight", load.in_flight.logits - 1, "schedule: micro-batches between loss and backward") * tensors.head_kept;
  logits = let("M_loss", logits + outputs);
  const auto transient = let("M_layer_backward", tensors.transient + tensors.gathered);
  const auto last = let("M_last_layer", (in_flight - 1) * tensors.activations + tensors.layer);
  const auto at_loss = let("at_loss", early + activations + logits);
  const auto at_backward = let("at_backward", early + activations + transient + outputs);
  const auto at_end = let("at_end", gradients - tensors.last_gradients + last + transient + outputs);
  const auto at_optimizer = let("at_optimizer", states.gradients + tensors.updated);

  // 2. The highest of them.
  m.gradients = early;
  m.activations = activations;
  if (at_loss >= max(at_backward, at_end) && at_loss >= at_optimizer) {
    m.peak = Moment::loss;
    m.logits = logits;
  } else if (at_backward >= at_end && at_backward >= at_optimizer) {
    m.peak = Moment::backward;
    m.logits = outputs;
    m.transient = transient;
  } else if (at_end >= at_optimizer) {
    m.peak = Moment::end;
    m.gradients = gradients - tensors.last_gradients;
    m.activations = last;
    m.logits = outputs;
    m.transient = transient;
  } else {
    m.peak = Moment::optimizer;
    m.gradients = states.gradients;
    m.activations = {};
    m.transient = tensors.updated;
  }
  m.standing = let("M_standing", m.parameters + m.optimizer + m.buffers + at_optimizer);

  // 3. What the allocator and the driver add.
  const auto live = m.peak == Moment::optimizer ? BytesT<K>{} : m.activations + m.logits + m.transient;
  m.fragmentation = let("M_frag", scope.read("x_frag", o.fragmentation) * live);
  if (gathers > BytesT<K>{})
    m.fragmentation += let("M_pinned", scope.read("x_pinned", o.pinned) * min(in_flight * gathers, live));
  m.overhead = let("M_context", scope.read("B_context", o.context) +
                                    scope.input("communicators", load.communicators, "one per parallel axis in use") *
                                        scope.read("B_comm", o.communicator));
  m.allocated = let("M_allocated", m.parameters + m.gradients + m.optimizer + m.activations + m.logits + m.transient +
                                       m.buffers);
  // A host behind its accelerator frees what has been used already; then only pipelines run ahead, while they wait.
  auto held = gathers * (load.host_bound ? max(ScalarT<K>(0), in_flight - 2) : in_flight);
  held += tensors.working_gradients;
  if (held > BytesT<K>{}) {
    // Held while passes run, and given back where memory runs out (PyTorch CUDACachingAllocator waits for the streams'
    // events and frees its cache before it fails): never what decides whether a run fits.
    const auto passes = m.parameters + m.optimizer + m.buffers + max(at_loss, at_backward) + held;
    const auto beside = max(BytesT<K>{}, passes - m.allocated - m.fragmentation);
    const auto room = fits_below * scope.input("capacity", load.capacity) - m.overhead - m.allocated - m.fragmentation;
    m.held = let("M_held", min(beside, max(BytesT<K>{}, room)));
    // Where less and less of what the streams own has room, ever more allocations find none: the share of them, times the
    // share they go without.
    const auto owned = gathers * in_flight;
    const auto without_held = m.parameters + m.optimizer + m.buffers + max(at_loss, at_backward) + m.fragmentation;
    const auto most = max(BytesT<K>{}, load.capacity - m.overhead - without_held);
    if (load.runs_ahead && owned > most) {
      const auto without = let("without_room", (owned - most) / owned);
      m.remapped = let("M_remapped", gathers * without * without);
    }
  }
  m.reserved = let("M_reserved", m.allocated + m.fragmentation + m.held);
  m.device = let("M_device", m.reserved + m.overhead);
  return m;
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
  template StageMemory<K> stage_memory(Scope<K>, const Profile&, const StateBytes<K>&, const StageTensors<K>&,   \
                                       const StageLoad&);
NAPKIN_INSTANTIATE(Plain)
NAPKIN_INSTANTIATE(Traced)
#undef NAPKIN_INSTANTIATE

}  // namespace napkin
