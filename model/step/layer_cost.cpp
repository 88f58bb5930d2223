#include "model/step/layer_cost.hpp"

#include <algorithm>
#include <optional>

#include "model/collective/expert_exchange.hpp"

namespace napkin {

template <class K>
PassCost<K> operator+(const PassCost<K>& a, const PassCost<K>& b) {
  return {a.gemm + b.gemm, a.attention + b.attention, a.elementwise + b.elementwise, a.tp + b.tp, a.cp + b.cp,
          a.ep + b.ep,     a.host + b.host};
}
template <class K>
PassCost<K> operator*(double n, const PassCost<K>& a) {
  return {n * a.gemm, n * a.attention, n * a.elementwise, n * a.tp, n * a.cp, n * a.ep, n * a.host};
}

LayerKey layer_key(const Job& job, const Layout& l) {
  const std::uint8_t modules = l.modules != 0 ? l.modules : job.profile->recompute.selective;
  return {.tp = l.tp, .sp = l.sp, .cp = l.cp, .ep = l.ep, .etp = l.etp, .micro_batch = l.micro_batch,
          .recompute = l.recompute,
          .modules = l.recompute == Recompute::selective ? modules : std::uint8_t{0},
          .interleaved = l.ep > 1 && l.vpp > 1 &&
                         job.profile->overlap.expert_parallel_chunks.value != job.profile->overlap.expert_parallel.value,
          .exchange = l.exchange,
          .tp_exposed = (l.exposed & exposed_tensor_parallel) != 0};
}

std::string_view attention_kernel(const Job& job) {
  const auto& choice = job.profile->attention;
  auto it = choice.find(job.hardware->accelerator.generation);
  if (it == choice.end()) it = choice.find(std::string_view{});
  return it == choice.end() ? std::string_view("fa2") : std::string_view(it->second);
}

Shard shard_of(const Job& job, const LayerKey& k) {
  return {.tp = k.tp,
          .sp = k.sp,
          .cp = k.cp,
          .ep = k.ep,
          .etp = k.etp,
          .micro_batch = k.micro_batch,
          .sequence = job.sequence,
          .element = job.precision.base_bytes,
          .fused_attention = attention_kernel(job) != "unfused",
          .exchange = context_exchange(job, {.exchange = k.exchange})};
}

namespace {

// Of a layer's TP messages, those of the forward pass: 4 of 10, the gathers of the backward pass being made twice
// (korthikanti2022 §4.2).
constexpr double forward_messages = 0.4;

// Time of a fused attention call that drops out 0.1 of the probabilities over one that does not: our H200, PyTorch 2.11,
// head dimension 128, causal, 4,096 tokens (at 64 cuDNN's forward pass takes 2.3-2.4). Random numbers are made anew in the
// backward pass, so no mask is saved.
struct DropoutCost {
  double forward, backward;
};
constexpr DropoutCost cudnn_dropout{2.1, 1.25}, flash_dropout{1.25, 1.12};

// Tensors of one layer that are no matrix: the scales of its norms.
template <class K>
bool is_norm(const Operator<K>& o) {
  return o.kind == Operator<K>::Kind::elementwise && o.traffic == Traffic::norm;
}

template <class K>
bool frozen(const Job& job, const Operator<K>& o) {
  return job.adapters.any() && o.weight;
}

// Whether the backward pass of operators under tensor or context parallelism gathers their input once more: for a weight
// gradient, and unless recomputation has just gathered it. Adapters keep the gathered input of the linear they sit beside.
bool gathers_again(const Job& job, const LayerKey& key) { return key.recompute != Recompute::full && !job.adapters.any(); }

// Prices one operator at a time and keeps the totals.
template <class K>
class Pricer {
 public:
  Pricer(Scope<K> scope, const Job& job, const LayerKey& key, Prices<K>& prices)
      : scope_(scope),
        job_(job),
        prices_(prices),
        key_(key),
        gathers_again_(gathers_again(job, key)),
        accelerator_(job.hardware->accelerator),
        kernel_(attention_kernel(job)),
        gemm_share_(scope.read("x_gemm", job.profile->gemm_share)),
        tp_hidden_(key.tp_exposed ? ScalarT<K>(0) : scope.read("o_tp", job.profile->overlap.tensor_parallel)),
        ep_hidden_(key.interleaved ? scope.read("o_ep_chunks", job.profile->overlap.expert_parallel_chunks)
                                   : scope.read("o_ep", job.profile->overlap.expert_parallel)),
        launch_(scope.read("t_launch", accelerator_.launch) * scope.read("x_launch", job.profile->host.launch)),
        chain_kernels_(scope.read("n_kernels", job.profile->elementwise.kernels)),
        kernels_(chain_kernels_.si()),
        floor_(scope.read("elementwise floor", accelerator_.elementwise.floor)),
        cast_(scope.input("B_cast", Bytes::si(job.precision.cast_bytes), job.precision.name)),
        gradient_(scope.read("B_grad", job.profile->bytes.gradient)) {}

