// What a training framework does, as data over a closed set of mechanisms. Read from model/frameworks/*.json by
// profile_input; no framework's name appears in a condition.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/constant.hpp"
#include "model/frameworks/recompute.hpp"

namespace napkin {

// Bytes per parameter of each state (rajbhandari2020zero §3.1; micikevicius2018mixed).
struct BytePolicy {
  Constant<Scalar> parameter;     // what the GEMMs read, or the only copy
  Constant<Scalar> gradient;      // main gradient buffer
  Constant<Scalar> master;        // fp32 copy the optimizer updates; 0 = none
  Constant<Scalar> moments;       // both Adam moments together
  Constant<Scalar> compute_copy;  // a low-precision copy made for compute (autocast, FSDP mixed precision)
  Constant<Scalar> bucket;        // gradient communication buckets (DDP)
  // Gradients in compute precision that live beside the main buffer while the backward pass runs; under ZeRO only (the
  // buckets of DDP are this copy).
  Constant<Scalar> working_gradient;
  // Whole copies of the parameters alive while ZeRO 1–2 gathers them after the optimizer step; 0 = gathered in place.
  Constant<Scalar> gather_copies;
  bool gradients_stand = true;    // false: zero_grad frees them, and they exist only once a backward pass has made them
};

// How the gradient is reduced and the states sharded over data parallelism.
struct DataParallel {
  Constant<Scalar> gradient_bytes;        // element width on the wire for gradients
  Constant<Scalar> parameter_bytes;       // and for gathered parameters
  Constant<Scalar> usable_window;         // share of the backward (forward) window that communication can hide in
  Constant<Scalar> contention;            // share of hidden communication that still slows compute (SMs, memory)
  bool overlap_gradient = true;           // reduce during the last micro-batch's backward
  bool overlap_gather = true;             // gather parameters during the first micro-batch's forward
  bool shard_unit_is_layer = true;        // ZeRO-3 gathers one layer at a time and prefetches the next
  // ZeRO 0 reduces its buckets during the last backward pass; ZeRO-1 all-reduces the whole main gradients after it.
  bool whole_reduction = false;
  Constant<Bytes> bucket;                 // gradients in compute precision reduced by one call under ZeRO 0; 0 = one call
  bool gather_by_tensor = false;          // ZeRO 1–2: the host copies each rank's piece of each tensor out of the gathered buffer
  bool unit_copies = false;               // shards are cast and copied into the gathered layer, its gradients into the
                                          // reduced buffer, by kernels of the compute stream
  bool prefetch_backward = true;          // in the backward pass the next unit is gathered behind the one at work
  bool by_owner = false;                  // ZeRO-1/2: gradients are all-reduced, parameters broadcast from one owner after another
  bool overlap_replicas = true;           // shards of several copies (HSDP) are reduced behind the backward pass too
  bool shard_within_torus = false;        // states are sharded over one torus slice and copied in the others
  std::int64_t group = 0;                 // ranks states are sharded over when nothing is said; 0 = all
};

// What the backward pass runs again under "selective" and "full" recomputation.
struct RecomputePolicy {
  std::uint8_t selective = recompute_core_attention;  // RecomputeModule bits
  bool early_stop = false;  // full: the layer's last product is not run again, nothing needs its output
};

// Which tensors the backward pass keeps (korthikanti2022 §4.1 counts the same list for the 2022 kernels).
struct SavedTensors {
  bool norm_output = true;             // the normalised input of a linear is kept, not recomputed
  bool norm_output_sharded = true;     // with sequence parallelism the linear keeps its shard and gathers again
  bool gate_activation = false;        // gated FFN keeps act(gate) beside gate and up (eager: silu(g), g, u, product)
  bool attention_output_copy = false;  // attention output is copied before the projection (layout change)
  bool rotary_copy = false;            // queries and keys are kept before and after the rotation
  Constant<Scalar> autocast;           // further bytes kept per token, hidden unit and layer where autocast keeps the
                                       // residual stream in fp32
  Constant<Scalar> norm_statistics;    // fp32 words kept per token and norm (mean, rstd)
  Constant<Scalar> logits;             // bytes alive per logit at the loss (bf16 + fp32 + softmax ...)
  Constant<Scalar> logits_kept;        // of them, bytes that wait for the backward pass of their micro-batch
  Constant<Scalar> pipeline_outputs;   // bytes per logit that the last stage keeps of every micro-batch until the step ends
};

// Passes over memory of the element-wise chains, relative to the fused minimum (each tensor read or written once).
struct ElementwisePolicy {
  Constant<Scalar> traffic;       // multiplies the fused minimum of norms, activations, residuals, rope
  Constant<Scalar> rope, gate;    // multiply the fused minimum of a rotation and of a gated activation once more
  Constant<Scalar> clamp_forward, clamp_backward;  // instead of all that, for a clamped gated activation (GPT-OSS)
  // Bytes that a chunked scan is as slow as, for each token, head and element of its width at a state of 128.
  Constant<Scalar> scan_forward, scan_backward;
  Constant<Scalar> kernels;       // kernels that one such chain is launched as
  Constant<Scalar> loss_passes;   // passes over the fp32 logits, forward and backward together
};

// How a low-precision recipe quantises (micikevicius2022fp8; Transformer Engine).
struct LowPrecision {
  bool weights_once_a_step = false;  // weights are quantised at the first micro-batch and kept for the others
  bool norm_quantises = false;       // a norm writes the quantised input of its linear: no pass of its own
  bool gathers_quantised = false;    // sequence parallelism gathers the quantised tensor
  bool saves_quantised = false;      // a linear keeps its quantised input for the weight gradient
  bool primary = false;              // 8-bit weights of layers are kept and gathered in that format alone (fp8 primary weights)
};

// Which part of each communication the kernels hide.
struct Overlap {
  Constant<Scalar> tensor_parallel;   // hidden share of TP/SP collectives (user buffers, async all-reduce)
  Constant<Scalar> expert_parallel;   // hidden share of EP all-to-all
  Constant<Scalar> expert_parallel_chunks;  // the same with several chunks a rank: one's passes hide another's exchange
  Constant<Scalar> context_parallel;  // share of the attention time that ring hops can hide in
  Constant<Scalar> pipeline;          // hidden share of stage-to-stage messages
};

// How tokens reach their experts: a row for every expert through one all-to-all; or once to a node and once to a rank of
// it, by kernels made for it (deepep2025).
enum class ExpertExchange : std::uint8_t { all_to_all, two_level };
inline constexpr std::array<std::string_view, 2> expert_exchange_names{"all-to-all", "two-level"};

// How queries meet keys and values of other ranks under context parallelism: blocks pass around a ring (liu2023ring); all
// are gathered first; or an all-to-all trades sequence for heads and back (jacobs2023ulysses).
enum class ContextExchange : std::uint8_t { ring, all_gather, all_to_all };
inline constexpr std::array<std::string_view, 3> context_exchange_names{"ring", "all-gather", "all-to-all"};

struct HostCosts {
  Constant<Seconds> step;             // fixed per step: data, logging, optimizer host work
  Constant<Scalar> launch;            // multiplies the accelerator's launch time: 1 eager, ~0 with graphs
  // What the host needs for one layer's forward and backward pass under tensor parallelism, however small the kernels, up
  // to a node's width of it.
  Constant<Seconds> tp_forward, tp_backward;
  // More of it for each rank of the group, on a cluster whose intra-node all-reduce was measured below `slow_below`.
  Constant<Seconds> slow_hop;
  Constant<BytesPerSecond> slow_below;
  // A step of a TP collective's ring that leaves the node, beside the links' own latency.
  Constant<Seconds> tp_step;
  // Message of the all-reduce whose bandwidth a record's `network` gives.
  Constant<Bytes> probe;
  Constant<Seconds> sharded_update;   // host work of an optimizer step over sharded tensors (ZeRO 2–3 or TP)
};

struct MemoryOverheads {
  Constant<Bytes> context;            // device context and library workspaces, per process
  Constant<Bytes> communicator;       // buffers of one communicator
  Constant<Bytes> workspace;          // matrix library workspaces, allocated for good
  Constant<Scalar> gather_buffers;    // full-width hidden states (tokens · hidden) that TP allocates for good
  // Full-width hidden states of a layer and micro-batch in flight that communication streams still own once they are freed,
  // and sharded ones beside them: the allocator holds them back until memory runs out (PyTorch record_stream).
  Constant<Scalar> held_whole, held_shards;
  Constant<Scalar> pinned;            // share of the held blocks that lie between live activations and stay
  Constant<BytesPerSecond> remap;     // at which blocks are given back to the driver and taken anew
  Constant<Scalar> boundary_tensors;  // hidden states that a pipeline stage keeps at its ends per micro-batch in flight
  Constant<Scalar> fragmentation;     // reserved − allocated that no release gives back, as a share of activations
};

// How layers are dealt to pipeline stages (step/split.hpp).
enum class SplitRule : std::uint8_t { even, by_cost, balanced };
inline constexpr std::array<std::string_view, 3> split_rule_names{"even", "by-cost", "balanced"};

// What releases before some month could not run: layouts in which all of `uses` hold, of a model that has what is named.
struct Lack {
  std::string name, source;
  int before = 0;                       // month (12·year + month − 1) of the first release that can; 0 = none can
  bool experts = false, recurrent = false;  // of a model with experts; with recurrent layers
  bool uneven = false;                  // layers do not divide over pp·vpp
  bool uneven_ends = false;             // nor once the embedding, the head or both count as a layer
  bool folded = false;                  // etp is not tp
  struct Range {
    std::string axis;                   // a name of search/space.hpp
    std::int64_t least = 0, most = 0;
  };
  std::vector<Range> uses;
};

struct Profile {
  std::string name, title;
  bool newest = false;                  // it has eras and none was asked for: the newest release
  BytePolicy bytes;
  DataParallel data_parallel;
  RecomputePolicy recompute;
  SavedTensors saved;
  ElementwisePolicy elementwise;
  LowPrecision low_precision;
  Overlap overlap;
  HostCosts host;
  MemoryOverheads memory;
  Constant<Scalar> gemm_share;          // of the accelerator's sustained rate that this software reaches
  Constant<Scalar> straggler;           // relative slow-down per doubling of accelerators beyond one node
  Constant<Scalar> expert_imbalance;    // busiest expert rank / mean, as the framework is usually run
  Constant<Scalar> learned_imbalance;   // the same of a router that learns, with a balancing loss
  Constant<Scalar> permute_passes;      // passes over the routed tokens (permute, unpermute)
  Constant<Scalar> expert_gemm_share;   // of a dense product's rate that grouped expert products reach
  Constant<Scalar> expert_fill;         // of the time to stream an expert's weights: what the products beside it do not hide
  Constant<Seconds> expert_sync;        // a pass of a routed layer waits for the host to learn the experts' loads
  Constant<Scalar> expert_launches;     // kernels for each local expert and pass beyond a dense layer's, before fusion
  Constant<Scalar> expert_quantised;    // the same of a recipe that quantises their operands, relative to those
  bool expert_tensor_parallel = false;  // experts are split over TP unless ETP is given
  bool expert_weights_early = false;    // the router's weights multiply an expert's activation, not its output
  ExpertExchange expert_exchange = ExpertExchange::all_to_all;
  ContextExchange context_exchange = ContextExchange::ring;
  std::map<std::string, std::string, std::less<>> attention;  // accelerator generation → kernel; "" = default
  long long vocab_multiple = 1;         // vocabulary is padded to this × TP
  bool vocab_parallel = true;           // embedding and head are split over TP
  bool loss_parallel = true;            // so is the loss; false: the logits are gathered first
  SplitRule split = SplitRule::even;
  int max_zero = 3;                     // highest ZeRO stage it has
  int default_zero = 0;                 // what a run of it uses when nothing is said
  bool zero_with_pipeline = true;       // ZeRO 2–3 together with pipeline stages
  bool micro_batches_in_rounds = false; // the stages divide the micro-batches
  bool uneven_split = false;            // any pp·vpp up to layers + 2; stages may differ by a layer
  bool kv_replication = true;           // TP may exceed the kv heads
  bool sequence_parallel = true;        // it has SP
  std::vector<Lack> lacks;              // of its releases, in the order of the files
};

}  // namespace napkin
