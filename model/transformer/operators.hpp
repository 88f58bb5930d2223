// The operators one rank executes in one layer: GEMMs, attention, element-wise chains, collectives; what each saves for
// the backward pass. The step model prices them, the memory model counts their tensors; nothing else knows a layer.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hardware/hardware.hpp"
#include "model/frameworks/profile.hpp"
#include "model/transformer/architecture.hpp"
#include "model/frameworks/recompute.hpp"
#include "model/transformer/shapes.hpp"

namespace napkin {

// Linears that low-rank adapters may sit beside, as bits (hu2022lora).
enum AdapterTarget : std::uint8_t { adapter_qkv = 1, adapter_out = 2, adapter_gate_up = 4, adapter_down = 8 };

// How one layer is cut. T = micro_batch · sequence / cp tokens are seen by a TP group.
struct Shard {
  int tp = 1;
  bool sp = false;
  int cp = 1, ep = 1, etp = 1;
  int micro_batch = 1;
  std::int64_t sequence = 0;
  double element = 2;      // bytes of an activation element
  bool fused_attention = true;  // false: scores are materialised (and saved)
  std::optional<ContextExchange> exchange;  // nothing: the framework's
  friend bool operator==(const Shard&, const Shard&) = default;
};

enum class Axis : std::uint8_t { tp, cp, ep, etp };

template <class K>
struct Operator {
  enum class Kind : std::uint8_t { gemm, attention, elementwise, collective };
  const char* name = "";
  Kind kind = Kind::gemm;

  // gemm: forward [m,k]·[k,n]; backward adds [m,n]·[n,k] (input gradient) and [k,m]·[m,n] (weight gradient).
  GemmShape<K> gemm{};
  bool weight = true;        // false: both operands are activations
  bool low_precision = true; // computed (gathered) in the recipe's GEMM format; false: stays in the base format
  bool input_of_norm = false; // its input is what a norm wrote
  double local_experts = 0;   // a grouped product over so many experts; 0: a dense one
  bool waits = false;         // the pass waits for the host before it (loads of the experts)
  std::uint8_t target = 0;    // AdapterTarget bit of a linear that adapters may sit beside
  // attention
  AttentionShape<K> attention{};
  // elementwise: bytes moved
  BytesT<K> forward_bytes{}, backward_bytes{};
  Traffic traffic = Traffic::stream;
  // collective; backward runs `backward_operation` on the same bytes. `regather`: the backward pass gathers the sharded
  // input once more for the weight gradient (korthikanti2022 §4.2.2).
  Operation operation = Operation::all_reduce, backward_operation = Operation::all_reduce;
  Axis axis = Axis::tp;
  BytesT<K> bytes{};
  bool forward = true, backward = true, regather = false;
  std::optional<Routing> routing;  // an expert exchange instead, `bytes` per token

  ScalarT<K> rounds = 1;     // messages of `bytes` one after another (ring attention: cp − 1 hops)
  ScalarT<K> backward_rounds = 1;

  BytesT<K> saved{};         // kept per micro-batch until the backward pass
  BytesT<K> at_once{};       // of `saved`: alive only while the loss is computed and its backward starts
  BytesT<K> returned{};      // kept beside by a pipeline's caller until the step ends
  // Selective recomputation, as RecomputeModule bits: with which modules the operator runs again in the backward pass,
  // and with which its `saved` is not kept.
  std::uint8_t rerun = 0, drops = 0;
  // Share of it that is meant by recompute_second_products: of the linears merged in one, every second.
  ScalarT<K> second_rerun = 1, second_drops = 1;
};

// Operators of one layer in execution order.
template <class K>
[[nodiscard]] std::vector<Operator<K>> layer_operators(Scope<K> scope, const Architecture& a, const LayerKind& kind,
                                                       const Shard& shard, const Profile& profile);
// The first stage's embedding look-up, and the last stage's final norm, head and loss. `vocab` is padded.
template <class K>
[[nodiscard]] std::vector<Operator<K>> embedding_operators(Scope<K> scope, const Architecture& a, const Shard& shard,
                                                           const Profile& profile, std::int64_t vocab);
template <class K>
[[nodiscard]] std::vector<Operator<K>> head_operators(Scope<K> scope, const Architecture& a, const Shard& shard,
                                                      const Profile& profile, std::int64_t vocab);

// V rounded up to a multiple of profile.vocab_multiple · tp.
[[nodiscard]] std::int64_t padded_vocab(const Architecture& a, const Profile& profile, int tp);

}  // namespace napkin