  // Each prices the operator's passes and returns its forward time.
  SecondsT<K> gemm(const Operator<K>& o) {
    const bool low = o.low_precision && o.weight;
    const Format format = low ? job_.precision.gemm : job_.precision.base;
    const double in = low ? job_.precision.gemm_bytes : job_.precision.base_bytes;
    const double out = job_.precision.base_bytes;
    const auto& s = o.gemm;
    auto share = o.local_experts > 0 ? gemm_share_ * scope_.read("x_expert_gemm", job_.profile->expert_gemm_share) : gemm_share_;
    if (low && job_.precision.rate != 1) share = share * scope_.input("x_recipe", job_.precision.rate, job_.precision.name);
    const auto run = [&](const GemmShape<K>& shape, double output) {
      return let(o.name, prices_.gemm(format, in, output, shape) / share,
                 "model/kernel/gemm.cpp");
    };
    const auto memory_rate = accelerator_.gemm.memory_fraction.value.si() * accelerator_.memory_bandwidth.value.si();
    // Between one expert's product and the next the units wait for its weights, or write their gradient.
    const auto fill = [&](double bytes) {
      if (o.local_experts == 0) return SecondsT<K>{};
      return let("fill", scope_.read("x_fill", job_.profile->expert_fill) * (s.count * s.k * s.n * (bytes * byte)) /
                             scope_.input("B_gemm", BytesPerSecond::si(memory_rate), "GEMM memory rate"));
    };
    if (o.waits) {
      // Before fusion every local expert has kernels of its own, and quantising adds the casts of its operands.
      const bool casts = low && job_.precision.cast_bytes > 0;
      // They are so short that the device idles between them.
      const auto kernels = scope_.input("E_local", o.local_experts) * scope_.read("n_expert", job_.profile->expert_launches);
      expert_gaps_ += launch_ * (casts ? scope_.read("x_quantised", job_.profile->expert_quantised) * kernels : kernels);
      waits_ += scope_.read("t_expert_sync", job_.profile->expert_sync);
    }
    const SecondsT<K> forward = run(s, out) + fill(in);
    forward_.gemm += forward;
    backward_.gemm += run({s.m, s.k, s.n, s.count}, out) + fill(in);  // dX = dY·Wᵀ
    forward_kernels_ += 1;
    backward_kernels_ += 1;
    if (frozen(job_, o)) {
      adapters(o);
    } else {
      // dW = Xᵀ·dY, added into the gradient buffer: read and written.
      const SecondsT<K> second = run({s.k, s.n, s.m, s.count}, o.weight ? 2 * gradient_.si() : out) + fill(2 * gradient_.si());
      backward_.gemm += second;
      if (o.weight) weight_gradient_ += second;
      backward_kernels_ += 1;
    }
    if (low && job_.precision.cast_bytes > 0) {
      // X and W are quantised forward; dY backward (with the transposes that both backward products need).
      const LowPrecision& how = job_.profile->low_precision;
      if (!(how.norm_quantises && o.input_of_norm)) {
        forward_.elementwise += cast(s.count * s.m * s.k, frozen(job_, o));
        forward_kernels_ += 1;
      }
      if (how.weights_once_a_step && frozen(job_, o)) {
        // Quantised when they were loaded.
      } else if (how.weights_once_a_step) {
        once_ += cast(s.count * s.k * s.n);
      } else {
        forward_.elementwise += cast(s.count * s.k * s.n);
        forward_kernels_ += 1;
      }
      backward_.elementwise += cast(s.count * s.m * s.n, frozen(job_, o));
      backward_kernels_ += 1;
    }
    return forward;
  }
  // Beside a frozen linear: X·A and (X·A)·B forward, two products each for their gradients, and the sum of the two outputs
  // (hu2022lora). A quantised weight is expanded before both products that use it (dettmers2023qlora).
  void adapters(const Operator<K>& o) {
    const auto& s = o.gemm;
    if (job_.adapters.quantised) {
      const auto expand = s.count * s.k * s.n * ((job_.adapters.frozen_bytes + job_.precision.base_bytes) * byte);
      const auto time = let("dequantise", elementwise_cost(scope_, accelerator_, expand).time, "dettmers2023qlora");
      forward_.elementwise += time;
      backward_.elementwise += time;
      forward_kernels_ += 1;
      backward_kernels_ += 1;
    }
    if ((o.target & job_.adapters.targets) == 0) return;
    const auto r = scope_.input("r", job_.adapters.rank, "adapter rank");
    const double e = job_.precision.base_bytes;
    const auto product = [&](ScalarT<K> m, ScalarT<K> n, ScalarT<K> k) {
      return let("adapter", prices_.gemm(job_.precision.base, e, e, {m, n, k, s.count}), "hu2022lora");
    };
    forward_.gemm += product(s.m, r, s.k) + product(s.m, s.n, r);
    backward_.gemm += product(s.m, r, s.n) + product(s.m, s.k, r) + product(s.k, r, s.m) + product(r, s.n, s.m);
    const BytesT<K> y = s.count * s.m * s.n * (e * byte), x = s.count * s.m * s.k * (e * byte);
    forward_.elementwise += let("adapter_sum", elementwise_cost(scope_, accelerator_, 3 * y).time);
    backward_.elementwise += let("adapter_sum", elementwise_cost(scope_, accelerator_, 3 * x).time);
    forward_kernels_ += 3;
    backward_kernels_ += 5;
    trained_ += s.count * r * (s.k + s.n);
  }
  SecondsT<K> attention(const Operator<K>& o) {
    SecondsT<K> forward = prices_.attention(kernel_, o.attention, Pass::forward);
    SecondsT<K> backward = prices_.attention(kernel_, o.attention, Pass::backward);
    if (job_.model->dropout && kernel_ != "unfused") {
      const auto& cost = kernel_ == "cudnn" ? cudnn_dropout : flash_dropout;
      forward = forward * scope_.input("x_dropout", cost.forward, "attention dropout, measured");
      backward = backward * scope_.input("x_dropout_backward", cost.backward, "attention dropout, measured");
    }
    forward_.attention += forward;
    backward_.attention += backward;
    forward_kernels_ += 1;
    backward_kernels_ += 2;
    return forward;
  }
  SecondsT<K> elementwise(const Operator<K>& o) {
    SecondsT<K> forward{};
    if (o.forward_bytes > BytesT<K>{}) {
      forward = let(o.name, chain(o.forward_bytes, o.traffic));
      forward_.elementwise += forward;
      forward_kernels_ += kernels_;
    }
    if (o.backward_bytes > BytesT<K>{}) {
      backward_.elementwise += let(o.name, chain(o.backward_bytes, o.traffic));
      backward_kernels_ += kernels_;
    }
    return forward;
  }
  SecondsT<K> collective(const Operator<K>& o) {
    const Network& network = job_.hardware->network;
    const bool quantised = o.axis == Axis::tp && o.low_precision && job_.profile->low_precision.gathers_quantised &&
                           job_.precision.gemm_bytes < job_.precision.base_bytes;
    const auto cost = [&](Operation op) {
      if (o.routing) return let(o.name, expert_exchange_cost(scope_, network, group(o.axis), *o.routing, o.bytes).time);
      const BytesT<K> bytes = quantised && op == Operation::all_gather
                                  ? job_.precision.gemm_bytes / job_.precision.base_bytes * o.bytes
                                  : o.bytes;
      return let(o.name, prices_.collective(op, bytes, group(o.axis)) + steps(o, op));
    };
    const SecondsT<K> forward = o.forward ? o.rounds * cost(o.operation) : SecondsT<K>{};
    SecondsT<K> backward = o.backward ? o.backward_rounds * cost(o.backward_operation) : SecondsT<K>{};
    if (o.regather && gathers_again_) backward += cost(Operation::all_gather);
    if (o.axis == Axis::tp) {
      if (o.forward) forward_steps_ += steps(o, o.operation);
      if (o.backward) backward_steps_ += steps(o, o.backward_operation);
    }
    switch (o.axis) {
      case Axis::tp:
        forward_.tp += (1 - tp_hidden_) * forward;
        backward_.tp += (1 - tp_hidden_) * backward;
        return (1 - tp_hidden_) * forward;
      case Axis::cp:
        // Hops of a ring run beside the attention; a gather or an all-to-all comes before it.
        (o.operation == Operation::send_recv ? ring_forward_ : blocking_forward_) += forward;
        (o.operation == Operation::send_recv ? ring_backward_ : blocking_backward_) += backward;
        return {};
      case Axis::ep:
      case Axis::etp:
        forward_.ep += (1 - ep_hidden_) * forward;
        backward_.ep += (1 - ep_hidden_) * backward;
        return (1 - ep_hidden_) * forward;
    }
    return {};
  }

