// RunRequest → Run: what follows from the rest is inferred and listed, what contradicts is refused.
#include <fmt/format.h>

#include <algorithm>

#include "hardware/hardware_input.hpp"
#include "model/collective/slice.hpp"
#include "model/frameworks/profile_input.hpp"
#include "model/search/rules.hpp"
#include "model/step/data_parallel.hpp"
#include "model/step/precision.hpp"
#include "model/run/run_input.hpp"
#include "model/run/spread_input.hpp"
#include "model/pipeline/schedule.hpp"
#include "model/pipeline/split.hpp"
#include "model/pipeline/stack_flops.hpp"
#include "model/step/split.hpp"

namespace napkin {
namespace {

class Resolver {
 public:
  explicit Resolver(const RunRequest& request) : r_(request) {}

  Run run(bool with_layout) {
    run_.id = r_.id;
    if (!r_.model) throw InputError(r_.place("model") + ": is missing; write a model name, a size such as 100B, or a shape");
    run_.model = r_.model;
    refuse_unmodelled();
    run_.assumptions = run_.model->assumptions;
    set_hardware();
    set_profile();
    set_job(with_layout);
    set_slice();
    set_spread();
    if (with_layout) set_layout();
    return std::move(run_);
  }

 private:
  [[noreturn]] void fail(std::string_view field, const std::string& message) const {
    throw InputError(r_.place(field) + ": " + message);
  }
  void assume(std::string text) { run_.assumptions.push_back(std::move(text)); }
  template <class T>
  const T& required(const std::optional<T>& v, std::string_view field, std::string_view what) const {
    if (!v) fail(field, fmt::format("is missing; write {}", what));
    return *v;
  }
  template <class T>
  T otherwise(const std::optional<T>& v, T fallback, std::string_view field, std::string_view why) {
    if (v) return *v;
    assume(fmt::format("{} = {} ({})", field, fallback, why));
    return fallback;
  }

  // Mixers that parameters are counted for but no operator is priced for.
  void refuse_unmodelled() const {
    for (const LayerKind& k : run_.model->kinds) {
      if (k.attention && k.attention->indexer_heads > 0)
        fail("model", run_.model->name + " picks its keys with a sparse-attention indexer, which the step does not model; `napkin params` counts it");
      if (k.mamba && k.mamba->heads == 0)
        fail("model", run_.model->name + " has Mamba-1 layers, whose scan the step does not model (Mamba-2 is); `napkin params` counts them");
    }
  }

  // Looks a name up; a name that is not known is an error of the field that gave it, a bad file is its own.
  template <class Look>
  auto named(std::string_view field, Look look) const {
    try {
      return look();
    } catch (const InputError& e) {
      const std::string message = e.what();
      if (message.starts_with(std::string(field) + " \"") || message.starts_with('"')) throw InputError(r_.place(field) + ": " + message);
      throw;
    }
  }

