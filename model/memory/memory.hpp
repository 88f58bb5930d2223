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
  BytesT<K> buckets{};  // of `gradients`: what stands even when the gradients are freed
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

// The moments of a step at which a stage may hold most.
enum class Moment : std::uint8_t {
  loss,       // every micro-batch in flight, the logits and their gradients
  backward,   // the same activations, the last layer's backward under way
  end,        // all gradients made, one layer of the last micro-batch left
  optimizer   // states and what the update needs
};
[[nodiscard]] std::string_view to_string(Moment m);

// What the peak of a stage consists of: parameters to buffers add up to `allocated`.
template <class K>
struct StageMemory {
  BytesT<K> parameters{}, gradients{}, optimizer{};
  BytesT<K> activations{};  // of the micro-batches in flight
  BytesT<K> logits{};       // head and loss
  BytesT<K> transient{};    // recomputed layer and its gradients, gathered parameters (ZeRO-3), the optimizer's copies
  BytesT<K> buffers{};      // workspaces and gather buffers, allocated for good
  Moment peak = Moment::loss;
  BytesT<K> standing{};     // allocated at the optimizer step, whatever the peak
  BytesT<K> overhead{};     // device context and communicators
  BytesT<K> fragmentation{};
  BytesT<K> remapped{};     // of a micro-batch's freed blocks: given back to the driver and taken anew, there being no room to hold them
  BytesT<K> held{};         // freed blocks that the allocator holds back, and gives up when memory runs out
  BytesT<K> allocated{}, reserved{}, device{};
};

template <class K>
struct StageTensors {
  BytesT<K> activations{};   // layers of the stage, one micro-batch
  BytesT<K> layer{};         // its largest layer
  BytesT<K> head{};          // head and loss, one micro-batch
  BytesT<K> head_kept{};     // of it, what waits for the backward pass
  BytesT<K> outputs{};       // kept of each micro-batch until the step ends
  BytesT<K> transient{};     // one layer's recomputed activations, and its gradients
  BytesT<K> quantised{};     // low-precision copies of the weights kept over the micro-batches
  BytesT<K> gathered{};      // ZeRO-3: two units of whole parameters (the one in use, the one prefetched)
  BytesT<K> updated{};       // copies that the optimizer step makes
  BytesT<K> working_gradients{};  // gradients in compute precision beside the main buffer
  BytesT<K> last_gradients{};     // main gradients made last: of a layer and of the embedding
  BytesT<K> output_gradients{};   // of one micro-batch, of every linear
  BytesT<K> hidden_state{};  // of a micro-batch, over the whole TP group
};

// Micro-batches a rank holds at its peak: whose activations, and whose logits wait for their backward.
struct InFlight {
  double activations = 1;
  double logits = 1;
};

// How the step fills them.
struct StageLoad {
  InFlight in_flight;             // most micro-batches a rank holds at once
  double micro_batches = 1;       // of the step
  double weights_put_off = 0;     // micro-batches whose weight gradients wait (qi2024zerobubble §2)
  bool accumulates = false;       // gradients of earlier micro-batches exist when the next one peaks
  int tp = 1, chunks = 1;         // chunks of a rank
  bool sp = false, pipelined = false;
  int layers = 0;                 // of the rank
  bool host_bound = false;        // the host launches later than the accelerator works
  bool runs_ahead = true;         // elsewhere it is ahead of it
  int communicators = 0;
  Bytes capacity{};               // of the accelerator
};

// What a stage holds whatever its states are sharded over, and what to know of its passes.
template <class K>
struct PassBytes {
  ScalarT<K> in_flight{};    // micro-batches held at once
  BytesT<K> activations{};   // of all of them
  BytesT<K> last{};          // of them, what is left when the last layer's backward runs
  BytesT<K> outputs{}, logits{};
  BytesT<K> transient{};     // one layer's recomputed activations, and its gradients
  BytesT<K> buffers{}, overhead{};
  BytesT<K> gathers{};       // of a micro-batch, freed but still the communication streams'
  bool accumulates = false, host_bound = false, runs_ahead = true;
  Bytes capacity{};
};
template <class K>
[[nodiscard]] PassBytes<K> pass_bytes(Scope<K> scope, const Profile& profile, const StageTensors<K>& tensors,
                                      const StageLoad& load);

// The tensors that depend on the sharding, as in StageTensors.
template <class K>
struct ShardTensors {
  BytesT<K> quantised{}, gathered{}, updated{}, working_gradients{}, last_gradients{};
};

// The peak over the moments of a step, in eager order (rajbhandari2020zero §3; zhao2023fsdp §3.4 for gathered units).
template <class K>
[[nodiscard]] StageMemory<K> stage_memory(Scope<K> scope, const Profile& profile, const StateBytes<K>& states,
                                          const ShardTensors<K>& tensors, const PassBytes<K>& pass);
template <class K>
[[nodiscard]] StageMemory<K> stage_memory(Scope<K> scope, const Profile& profile, const StateBytes<K>& states,
                                          const StageTensors<K>& tensors, const StageLoad& load);

// Fits with a margin; within the margin or a little over; does not fit. The margin is what allocators and drivers
// differ by from run to run (users lose 30–60 % of such runs).
enum class Verdict : std::uint8_t { fits, borderline, does_not_fit };
[[nodiscard]] std::string_view to_string(Verdict v);
inline constexpr double fits_below = 0.94, borderline_below = 1.02;  // of capacity
[[nodiscard]] Verdict verdict(Bytes device, Bytes capacity);

}  // namespace napkin