  SecondsT<K> run(const Operator<K>& o) {
    switch (o.kind) {
      case Operator<K>::Kind::gemm: return gemm(o);
      case Operator<K>::Kind::attention: return attention(o);
      case Operator<K>::Kind::elementwise: return elementwise(o);
      case Operator<K>::Kind::collective: return collective(o);
    }
    return {};
  }

  // Ring hops hide behind the attention they feed (liu2023ring); launches behind the kernels they start.
  void finish(bool layer) {
    if (key_.cp > 1) {
      const auto window = scope_.read("o_cp", job_.profile->overlap.context_parallel);
      forward_.cp = let("cp_exposed", max(SecondsT<K>{}, ring_forward_ - window * forward_.attention) + blocking_forward_,
                        "liu2023ring");
      backward_.cp = let("cp_exposed_backward",
                         max(SecondsT<K>{}, ring_backward_ - window * backward_.attention) + blocking_backward_,
                         "liu2023ring");
    }
    const auto name = [](PassCost<K>& p, std::string_view pass) {
      p.gemm = let("gemm", p.gemm, {}, pass);
      p.attention = let("attention", p.attention, {}, pass);
      p.elementwise = let("elementwise", p.elementwise, {}, pass);
      p.tp = let("tp_comm", p.tp, {}, pass);
      p.ep = let("ep_comm", p.ep, {}, pass);
    };
    name(forward_, "forward");
    name(backward_, "backward");
    auto forward_host = forward_kernels_ * launch_, backward_host = backward_kernels_ * launch_;
    if (layer && key_.tp > 1) {
      const HostCosts& h = job_.profile->host;
      SecondsT<K> more{};
      if (slow_cluster(job_)) {
        more = choose("a slow cluster: all-reduce within a node was measured below the profile's bound",
                      scope_.input("tp", key_.tp, "layout") * scope_.read("t_slow_hop", h.slow_hop));
        // Its late launches and the steps of rings between nodes follow each other.
        forward_host += forward_steps_;
        backward_host += backward_steps_;
      }
      forward_host = max(forward_host, scope_.read("t_host_tp", h.tp_forward)) + forward_messages * more;
      backward_host = max(backward_host, scope_.read("t_host_tp_backward", h.tp_backward)) + (1 - forward_messages) * more;
    }
    forward_.host = let("host_exposed", max(expert_gaps_, forward_host - forward_.total()) + waits_);
    backward_.host = let("host_exposed_backward", max(expert_gaps_, backward_host - backward_.total()));
  }
  [[nodiscard]] bool host_bound() const {
    return slow_cluster(job_) && forward_.host > SecondsT<K>{} && backward_.host > SecondsT<K>{};
  }
  [[nodiscard]] const PassCost<K>& forward() const { return forward_; }
  [[nodiscard]] const PassCost<K>& backward() const { return backward_; }
  [[nodiscard]] SecondsT<K> weight_gradient() const { return weight_gradient_; }
  [[nodiscard]] ScalarT<K> trained() const { return let("P_adapters", trained_, "hu2022lora"); }
  [[nodiscard]] SecondsT<K> once() const { return let("quantise_weights", once_); }