  void set_profile() {
    const std::string name = otherwise(r_.framework, std::string("reference"), "framework", "textbook byte policy, 16 B/param");
    const auto precision = precision_named(r_.precision.value_or("bf16"));
    const Network& network = run_.hardware->network;
    const bool rack = !network.tiers.empty() && network.tiers[0].topology == Tier::Topology::switched && network.tiers[0].size > network.node_size;
    const Situation situation{.moe = has_experts(*run_.model), .quantised = precision && precision->cast_bytes > 0,
                              .generation = run_.hardware->accelerator.generation + (rack ? ", rack" : "")};
    Profile p = named("framework", [&] {
      const int year = r_.year.value_or(0);
      return r_.library ? *r_.library->profile(name, year, situation) : read_profile(name, year, r_.edits, situation);
    });
    if (r_.learned_routing && situation.moe) {
      if (*r_.learned_routing) p.expert_imbalance = p.learned_imbalance;
      else p.expert_imbalance = {.value = 1.0, .place = "record#/routing", .source = nullptr};
    } else if (situation.moe && p.expert_imbalance.value <= 1) {
      assume("routing = balanced (as benchmarks force it; a router that learns: routing learned)");
    }
    const auto override_with = [&](const std::optional<double>& v, Constant<Scalar>& into) {
      if (!v) return;
      into = {.value = *v, .place = "record#/bytes_per_param", .source = nullptr};
    };
    override_with(r_.param_bytes, p.bytes.parameter);
    override_with(r_.grad_bytes, p.bytes.gradient);
    override_with(r_.master_bytes, p.bytes.master);
    override_with(r_.moments_bytes, p.bytes.moments);
    if (r_.param_bytes) override_with(r_.compute_copy_bytes.value_or(0), p.bytes.compute_copy);
    if (r_.grad_bytes && p.bytes.bucket.value > 0) override_with(r_.grad_bytes, p.bytes.bucket);
    if (r_.grad_accumulation_fp32 && !r_.grad_bytes) {
      const Constant<Scalar> width{.value = *r_.grad_accumulation_fp32 ? 4.0 : 2.0,
                                   .place = "record#/grad_accumulation_fp32",
                                   .source = nullptr};
      // Where the accumulation buffer itself is reduced, the wire has its width.
      if (p.data_parallel.gradient_bytes.value == p.bytes.gradient.value) p.data_parallel.gradient_bytes = width;
      p.bytes.gradient = width;
    }
    if (r_.deterministic.value_or(false)) {
      // The profile's "deterministic KERNEL" is what replaces a kernel; where a machine's own sums in order it says so.
      const auto known = p.attention;
      for (auto& [generation, kernel] : p.attention) {
        auto other = known.find("deterministic " + kernel + " " + generation);
        if (other == known.end()) other = known.find("deterministic " + kernel);
        if (other != known.end()) kernel = other->second;
      }
    }
    if (p.newest) assume(fmt::format("year: the newest release of {}", p.name));
    run_.profile = std::make_shared<const Profile>(std::move(p));
  }

  void set_hardware() {
    const std::string& name = required(r_.hardware, "hardware", "a name from `napkin hw list` or a file");
    Hardware h = named("hardware", [&] { return r_.library ? *r_.library->hardware(name) : read_hardware(name, r_.edits); });
    if (r_.gpus_per_node && *r_.gpus_per_node != h.network.node_size) {
      // A smaller node cuts the scale-up domain with it, unless the domain spans nodes (a rack).
      for (Tier& t : h.network.tiers)
        if (t.size == h.network.node_size) t.size = *r_.gpus_per_node;
      assume(fmt::format("gpus_per_node = {} instead of {}", *r_.gpus_per_node, h.network.node_size));
      h.network.node_size = static_cast<int>(*r_.gpus_per_node);
    }
    run_.hardware = std::make_shared<const Hardware>(std::move(h));
  }

  void set_precision(Job& job) {
    const std::string name = otherwise(r_.precision, std::string("bf16"), "precision", "the usual one");
    const auto precision = precision_named(name);
    if (!precision) {
      std::string list;
      for (const auto n : precision_names()) list += (list.empty() ? "" : ", ") + std::string(n);
      fail("precision", fmt::format("\"{}\" is not known; write one of {}", name, list));
    }
    for (const Format f : {precision->base, precision->gemm})
      if (!run_.hardware->accelerator.peak[static_cast<std::size_t>(f)])
        fail("precision", fmt::format("{} needs {} arithmetic, which {} does not have", name, to_string(f),
                                      run_.hardware->accelerator.name));
    job.precision = *precision;
  }

