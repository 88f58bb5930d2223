// Bytes one rank holds at the peak of a step, by term.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/frameworks/profile.hpp"
#include "model/memory/rank_parameters.hpp"

namespace napkin {

// Over how many ranks each state is sharded (rajbhandari2020zero §5): 1 = whole.
struct StateShards {
  int zero = 0;
  std::int64_t dense = 1, expert = 1;  // size of the sharding group for dense and expert parameters
};

template <class K>
struct StateBytes {
  BytesT<K> parameters{}, gradients{}, optimizer{};
  [[nodiscard]] BytesT<K> total() const { return parameters + gradients + optimizer; }
};

// rajbhandari2020zero §3.1 with the framework's bytes: ZeRO-1 shards master and moments, ZeRO-2 also gradients, ZeRO-3
// also parameters.
template <class K>
[[nodiscard]] StateBytes<K> state_bytes(Scope<K> scope, const BytePolicy& bytes, const RankParameters<K>& parameters,
                                        const StateShards& shards);

// Weights without gradient or optimizer state (hu2022lora), at `per_parameter` bytes; ZeRO-3 shards them too.
template <class K>
[[nodiscard]] BytesT<K> frozen_bytes(Scope<K> scope, double per_parameter, const RankParameters<K>& parameters,
                                     const StateShards& shards);

// What the peak of a stage consists of.
template <class K>
struct StageMemory {
  BytesT<K> parameters{}, gradients{}, optimizer{};
  BytesT<K> activations{};  // of the micro-batches in flight
  BytesT<K> logits{};       // head and loss
  BytesT<K> transient{};    // recomputed layer, or gathered parameters (ZeRO-3)
  BytesT<K> overhead{};     // device context and communicators
  BytesT<K> fragmentation{};
  BytesT<K> allocated{}, reserved{}, device{};
};

template <class K>
struct StageTensors {
  BytesT<K> activations{};   // layers of the stage, one micro-batch
  BytesT<K> head{};          // head and loss, the micro-batch in the loss
  BytesT<K> head_waiting{};  // head and loss, each other micro-batch between its loss and its backward
  BytesT<K> transient{};     // one layer's recomputed activations
  BytesT<K> quantised{};     // low-precision copies of the weights kept over the micro-batches
  BytesT<K> gathered{};      // ZeRO-3: two units of whole parameters (the one in use, the one prefetched)
};

// Micro-batches a rank holds at its peak: whose activations, and whose logits wait for their backward.
struct InFlight {
  double activations = 1;
  double logits = 1;
};

template <class K>
[[nodiscard]] StageMemory<K> stage_memory(Scope<K> scope, const Profile& profile, const StateBytes<K>& states,
                                          const StageTensors<K>& tensors, InFlight in_flight, int communicators);

// Fits with a margin; within the margin or a little over; does not fit. The margin is what allocators and drivers
// differ by from run to run (users lose 30–60 % of such runs).
enum class Verdict : std::uint8_t { fits, borderline, does_not_fit };
[[nodiscard]] std::string_view to_string(Verdict v);
inline constexpr double fits_below = 0.94, borderline_below = 1.02;  // of capacity
[[nodiscard]] Verdict verdict(Bytes device, Bytes capacity);

}  // namespace napkin