 private:
  // The kernels of a chain share its bytes; each has the floor.
  SecondsT<K> chain(BytesT<K> bytes, Traffic traffic) {
    return elementwise_cost(scope_, accelerator_, bytes, traffic).time + (chain_kernels_ - 1) * floor_;
  }
  // Between nodes every step of a TP ring waits for the proxy of the next one.
  SecondsT<K> steps(const Operator<K>& o, Operation op) {
    const auto& step = job_.profile->host.tp_step;
    if (o.axis != Axis::tp || key_.tp <= job_.hardware->network.node_size || !(step.value > Seconds{})) return {};
    const double rounds = op == Operation::all_reduce ? 2 : 1;
    return scope_.input("steps", rounds * (key_.tp - 1), "of the ring") * scope_.read("t_tp_step", step);
  }
  // Without a weight gradient nothing reads the second, column-wise copy.
  SecondsT<K> cast(ScalarT<K> elements, bool one_copy = false) {
    const auto each = one_copy ? cast_ - scope_.input("e_gemm", Bytes::si(job_.precision.gemm_bytes), job_.precision.name) : cast_;
    return let("cast", elementwise_cost(scope_, accelerator_, elements * each).time);
  }
  // Rank order tp-cp-ep-dp-pp; among the experts' ranks etp runs fastest, then ep (Megatron-Core parallel_state).
  [[nodiscard]] Group group(Axis axis) const {
    switch (axis) {
      case Axis::tp: return {.size = key_.tp, .stride = 1};
      case Axis::cp: return {.size = key_.cp, .stride = key_.tp};
      case Axis::ep: return {.size = key_.ep, .stride = key_.etp};
      case Axis::etp: return {.size = key_.etp, .stride = 1};
    }
    return {};
  }