  void set_job(bool with_layout) {
    Job& job = run_.job;
    job.model = run_.model.get();
    job.hardware = run_.hardware.get();
    job.profile = run_.profile.get();
    job.measured = r_.network;
    if (r_.release) job.release = *r_.release;
    else if (r_.year.value_or(0) > 0) job.release = 12 * *r_.year + 11;
    set_precision(job);
    run_.convention = r_.convention.value_or(FlopConvention::full_attention);
    set_adapters(job);
    const Architecture& a = *run_.model;
    const std::int64_t usual = a.context > 0 ? std::min<std::int64_t>(4096, a.context) : 4096;
    job.sequence = otherwise(r_.sequence, a.position == Position::learned && a.learned_positions > 0
                                              ? std::min(usual, a.learned_positions)
                                              : usual,
                             "seq_len", "not given");
    if (a.position == Position::learned && a.learned_positions > 0 && job.sequence > a.learned_positions)
      fail("seq_len", fmt::format("{} tokens, but {} has {} learned positions; write at most {}", job.sequence, a.name,
                                  a.learned_positions, a.learned_positions));
    if (r_.batch && r_.batch->tokens > 0) {
      if (r_.batch->tokens % job.sequence != 0)
        fail("batch", fmt::format("{} tokens are not whole sequences of {}; write {} or {}-tokens", r_.batch->tokens,
                                  job.sequence, (r_.batch->tokens + job.sequence - 1) / job.sequence,
                                  (r_.batch->tokens + job.sequence - 1) / job.sequence * job.sequence));
      job.batch = r_.batch->tokens / job.sequence;
      assume(fmt::format("batch = {} tokens = {} sequences of {}", r_.batch->tokens, job.batch, job.sequence));
    } else if (r_.batch) {
      job.batch = r_.batch->sequences;
    } else {
      const std::int64_t tokens = std::int64_t{4} << 20;
      job.batch = std::max<std::int64_t>(1, tokens / job.sequence);
      assume(fmt::format("batch = {} sequences = {} tokens (not given)", job.batch, job.batch * job.sequence));
    }
    if (with_layout && !r_.gpus) {
      if (!r_.dp) fail("gpus", "is missing; write the number of accelerators (or dp in the layout)");
      job.gpus = *r_.dp * r_.tp.value_or(1) * r_.cp.value_or(1) * r_.pp.value_or(1);
      assume(fmt::format("gpus = tp·cp·pp·dp = {}", job.gpus));
    } else {
      job.gpus = required(r_.gpus, "gpus", "the number of accelerators");
    }
  }

  void set_adapters(Job& job) {
    const std::string task = r_.task.value_or("pretrain");
    if (task != "lora" && task != "qlora") {
      if (r_.adapter_rank || r_.adapter_targets != 0)
        fail("lora", fmt::format("adapters are given, but the task is \"{}\"; write task lora or qlora", task));
      return;
    }
    Adapters& a = job.adapters;
    a.rank = otherwise(r_.adapter_rank, 16, "lora rank", "the usual one");
    a.targets = r_.adapter_targets;
    if (a.targets == 0) {
      a.targets = adapter_qkv | adapter_out;
      assume("lora targets = qkv, o (hu2022lora: the attention weights)");
    }
    // Weights that never change are kept in the format they are multiplied in.
    a.frozen_bytes = std::min(job.profile->bytes.parameter.value.si(), job.precision.base_bytes);
    if (job.precision.cast_bytes > 0 && job.profile->low_precision.weights_once_a_step) a.frozen_bytes = job.precision.gemm_bytes;
    if (task == "qlora") {
      // NF4: 4 bits, an 8-bit scale per 64 and an fp32 per 256 scales (dettmers2023qlora §3).
      a.frozen_bytes = 0.5 + 1.0 / 64 + 4.0 / (64 * 256);
      a.quantised = true;
    }
  }

  // On a torus the job gets a slice of the pod; groups lie on that, not on the whole of it.
  void set_slice() {
    Hardware h = *run_.hardware;
    h.network = slice_for(h.network, run_.job.gpus);
    run_.hardware = std::make_shared<const Hardware>(std::move(h));
    run_.job.hardware = run_.hardware.get();
  }

  void set_spread() {
    const Job& job = run_.job;
    run_.spread = find_spread({run_.profile->name, run_.hardware->accelerator.name, job.precision.name, std::string(workload_kind(job))});
    run_.job.spread = run_.spread.get();
  }

