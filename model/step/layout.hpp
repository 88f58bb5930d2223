// One 5D parallel layout, and the job it runs.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "hardware/hardware.hpp"
#include "model/frameworks/profile.hpp"
#include "model/pipeline/pipeline.hpp"
#include "model/step/spread.hpp"
#include "model/transformer/architecture.hpp"
#include "model/transformer/operators.hpp"

namespace napkin {

// What the backward pass recomputes: nothing; the core attention (korthikanti2022 §5); every layer from its input.
enum class Recompute : std::uint8_t { none, selective, full };
[[nodiscard]] std::string_view to_string(Recompute r);

// How ranks are numbered, innermost first: the replicas of a stage next to each other, or the stages of a pipeline
// (Megatron-Core parallel_state: tp-cp-ep-dp-pp, tp-cp-ep-pp-dp).
enum class RankOrder : std::uint8_t { replicas_inside, stages_inside };
inline constexpr std::array<std::string_view, 2> rank_order_names{"tp-cp-dp-pp", "tp-cp-pp-dp"};

// A choice of the software that a layout may make for itself; `usual` is what the framework does.
enum class ExchangeChoice : std::uint8_t { usual, ring, all_gather, all_to_all };
enum class SplitChoice : std::uint8_t { usual, even, by_cost, balanced };
// Communication that is left exposed although the framework can hide it, as bits.
enum ExposedBits : std::uint8_t { exposed_tensor_parallel = 1, exposed_data_parallel = 2 };

struct Layout {
  int tp = 1;
  bool sp = false;          // sequence parallelism over the TP group (korthikanti2022 §4.2)
  int cp = 1;
  int ep = 1, etp = 1;
  int pp = 1, vpp = 1;
  Schedule schedule = Schedule::one_f_one_b;
  std::int64_t dp = 1;
  int zero = 0;             // 0 none, 1 optimizer states, 2 + gradients, 3 + parameters (rajbhandari2020zero)
  std::int64_t zero_group = 0;  // ranks a state is sharded over (HSDP, MiCS); 0 = all of dp·cp
  int micro_batch = 1;
  Recompute recompute = Recompute::none;
  std::uint8_t modules = 0;  // RecomputeModule bits under selective recomputation; 0 = what the framework's is
  int recomputed_layers = 0;    // of each chunk, under full recomputation; the others keep everything. 0 = all
  int offloaded_layers = 0;     // of a stage, whose saved tensors wait in host memory for their backward pass
  bool optimizer_offload = false;  // master weights and moments wait in host memory for the update
  ExchangeChoice exchange = ExchangeChoice::usual;  // of keys and values under context parallelism
  SplitChoice split = SplitChoice::usual;           // of the layers over the stages
  RankOrder order = RankOrder::replicas_inside;
  std::uint8_t exposed = 0;     // ExposedBits
  friend auto operator<=>(const Layout&, const Layout&) = default;
};
[[nodiscard]] inline std::int64_t gpus(const Layout& l) {
  return static_cast<std::int64_t>(l.tp) * l.cp * l.pp * l.dp;
}
// "tp8 sp cp2 pp4 vpp2 dp16 zero1 mb1 selective": only what differs from 1 or none, in rank order.
[[nodiscard]] std::string describe(const Layout& l);

// Number formats of a training step. `gemm` is what the linears multiply; attention, router and head stay in `base`.
struct Precision {
  std::string name = "bf16";      // "bf16", "fp16", "fp32", "fp8", "fp8-block", "mxfp8", "nvfp4", ...
  Format base = Format::bf16;
  Format gemm = Format::bf16;
  double base_bytes = 2;          // of an element of `base`
  double gemm_bytes = 2;          // of an element of `gemm`, scales included
  double cast_bytes = 0;          // memory traffic to quantise one element for one GEMM operand (read + write)
  double rate = 1;                // share of the format's matrix rate that the recipe's products reach
};

// Bandwidths a cluster was measured to have when the job ran, as all-reduce bus bandwidth; zero = not measured.
struct MeasuredNetwork {
  BytesPerSecond world{};       // over all ranks of the job
  BytesPerSecond intra_node{};
  friend bool operator==(const MeasuredNetwork&, const MeasuredNetwork&) = default;
};

// Low-rank adapters beside frozen linears: W·x + B·A·x with A [rank, k], B [n, rank] (hu2022lora). Only A and B are
// trained: frozen weights have no gradient and no optimizer state.
struct Adapters {
  int rank = 0;                  // 0: none, every parameter is trained
  std::uint8_t targets = 0;      // AdapterTarget bits
  double frozen_bytes = 2;       // of a frozen weight as it is stored (dettmers2023qlora: 4 bits and scales)
  bool quantised = false;        // frozen weights are expanded before each product
  [[nodiscard]] bool any() const { return rank > 0; }
};

// A training job: everything but the layout. Pointers are not owned.
struct Job {
  const Architecture* model{};
  const Hardware* hardware{};
  const Profile* profile{};
  Precision precision;
  std::int64_t gpus = 1;
  std::int64_t sequence = 4096;     // tokens
  std::int64_t batch = 1024;        // sequences per step, all ranks together
  Adapters adapters;
  int release = 0;                  // month of the framework's release, 12·year + month − 1; 0 = the newest
  MeasuredNetwork measured;         // changes times and what the allocator holds back, never a verdict
  const Spread* spread{};           // how far measured runs like it lie from predictions; null = not known
};
// The weights of layers stand and travel in the 8-bit format that is multiplied.
[[nodiscard]] inline bool primary_weights(const Job& j) {
  return j.profile->low_precision.primary && j.precision.gemm == Format::fp8 && !j.adapters.any();
}
// The record's cluster was measured to be slower within a node than the profile's bound.
[[nodiscard]] inline bool slow_cluster(const Job& j) {
  return j.measured.intra_node > BytesPerSecond{} && j.measured.intra_node < j.profile->host.slow_below.value;
}
[[nodiscard]] inline std::int64_t micro_batches(const Job& j, const Layout& l) {
  return j.batch / (l.dp * l.micro_batch);
}
// What a layout's choices come to under the job's framework.
[[nodiscard]] inline ContextExchange context_exchange(const Job& j, const Layout& l) {
  if (l.exchange == ExchangeChoice::usual) return j.profile->context_exchange;
  return static_cast<ContextExchange>(static_cast<int>(l.exchange) - 1);
}
[[nodiscard]] inline SplitRule split_rule(const Job& j, const Layout& l) {
  if (l.split == SplitChoice::usual) return j.profile->split;
  return static_cast<SplitRule>(static_cast<int>(l.split) - 1);
}

}  // namespace napkin