  Scope<K> scope_;
  const Job& job_;
  Prices<K>& prices_;
  const LayerKey& key_;
  bool gathers_again_;
  const Accelerator& accelerator_;
  std::string_view kernel_;
  ScalarT<K> gemm_share_, tp_hidden_, ep_hidden_;
  SecondsT<K> launch_;
  ScalarT<K> chain_kernels_;
  double kernels_;
  SecondsT<K> floor_;
  BytesT<K> cast_;
  ScalarT<K> gradient_;
  PassCost<K> forward_, backward_;
  ScalarT<K> trained_{};
  SecondsT<K> forward_steps_{}, backward_steps_{};
  SecondsT<K> weight_gradient_{}, once_{}, waits_{}, expert_gaps_{}, ring_forward_{}, ring_backward_{}, blocking_forward_{}, blocking_backward_{};
  double forward_kernels_ = 0, backward_kernels_ = 0;
};

// Share of an operator with these module bits that is meant by `modules`.
template <class K>
ScalarT<K> meant(std::uint8_t bits, ScalarT<K> second, std::uint8_t modules) {
  if ((bits & modules & ~recompute_second_products) != 0) return 1;
  return (bits & modules) != 0 ? second : ScalarT<K>(0);
}

// A linear keeps its input in the format that its weight gradient multiplies.
template <class K>
BytesT<K> saved_bytes(const Job& job, const Operator<K>& o) {
  if (o.kind == Operator<K>::Kind::gemm && frozen(job, o)) {
    // Without a weight gradient only an adapter beside it reads the input again.
    if ((o.target & job.adapters.targets) == 0) return {};
    return o.saved;
  }
  const bool quantised = o.kind == Operator<K>::Kind::gemm && o.weight && o.low_precision &&
                         job.profile->low_precision.saves_quantised;
  return quantised ? job.precision.gemm_bytes / job.precision.base_bytes * o.saved : o.saved;
}

// What the passes come to under one kind of recomputation; `times` are the operators' forward times.
template <class K>
LayerCost<K> recomputed(Scope<K> scope, const Job& job, const LayerKey& key, const Pricer<K>& pricer,
                        const std::vector<Operator<K>>& operators, std::span<const SecondsT<K>> times, const char* name) {
  LayerCost<K> c;
  SecondsT<K> rerun{}, tail{};  // tail: from the last product on
  BytesT<K> kept{}, dropped{};
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const Operator<K>& o = operators[i];
    if (o.kind == Operator<K>::Kind::gemm) tail = SecondsT<K>{};
    tail += times[i];
    rerun += meant(o.rerun, o.second_rerun, key.modules) * times[i];
    if (o.saved > BytesT<K>{}) {
      const auto saved = let(o.name, saved_bytes(job, o), {}, "saved");
      const auto share = meant(o.drops, o.second_drops, key.modules);
      dropped += share * saved;
      kept += (1 - share) * saved;
    }
    if ((o.kind == Operator<K>::Kind::gemm && o.weight) || is_norm(o)) c.weights += 1;
    if (o.at_once > BytesT<K>{}) c.at_once += o.at_once;
    if (o.returned > BytesT<K>{}) c.returned += o.returned;
    if (o.kind == Operator<K>::Kind::gemm && o.weight) {
      const auto output = o.gemm.count * o.gemm.m * o.gemm.n * Bytes::si(job.precision.base_bytes);
      c.working = max(c.working, output);
      c.output_gradients += output;
    }
  }
  c.host_bound = pricer.host_bound();
  c.forward = pricer.forward();
  c.backward = pricer.backward();
  c.weight_gradient = pricer.weight_gradient();
  c.once = pricer.once();
  c.adapters = pricer.trained();
  if (key.recompute == Recompute::full) {
    // Only the layer's input is kept, sharded where the sequence is (korthikanti2022 §5).
    const Shard sh = shard_of(job, key);
    const auto input = scope.input("b", sh.micro_batch) * scope.input("s", static_cast<double>(sh.sequence)) /
                       scope.input("cp", sh.cp) * scope.input("h", static_cast<double>(job.model->hidden)) *
                       scope.input("e", Bytes::si(sh.element)) / scope.input("tp_sp", sh.sp ? sh.tp : 1);
    c.recompute = job.profile->recompute.early_stop
                      ? let("recompute", c.forward.total() - tail, "korthikanti2022", name)
                      : let("recompute", c.forward.total(), "korthikanti2022", name);
    c.saved = let("saved", input, "korthikanti2022", name);
    c.transient = let("recomputed", kept, {}, name);
  } else {
    c.recompute = let("recompute", rerun, "korthikanti2022", name);
    c.saved = let("saved", kept, {}, name);
    c.transient = let("recomputed", dropped, {}, name);
  }
  return c;
}

// Prices a list of operators under each kind of recomputation; the keys differ in that alone. Passes are run once, or twice
// where one kind gathers again and another does not.
template <class K>
void price_each(Scope<K> scope, const Job& job, std::span<const LayerKey> keys, const std::vector<Operator<K>>& operators,
           const char* name, Prices<K>& prices, std::span<LayerCost<K>> costs) {
  const bool regathers = std::ranges::any_of(operators, &Operator<K>::regather);
  std::vector<SecondsT<K>> times(operators.size());
  for (const bool again : {true, false}) {
    std::optional<Pricer<K>> pricer;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (again != (gathers_again(job, keys[i]) || !regathers)) continue;
      if (!pricer) {
        pricer.emplace(scope, job, keys[i], prices);
        for (std::size_t o = 0; o < operators.size(); ++o) times[o] = pricer->run(operators[o]);
        pricer->finish(name == std::string_view("layer"));
      }
      costs[i] = recomputed(scope, job, keys[i], *pricer, operators, std::span<const SecondsT<K>>(times), name);
    }
  }
}