  void set_layout() {
    Layout& l = run_.layout;
    const Job& job = run_.job;
    const bool moe = has_experts(*job.model);
    l.tp = r_.tp.value_or(1);
    l.cp = r_.cp.value_or(1);
    l.pp = r_.pp.value_or(1);
    l.vpp = r_.vpp.value_or(1);
    l.ep = r_.ep.value_or(1);
    l.etp = moe ? r_.etp.value_or(1) : 1;
    // Experts follow TP where the framework does so and the ranks divide; those narrower than the model are left whole, as
    // every recipe for fine-grained experts asks.
    const std::int64_t ranks = static_cast<std::int64_t>(l.ep) * l.tp * l.pp;
    const bool wide = std::all_of(job.model->kinds.begin(), job.model->kinds.end(), [&](const LayerKind& k) {
      return !k.ffn.moe || k.ffn.moe->ffn >= job.model->hidden;
    });
    if (moe && !r_.etp && run_.profile->expert_tensor_parallel && wide && l.tp > 1 && job.gpus % ranks == 0) {
      l.etp = l.tp;
      assume(fmt::format("etp = tp = {} (as the framework does)", l.etp));
    }
    if (!moe && (l.ep > 1 || r_.etp.value_or(1) > 1))
      fail(l.ep > 1 ? "ep" : "etp", fmt::format("is {}, but {} has no experts; write 1", std::max(l.ep, r_.etp.value_or(1)),
                                               job.model->name));
    const std::int64_t per_replica = static_cast<std::int64_t>(l.tp) * l.cp * l.pp;
    if (r_.dp) {
      l.dp = *r_.dp;
      if (l.dp * per_replica != job.gpus)
        fail("gpus", fmt::format("{} GPUs, but tp {} × cp {} × pp {} × dp {} = {}; write {} GPUs{}", job.gpus, l.tp, l.cp,
                                 l.pp, l.dp, l.dp * per_replica, l.dp * per_replica,
                                 job.gpus % per_replica == 0 ? fmt::format(", or dp {}", job.gpus / per_replica) : ""));
    } else {
      if (job.gpus % per_replica != 0)
        fail("gpus", fmt::format("{} GPUs do not divide by tp {} × cp {} × pp {} = {}; write a multiple of {}", job.gpus,
                                 l.tp, l.cp, l.pp, per_replica, per_replica));
      l.dp = job.gpus / per_replica;
      assume(fmt::format("dp = {} (GPUs / (tp·cp·pp))", l.dp));
    }
    if (l.tp == 1 && r_.sp.value_or(false)) assume("sp = off (there is no tensor parallelism to share the sequence)");
    l.sp = l.tp > 1 && (r_.sp ? *r_.sp
                              : otherwise(r_.sp, run_.profile->sequence_parallel, "sp", "as the framework does with tp"));
    l.zero = r_.zero ? *r_.zero : otherwise(r_.zero, run_.profile->default_zero, "zero", "as the framework does");
    if (l.dp * l.cp == 1 && l.zero > 0) {
      assume(fmt::format("zero = 0 instead of {} (one replica, nothing to shard over)", l.zero));
      l.zero = 0;
    }
    l.zero_group = r_.zero_group.value_or(0);
    if (l.zero_group > 0 && l.zero == 0) fail("zero_group", fmt::format("is {}, but zero is 0: nothing is sharded; write zero 1, 2 or 3", l.zero_group));
    if (l.zero_group > l.dp * l.cp) assume(fmt::format("zero_group = dp·cp = {} instead of {}", l.dp * l.cp, l.zero_group));
    l.zero_group = std::min(l.zero_group, l.dp * l.cp);
    if (l.zero_group > 0 && l.dp * l.cp % l.zero_group != 0)
      fail("zero_group", fmt::format("is {}, which does not divide dp·cp = {}", l.zero_group, l.dp * l.cp));
    if (l.zero > 0 && l.zero_group == 0)
      if (const auto n = shard_ranks(job, l, l.dp * l.cp, l.tp); n < l.dp * l.cp)
        assume(fmt::format("zero_group = {} (as the framework does)", n));
    l.micro_batch = r_.micro_batch ? *r_.micro_batch : otherwise(r_.micro_batch, 1, "micro_batch", "not given");
    l.recompute = r_.recompute.value_or(Recompute::none);
    if (!r_.recompute) assume("recompute = none (not given)");
    if (r_.recompute_modules != 0) l.modules = r_.recompute_modules;
    set_choices();
    set_schedule();
    check_layout();
  }

  // What a layout chooses for itself of the framework's software.
  void set_choices() {
    Layout& l = run_.layout;
    l.recomputed_layers = r_.recomputed_layers.value_or(0);
    if (l.recomputed_layers > 0 && l.recompute != Recompute::full)
      fail("recompute_layers", fmt::format("is {}, but recompute is {}; write recompute full", l.recomputed_layers, to_string(l.recompute)));
    l.offloaded_layers = r_.offloaded_layers.value_or(0);
    l.optimizer_offload = r_.optimizer_offload.value_or(false);
    const bool host = run_.hardware->accelerator.host_bandwidth.value > BytesPerSecond{};
    if (l.offloaded_layers > 0 && !host)
      fail("activation_offload_layers", fmt::format("is {}, but {} gives no host bandwidth", l.offloaded_layers, run_.hardware->accelerator.name));
    if (l.optimizer_offload && !host)
      fail("optimizer_offload", fmt::format("is on, but {} gives no host bandwidth", run_.hardware->accelerator.name));
    l.exchange = r_.exchange;
    l.split = r_.split;
    l.order = r_.order;
    l.exposed = r_.exposed;
  }

