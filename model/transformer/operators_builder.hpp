// Shared vocabulary of the operators_*.cpp files: the dimensions of a shard, and one call per operator kind.
#pragma once

#include <vector>

#include "model/transformer/operators.hpp"

namespace napkin {

template <class K>
class OperatorBuilder {
 public:
  OperatorBuilder(Scope<K> s, const Architecture& a, const Shard& sh, const Profile& p)
      : scope(s), shard(sh), profile(p) {
    ops.reserve(32);
    const auto b = scope.input("b", sh.micro_batch, "layout: micro-batch");
    const auto seq = scope.input("s", static_cast<double>(sh.sequence), "job: sequence length");
    const auto cp = scope.input("cp", sh.cp, "layout");
    tp = scope.input("tp", sh.tp, "layout");
    hidden = scope.input("h", static_cast<double>(a.hidden), a.name);
    e = scope.input("e", Bytes::si(sh.element), "precision: bytes of an activation element");
    sequence = seq;
    batch = b;
    cps = cp;
    tokens = let("T", b * seq / cp);
    local = sh.sp ? let("T_local", tokens / tp, "korthikanti2022") : tokens;
    traffic = scope.read("c_ew", p.elementwise.traffic);
    rope = scope.read("c_rope", p.elementwise.rope);
    gate = scope.read("c_gate", p.elementwise.gate);
  }

  // [m,k]·[k,n] with a weight of k·n parameters; `saved` = the input it keeps for the weight gradient.
  Operator<K>& gemm(const char* name, ScalarT<K> m, ScalarT<K> n, ScalarT<K> k, BytesT<K> saved = {},
                    ScalarT<K> count = 1) {
    Operator<K>& o = add(name, Operator<K>::Kind::gemm);
    o.gemm = {m, n, k, count};
    o.saved = saved;
    return o;
  }
  Operator<K>& elementwise(const char* name, BytesT<K> forward, BytesT<K> backward, BytesT<K> saved = {}) {
    Operator<K>& o = add(name, Operator<K>::Kind::elementwise);
    o.forward_bytes = traffic * forward;
    o.backward_bytes = traffic * backward;
    o.saved = saved;
    o.rerun |= recompute_by_products;
    o.drops |= recompute_by_products;
    return o;
  }
  Operator<K>& collective(const char* name, Axis axis, Operation forward, Operation backward, BytesT<K> bytes) {
    Operator<K>& o = add(name, Operator<K>::Kind::collective);
    o.axis = axis;
    o.operation = forward;
    o.backward_operation = backward;
    o.bytes = bytes;
    return o;
  }

  // x → norm(x) on the local tokens: reads x, writes y; backward reads x and dy, writes dx. Keeps x (the residual
  // stream) and its statistics; the output is kept by the linear that reads it.
  // `rebuilt_from_product`: x is the sum of the layer's input and a linear's output, kept only while that output is.
  void norm(const char* name, ScalarT<K> width, ScalarT<K> rows, bool rebuilt_from_product = false) {
    const BytesT<K> one = rows * width * e;
    auto& o = elementwise(name, 2 * one, 3 * one,
                          one + rows * scope.read("n_stat", profile.saved.norm_statistics) * (4 * byte));
    o.rerun |= recompute_norms;
    o.drops = static_cast<std::uint8_t>(o.drops & ~(rebuilt_from_product ? std::uint8_t{recompute_between_products} : recompute_by_products));
    o.traffic = Traffic::norm;
  }
  // Marks the operators added while it lives: they run again, and keep nothing, when `module` is recomputed.
  class Within {
    OperatorBuilder& b_;
    std::uint8_t before_;