// The ends of the model are never recomputed.
LayerKey kept_whole(LayerKey key) {
  key.recompute = Recompute::none;
  key.modules = 0;
  return key;
}

}  // namespace

template <class K>
LayerCost<K> price(Scope<K> scope, const Job& job, const LayerKey& key, const std::vector<Operator<K>>& operators,
                   const char* name) {
  Prices<K> prices(scope, job);
  LayerCost<K> cost;
  price_each(scope, job, std::span(&key, 1), operators, name, prices, std::span(&cost, 1));
  return cost;
}

template <class K>
LayerCost<K> layer_cost(Scope<K> scope, const Job& job, const LayerKey& key, const LayerKind& kind) {
  Prices<K> prices(scope, job);
  LayerCost<K> cost;
  layer_cost(scope, job, std::span(&key, 1), kind, prices, std::span(&cost, 1));
  return cost;
}
template <class K>
void layer_cost(Scope<K> scope, const Job& job, std::span<const LayerKey> keys, const LayerKind& kind, Prices<K>& prices,
                std::span<LayerCost<K>> costs) {
  price_each(scope, job, keys, layer_operators(scope, *job.model, kind, shard_of(job, keys.front()), *job.profile), "layer",
        prices, costs);
}

template <class K>
LayerCost<K> embedding_cost(Scope<K> scope, const Job& job, const LayerKey& of, Prices<K>& prices) {
  const LayerKey key = kept_whole(of);
  LayerCost<K> cost;
  price_each(scope, job, std::span(&key, 1),
        embedding_operators(scope, *job.model, shard_of(job, key), *job.profile,
                            padded_vocab(*job.model, *job.profile, key.tp)),
        "embedding", prices, std::span(&cost, 1));
  return cost;
}
template <class K>
LayerCost<K> head_cost(Scope<K> scope, const Job& job, const LayerKey& of, Prices<K>& prices) {
  const LayerKey key = kept_whole(of);
  LayerCost<K> cost;
  price_each(scope, job, std::span(&key, 1),
        head_operators(scope, *job.model, shard_of(job, key), *job.profile,
                       padded_vocab(*job.model, *job.profile, key.tp)),
        "head", prices, std::span(&cost, 1));
  return cost;
}