  void set_schedule() {
    Layout& l = run_.layout;
    const auto named = r_.schedule && *r_.schedule != "none" ? schedule_named(*r_.schedule) : std::nullopt;
    l.schedule = named.value_or(l.vpp > 1 ? Schedule::interleaved : Schedule::one_f_one_b);
    // "1f1b" with several chunks a rank is the interleaved schedule under its family name, and the other way round.
    if (l.vpp > 1 && l.schedule == Schedule::one_f_one_b) {
      l.schedule = Schedule::interleaved;
      assume("schedule = interleaved (1f1b over several chunks)");
    }
    if (l.vpp == 1 && l.schedule == Schedule::interleaved) {
      l.schedule = Schedule::one_f_one_b;
      if (l.pp > 1) assume("schedule = 1f1b (interleaved with vpp 1)");
    }
    if (l.pp == 1) return;
    // vpp counts the stages of a rank that one micro-batch crosses.
    try {
      const int held = placement_of(l.schedule, l.pp, l.vpp).depth / l.pp;
      if (l.schedule == Schedule::dualpipe) assume("a rank holds two stages, one for each direction: twice the parameters");
      if (held != l.vpp && l.vpp == 1) assume(fmt::format("vpp = {} ({} holds as many chunks)", held, to_string(l.schedule)));
      l.vpp = held;
      check_shape(l.schedule, {.ranks = l.pp, .micro_batches = std::max<std::int64_t>(1, micro_batches(run_.job, l)), .chunks = l.vpp});
    } catch (const InputError& e) {
      fail("schedule", e.what());
    }
  }

  void check_layout() {
    const Layout& l = run_.layout;
    const Job& job = run_.job;
    if (const Rule* rule = broken_rule(job, l)) fail(field_of(*rule), explain_broken(*rule, job, l));
    const int chunks = l.pp * l.vpp;
    const int stages = placement_of(l.schedule, l.pp, l.vpp).depth;
    if (is_balanced(*job.model, stages, split_rule(job, l))) {
      const Split split = best_split(stack_flops(*job.model, job.sequence), stages);
      assume(fmt::format("layers balanced over {} chunks by FLOPs: {} (E embedding, t layer, m MTP, L head)", stages,
                         layout_string(split)));
    } else if (static_cast<int>(job.model->depth()) % chunks != 0) {
      const std::vector<int> depth = even_depths(static_cast<std::int64_t>(job.model->depth()), chunks);
      const auto [least, most] = std::minmax_element(depth.begin(), depth.end());
      assume(fmt::format("{} layers over {} chunks unevenly: {} to {} each, the ends first to hold fewer", job.model->depth(),
                         chunks, *least, *most));
    }
  }
  // The field a broken rule is about, by its name in a record.
  [[nodiscard]] std::string_view field_of(const Rule& rule) const {
    if (rule.needs == LayoutAxis::micro_batch) return "micro_batch";
    if (rule.needs == LayoutAxis::vpp && run_.layout.vpp == 1) return "pp";
    return axis_names[static_cast<std::size_t>(rule.needs)];
  }

  const RunRequest& r_;
  Run run_;
};

}  // namespace

bool task_known(std::string_view name) {
  return name == "pretrain" || name == "sft" || name == "lora" || name == "qlora";
}

std::optional<std::uint8_t> adapter_target(std::string_view name) {
  if (name == "qkv") return adapter_qkv;
  if (name == "o" || name == "out") return adapter_out;
  if (name == "gate_up" || name == "up") return adapter_gate_up;
  if (name == "down") return adapter_down;
  return {};
}

bool states_a_layout(const RunRequest& r) {
  return r.tp || r.cp || r.ep || r.etp || r.pp || r.vpp || r.dp || r.zero || r.zero_group || r.sp || r.recompute || r.schedule ||
         r.recomputed_layers || r.offloaded_layers || r.optimizer_offload || r.recompute_modules != 0 ||
         r.exchange != ExchangeChoice::usual || r.split != SplitChoice::usual || r.order != RankOrder::replicas_inside ||
         r.exposed != 0;
}

Run resolve(const RunRequest& request, bool with_layout) { return Resolver(request).run(with_layout); }

}  // namespace napkin