   public:
    Within(OperatorBuilder& b, RecomputeModule module) : b_(b), before_(b.module_) {
      b_.module_ = static_cast<std::uint8_t>(before_ | module);
    }
    ~Within() { b_.module_ = before_; }
    Within(const Within&) = delete;
    Within& operator=(const Within&) = delete;
  };
  // Tensors kept by no kernel of their own.
  // Outputs of linears are kept when those are; `second_share`: what every second linear wrote of it.
  Operator<K>& keep(const char* name, BytesT<K> saved, ScalarT<K> second_share = 0) {
    auto& o = elementwise(name, {}, {}, saved);
    o.drops = static_cast<std::uint8_t>(o.drops & ~recompute_between_products);
    o.second_drops = second_share;
    return o;
  }
  // The input a column-parallel linear keeps: the norm output, sharded or whole; nothing when it is recomputed.
  [[nodiscard]] BytesT<K> kept_input(ScalarT<K> width) const {
    if (!profile.saved.norm_output) return {};
    return (shard.sp && profile.saved.norm_output_sharded ? local : tokens) * width * e;
  }
  // Residual addition, with its dropout mask (one byte) where the model drops out.
  void residual(const char* name, bool dropout) {
    const BytesT<K> one = local * hidden * e;
    elementwise(name, 3 * one, 3 * one, dropout ? local * hidden * (1 * byte) : BytesT<K>{});
  }
  // A column-parallel linear that reads a norm's output, and keeps it unless another linear already does.
  Operator<K>& gemm_of_norm(const char* name, ScalarT<K> m, ScalarT<K> n, ScalarT<K> k) {
    auto& o = gemm(name, m, n, k, input_is_kept ? BytesT<K>{} : kept_input(k));
    o.drops = recompute_norms | recompute_by_products;
    o.input_of_norm = !input_is_kept;
    return o;
  }
  // Entering a column-parallel linear (shoeybi2019megatron f; korthikanti2022 g): SP gathers the sequence, else the
  // backward pass all-reduces.
  void enter_tp(const char* name, ScalarT<K> width) {
    if (shard.tp == 1) return;
    const BytesT<K> whole = tokens * width * e;
    if (shard.sp) {
      auto& o = collective(name, Axis::tp, Operation::all_gather, Operation::reduce_scatter, whole);
      o.regather = profile.saved.norm_output && profile.saved.norm_output_sharded;
    } else {
      auto& o = collective(name, Axis::tp, Operation::all_reduce, Operation::all_reduce, whole);
      o.forward = false;
    }
  }
  // Leaving a row-parallel linear: SP reduce-scatters, else the forward pass all-reduces.
  void leave_tp(const char* name, ScalarT<K> width) {
    if (shard.tp == 1) return;
    const BytesT<K> whole = tokens * width * e;
    if (shard.sp) {
      collective(name, Axis::tp, Operation::reduce_scatter, Operation::all_gather, whole);
    } else {
      auto& o = collective(name, Axis::tp, Operation::all_reduce, Operation::all_reduce, whole);
      o.backward = false;
    }
  }

  [[nodiscard]] ContextExchange exchange() const { return shard.exchange.value_or(profile.context_exchange); }

  Scope<K> scope;
  const Shard& shard;
  const Profile& profile;
  ScalarT<K> tp, cps, batch, sequence, hidden, tokens, local, traffic, rope, gate;
  BytesT<K> e;
  std::vector<Operator<K>> ops;
  bool input_is_kept = false;

 private:
  Operator<K>& add(const char* name, typename Operator<K>::Kind kind) {
    Operator<K>& o = ops.emplace_back();
    o.name = name;
    o.kind = kind;
    o.rerun = o.drops = module_;
    return o;
  }
  std::uint8_t module_ = 0;
};

// The parts of a layer, each in its own file.
template <class K>
void attention_operators(OperatorBuilder<K>& b, const Architecture& a, const Attention& at);
template <class K>
void mamba_operators(OperatorBuilder<K>& b, const Mamba& m);
template <class K>
void linear_attention_operators(OperatorBuilder<K>& b, const LinearAttention& l);
template <class K>
void ffn_operators(OperatorBuilder<K>& b, const Ffn& f);

}  // namespace napkin
