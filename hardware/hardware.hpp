// What a machine is: one accelerator, and the tiers of network that join many. Read by hardware_input.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/tuning.hpp"
#include "model/constant.hpp"

namespace napkin {

// Number formats a matrix unit computes in. A recipe (mxfp8, block-scaled fp8, nvfp4) is a model/frameworks matter.
enum class Format : std::uint8_t { fp64, fp32, tf32, fp16, bf16, fp8, fp6, fp4, int8 };
inline constexpr std::size_t number_format_count = 9;
inline constexpr std::array<std::string_view, number_format_count> format_names{"fp64", "fp32", "tf32", "fp16", "bf16",
                                                                         "fp8",  "fp6",  "fp4",  "int8"};
[[nodiscard]] std::string_view to_string(Format f);

// The two rates a matrix unit reaches: `sustained` under a long training step (clock and power limits included),
// `burst` in a short benchmark; both as a fraction of the dense peak.
struct MatrixRate {
  std::optional<Constant<Scalar>> sustained, burst;
};

// Constants of the GEMM model (model/kernel/gemm.cpp).
struct GemmConstants {
  std::array<std::optional<MatrixRate>, number_format_count> rate;
  Constant<Seconds> floor;               // shortest kernel
  Constant<Seconds> wave;                // fill and epilogue that each wave of tiles adds
  Constant<Seconds> split;               // what splitting k adds: clearing and reducing the partial sums
  Constant<Scalar> memory_fraction;      // of memory bandwidth a GEMM's operands stream at
  // Absent where no measurement tells them: none of the effect.
  std::optional<Constant<Seconds>> epilogue;  // a tile of 256 × 128 writing its result, where no other tile hides it; by area
  std::optional<Constant<Scalar>> balance;    // of the units that a last, partial wave leaves idle: the share put to work
  std::optional<Constant<Scalar>> spread;     // memory time grows by this · (units / busy units − 1)
  std::optional<Constant<Scalar>> grouped;    // of the rate, that kernels reach which take a pointer for each product
  std::vector<std::pair<int, int>> tiles;  // output tiles the library may pick, m × n
  int k_step = 1;                        // k is padded to a multiple of it (depth of a matrix unit)
};

// One attention kernel (flash-attention 2, 3, cuDNN, ...): model/kernel/attention.cpp.
// rate = fraction · peak · u / (u + half_keys), u = keys that a query sees on average.
struct AttentionConstants {
  struct Rate {
    Constant<Scalar> forward, backward;  // fraction of the dense peak, in a short benchmark
  };
  std::map<int, Rate> by_head_dim;  // nearest key not above the head dimension, else the smallest
  Constant<Scalar> half_keys, half_keys_backward;
  Constant<Scalar> block;           // queries (and keys) of a tile: half of one is wasted on each causal diagonal
  Constant<Scalar> sustained;       // share of the rate left under a long training step
  Constant<Seconds> floor;
};

// What a memory-bound kernel does; how much of the bandwidth it reaches depends on it.
// `optimizer_16bit`: an update whose moments are 16-bit; its loads are half as wide. `rotary`: rotary embedding. `fill`:
// writes alone, which wait for no load.
enum class Traffic : std::uint8_t { stream, activation, norm, softmax, cast, optimizer, optimizer_16bit, rotary, fill };
inline constexpr std::size_t traffic_count = 9;
inline constexpr std::array<std::string_view, traffic_count> traffic_names{
    "stream", "activation", "norm", "softmax", "cast", "optimizer", "optimizer_16bit", "rotary", "fill"};

// Memory-bound kernels: time = floor + bytes / (fraction · bandwidth).  model/kernel/elementwise.cpp
struct ElementwiseConstants {
  Constant<Scalar> memory_fraction;  // of copies and additions, and of every kind not listed
  std::array<std::optional<Constant<Scalar>>, traffic_count> by_traffic;
  Constant<Seconds> floor;           // of copies and additions, and of every kind not listed
  std::array<std::optional<Constant<Seconds>>, traffic_count> floors;
  std::optional<Constant<BytesPerSecond>> row_rate;  // at which one block walks through its row (norm, softmax)
};

struct Accelerator {
  std::string name;          // catalog name, "h100-sxm"
  std::string title;         // "NVIDIA H100 SXM5 80GB"
  std::string vendor;
  std::string generation;    // tuning tables are keyed by it: "hopper", "blackwell", "tpu-v5p", ...
  std::array<std::optional<Constant<FlopsPerSecond>>, number_format_count> peak;  // dense, no sparsity
  Constant<Bytes> capacity;                  // what the driver reports as usable
  Constant<BytesPerSecond> memory_bandwidth;
  std::optional<Constant<Bytes>> l2;
  Constant<Scalar> units;                    // SMs, CUs or matrix units: what tiles are spread over
  std::optional<Constant<Hertz>> clock;
  std::optional<Constant<Watts>> power;
  std::optional<Constant<Scalar>> price_per_hour;  // US dollars, typical cloud
  Constant<Seconds> launch;                  // host time to launch one kernel (eager)
  Constant<BytesPerSecond> host_bandwidth;   // to host memory, one direction
  GemmConstants gemm;
  std::map<std::string, AttentionConstants, std::less<>> attention;  // by kernel name: "fa2", "fa3", "cudnn", ...
  ElementwiseConstants elementwise;
};

// One level of the network. Tiers are ordered from the inside out; `size` counts accelerators reachable without
// leaving the tier; bandwidths are per accelerator, one direction.
struct Tier {
  enum class Topology : std::uint8_t { switched, mesh, ring, torus, host };
  std::string name;                          // "nvlink", "rail", "spine", "ici", "dcn"
  Topology topology = Topology::switched;
  long long size = 0;                        // accelerators in one domain of this tier; 0 = unbounded
  Constant<BytesPerSecond> bandwidth;        // nominal, per accelerator, one direction, before oversubscription
  Constant<Scalar> efficiency;               // achievable share of nominal for large messages
  Constant<Seconds> latency;                 // one hop, software included
  std::optional<Constant<Scalar>> oversubscription;  // ≥ 1
  std::optional<Constant<Scalar>> nics;      // network interfaces per node (outer tiers)
  bool rail_optimised = false;
  bool in_network_reduction = false;         // NVLS, SHARP
  std::vector<int> dims;                     // torus: length of each axis
  std::vector<bool> wraps;                   // torus: whether the axis closes
  bool bidirectional = true;                 // torus: links used both ways at once
  int block = 0;                             // torus of blocks this long joined by optical switches; 0 = one piece
};

inline constexpr std::array<std::string_view, 5> topology_names{"switched", "mesh", "ring", "torus", "host"};
[[nodiscard]] std::string_view to_string(Tier::Topology t);

struct Network {
  std::vector<Tier> tiers;
  int node_size = 8;  // accelerators that share a host
  std::shared_ptr<const CollectiveTuning> tuning;  // of the communication library; none = α and B of the tiers alone
};

struct Hardware {
  Accelerator accelerator;
  Network network;
  std::vector<std::string> aliases;
  std::string origin;  // "catalog" or the file's path
};

}  // namespace napkin