template <class K>
FlopsT<K> rerun_flops_per_token(Scope<K> scope, const Job& job, const LayerKey& key, FlopConvention convention) {
  const Architecture& a = *job.model;
  // One sequence on one rank: what is executed does not depend on how it is cut.
  LayerKey whole = key;
  whole.tp = whole.cp = whole.ep = whole.etp = whole.micro_batch = 1;
  whole.sp = false;
  FlopsT<K> sum{};
  for (std::size_t k = 0; k < a.kinds.size(); ++k) {
    double layers = static_cast<double>(std::count(a.layers.begin(), a.layers.end(), static_cast<std::uint8_t>(k)));
    if (static_cast<int>(k) == a.mtp_kind) layers += a.mtp_layers;
    if (layers == 0) continue;
    FlopsT<K> layer{};
    for (const Operator<K>& o : layer_operators(scope, a, a.kinds[k], shard_of(job, whole), *job.profile)) {
      const auto share = meant(o.rerun, o.second_rerun, key.modules);
      if (share.si() == 0) continue;
      if (o.kind == Operator<K>::Kind::gemm) {
        const auto imbalance = o.local_experts > 0 ? scope.read("imbalance", job.profile->expert_imbalance) : ScalarT<K>(1);
        layer += share * (2 * o.gemm.count * o.gemm.m * o.gemm.n * o.gemm.k / imbalance) * flop;
      } else if (o.kind == Operator<K>::Kind::attention && convention != FlopConvention::weights_only) {
        const auto& s = o.attention;
        const double span = s.window > 0 ? std::min(s.keys.si(), static_cast<double>(s.window)) : s.keys.si();
        const double keys = convention == FlopConvention::causal_half ? 0.5 * span : span;
        layer += share * (2 * s.batch * s.queries * scope.input("keys", keys, "a query may see") * s.heads * (s.head_dim + s.v_head_dim)) * flop;
      }
    }
    sum += scope.input("layers", layers, a.kinds[k].name) * layer;
  }
  return let("F_rerun", sum / scope.input("s", static_cast<double>(job.sequence), "job: sequence length"), "korthikanti2022");
}

#define NAPKIN_INSTANTIATE(K)                                                                                 \
  template FlopsT<K> rerun_flops_per_token(Scope<K>, const Job&, const LayerKey&, FlopConvention);            \
  template PassCost<K> operator+(const PassCost<K>&, const PassCost<K>&);                                     \
  template PassCost<K> operator*(double, const PassCost<K>&);                                                 \
  template LayerCost<K> layer_cost(Scope<K>, const Job&, const LayerKey&, const LayerKind&);                  \
  template void layer_cost(Scope<K>, const Job&, std::span<const LayerKey>, const LayerKind&, Prices<K>&,     \
                           std::span<LayerCost<K>>);                                                          \
  template LayerCost<K> embedding_cost(Scope<K>, const Job&, const LayerKey&, Prices<K>&);                    \
  template LayerCost<K> head_cost(Scope<K>, const Job&, const LayerKey&, Prices<K>&);
NAPKIN_INSTANTIATE(Plain)
NAPKIN_INSTANTIATE(Traced)
#undef NAPKIN_INSTANTIATE

}  // namespace napkin
