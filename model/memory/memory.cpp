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
  s.parameters = let("M_param", state(scope.read("B_param", bytes.parameter), 3), "rajbhandari2020zero");
  // A compute copy is whole unless parameters are gathered unit by unit (then it is part of the transient).
  if (shards.zero < 3 && bytes.compute_copy.value > 0) s.parameters += let("M_copy", state(compute_copy, 4));
  s.gradients = let("M_grad", state(scope.read("B_grad", bytes.gradient), 2), "rajbhandari2020zero");
  if (shards.zero == 0 && shards.dense > 1 && bytes.bucket.value > 0)
    s.gradients += let("M_bucket", state(scope.read("B_bucket", bytes.bucket), 4));
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
                            const StageTensors<K>& tensors, InFlight in_flight, int communicators) {
  StageMemory<K> m;
  m.parameters = states.parameters + tensors.quantised;
  m.gradients = states.gradients;
  m.optimizer = states.optimizer;
  m.activations = let("M_act", scope.input("in_flight", in_flight.activations, "narayanan2021: micro-batches held at once") *
                                   tensors.activations);
  m.logits = tensors.head;
  if (in_flight.logits > 1 && tensors.head_waiting > BytesT<K>{}) {
    const auto waiting = scope.input("logits_waiting", in_flight.logits - 1, "schedule: micro-batches between loss and backward");
    m.logits = let("M_logits", tensors.head + waiting * tensors.head_waiting);
  }
  m.transient = let("M_transient", tensors.transient + tensors.gathered);
  m.fragmentation = let("M_frag", scope.read("x_frag", profile.memory.fragmentation) *
                                      (m.activations + m.logits + m.transient));
  m.overhead = let("M_context", scope.read("B_context", profile.memory.context) +
                                    scope.input("communicators", communicators, "one per parallel axis in use") *
                                        scope.read("B_comm", profile.memory.communicator));
  m.allocated = let("M_allocated",
                    m.parameters + m.gradients + m.optimizer + m.activations + m.logits + m.transient);
  m.reserved = let("M_reserved", m.allocated + m.fragmentation);
  m.device = let("M_device", m.reserved + m.overhead);
  return m;
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
                                       InFlight, int);
NAPKIN_INSTANTIATE(Plain)
NAPKIN_INSTANTIATE(Traced)
#undef NAPKIN_INSTANTIATE

}  // namespace napkin
