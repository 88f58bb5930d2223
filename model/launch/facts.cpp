#include "model/launch/facts.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "model/pipeline/schedule.hpp"
#include "model/pipeline/split.hpp"
#include "model/step/data_parallel.hpp"
#include "model/step/split.hpp"

namespace napkin::launch {
namespace {

const std::vector<FactInfo>& table() {
  static const std::vector<FactInfo> all{
      {"model_name", Role::derived, {}, "name of a preset"},
      // The model.
      {"stack", Role::shape, "uniform", "arrangement of the layers"},
      {"layers", Role::shape, {}, "layers"},
      {"hidden", Role::shape, {}, "hidden width"},
      {"vocab", Role::shape, {}, "vocabulary"},
      {"heads", Role::shape, {}, "attention heads"},
      {"kv_heads", Role::shape, {}, "key-value heads"},
      {"grouped", Role::derived, false, "fewer key-value heads than heads"},
      {"head_dim", Role::shape, {}, "head dimension"},
      {"free_head_dim", Role::shape, false, "head dimension other than hidden / heads"},
      {"ffn", Role::shape, {}, "feed-forward width"},
      {"mlp", Role::shape, "gated-silu", "feed-forward activation"},
      {"norm", Role::shape, "rmsnorm", "normalisation"},
      {"position", Role::shape, "rope", "position encoding"},
      {"context", Role::derived, {}, "longest sequence the position encoding is made for"},
      {"tied", Role::shape, false, "tied embeddings"},
      {"bias", Role::shape, "none", "bias of the linears"},
      {"qk_norm", Role::shape, "none", "normalisation of queries and keys"},
      {"window", Role::shape, 0, "sliding window"},
      {"window_every", Role::shape, 0, "one full layer in so many"},
      {"window_span", Role::derived, {}, "tokens a window reaches back and ahead of itself"},
      {"chunk", Role::shape, 0, "chunked attention"},
      {"sinks", Role::shape, false, "attention sinks"},
      {"output_gate", Role::shape, false, "gated attention output"},
      {"v_head_dim", Role::shape, {}, "head dimension of values"},
      {"free_v_head_dim", Role::shape, false, "values of another head dimension than keys"},
      {"mla", Role::shape, false, "multi-head latent attention"},
      {"q_lora_rank", Role::shape, 0, "rank of compressed queries"},
      {"kv_lora_rank", Role::shape, 0, "rank of compressed keys and values"},
      {"rope_head_dim", Role::shape, 0, "rotary part of a head"},
      {"norms_per_layer", Role::shape, 2, "norms in a layer"},
      {"parallel_ffn", Role::shape, false, "attention and feed-forward side by side"},
      {"final_norm", Role::shape, true, "norm before the head"},
      {"embedding_norm", Role::shape, false, "norm after the embedding"},
      {"embedding_width", Role::shape, 0, "embedding of another width"},
      {"head_bias", Role::shape, false, "bias of the head"},
      {"dropout", Role::shape, false, "dropout"},
      {"experts", Role::shape, 0, "experts"},
      {"top_k", Role::shape, 0, "experts a token is routed to"},
      {"expert_ffn", Role::shape, 0, "width of an expert"},
      {"shared_ffn", Role::shape, 0, "width of the shared experts together"},
      {"shared_experts", Role::derived, 0, "shared experts"},
      {"shared_gate", Role::shape, false, "gate of the shared experts"},
      {"dense_layers", Role::shape, 0, "dense layers before the first one with experts"},
      {"moe_every", Role::shape, 1, "one layer with experts in so many"},
      {"moe_pattern", Role::derived, {}, "layers with experts, as a list of 0 and 1"},
      {"moe_layer_list", Role::derived, {}, "layers with experts, by number"},
      {"expert_latent", Role::shape, 0, "narrower width the experts work in"},
      {"router_bias", Role::shape, false, "bias of the router"},
      {"router_groups", Role::shape, 0, "groups of experts in node-limited routing"},
      {"router_group_limit", Role::shape, 0, "groups a token may be routed to"},
      {"capacity_factor", Role::shape, 0, "capacity of an expert over its share"},
      {"expert_bias", Role::shape, false, "bias of the experts"},
      {"beside_dense", Role::shape, false, "dense feed-forward beside the experts"},
      {"mtp_layers", Role::shape, 0, "multi-token-prediction modules"},
      {"decoder_style", Role::derived, {}, "usual mixture of normalisation, positions, biases and experts"},
      {"pattern", Role::shape, {}, "mixers and feed-forwards by layer"},
      {"mamba_heads", Role::shape, 0, "Mamba heads"},
      {"mamba_head_dim", Role::shape, 0, "Mamba head dimension"},
      {"mamba_state", Role::shape, 0, "Mamba state"},
      {"mamba_groups", Role::shape, 0, "Mamba groups"},
      // The job.
      {"gpus", Role::job, {}, "accelerators"},
      {"gpus_per_node", Role::derived, {}, "accelerators in a node"},
      {"nodes", Role::derived, {}, "nodes"},
      {"sequence", Role::job, {}, "sequence length"},
      {"global_batch", Role::job, {}, "global batch"},
      {"micro_batch", Role::job, {}, "micro-batch"},
      {"micro_batches", Role::derived, {}, "micro-batches of a rank in a step"},
      {"rank_batch", Role::derived, {}, "sequences of a data-parallel rank in a step"},
      {"micro_batch_tokens", Role::derived, {}, "tokens of a micro-batch"},
      {"batch_tokens", Role::derived, {}, "tokens of a step"},
      {"device_batch", Role::derived, {}, "sequences of a micro-batch over all ranks, for each accelerator"},
      {"precision", Role::job, "bf16", "number formats"},
      {"grad_fp32", Role::tuning, true, "gradients accumulated in fp32"},
      {"task", Role::job, "pretrain", "task"},
      {"lora_rank", Role::job, 0, "rank of the adapters"},
      {"offload_layers", Role::job, 0, "layers whose activations wait in host memory"},
      // The layout.
      {"tp", Role::layout, 1, "tensor parallelism"},
      {"sp", Role::layout, false, "sequence parallelism"},
      {"cp", Role::layout, 1, "context parallelism"},
      {"ep", Role::layout, 1, "expert parallelism"},
      {"etp", Role::layout, 1, "tensor parallelism of experts"},
      {"pp", Role::layout, 1, "pipeline parallelism"},
      {"vpp", Role::layout, 1, "chunks a pipeline rank"},
      {"dp", Role::derived, 1, "data parallelism"},
      {"schedule", Role::layout, "none", "pipeline schedule"},
      {"zero", Role::layout, 0, "ZeRO stage"},
      {"replicas", Role::layout, 1, "copies of the sharded states"},
      {"shard_ranks", Role::derived, 1, "ranks a state is sharded over"},
      {"shard_degree", Role::derived, 1, "data-parallel ranks a state is sharded over"},
      {"replicate_degree", Role::derived, 1, "data-parallel ranks that hold copies"},
      {"recompute", Role::layout, "none", "recomputation"},
      {"recompute_layers", Role::layout, 0, "recomputed layers of a chunk"},
      {"recompute_flavour", Role::derived, {}, "recomputation, and whether of all layers"},
      {"optimizer_offload", Role::layout, false, "optimizer states in host memory"},
      {"cp_chosen", Role::layout, false, "an exchange of keys and values that is not the framework's usual one"},
      {"exposed_tp", Role::layout, false, "tensor-parallel communication left exposed"},
      {"exposed_dp", Role::layout, false, "data-parallel communication left exposed"},
      {"order", Role::layout, "tp-cp-dp-pp", "order of the ranks"},
      {"recompute_modules", Role::layout, std::vector<Value>{}, "recomputed modules"},
      {"even_split", Role::layout, true, "the same layers on every stage"},
      {"split", Role::derived, {}, "layers by stage"},
      {"stage_layers", Role::derived, {}, "layers of each stage"},
      {"layers_per_stage", Role::derived, {}, "layers of a stage"},
      {"module_parts", Role::derived, {}, "modules of each stage"},
      // The mesh of JAX: every axis within a slice (ici) and over slices (dcn).
      {"slice_ranks", Role::derived, {}, "accelerators of a slice"},
      {"slices", Role::derived, {}, "slices"},
      {"ici_data", Role::derived, 1, "data axis within a slice"},
      {"dcn_data", Role::derived, 1, "data axis over slices"},
      {"ici_fsdp", Role::derived, 1, "fsdp axis within a slice"},
      {"dcn_fsdp", Role::derived, 1, "fsdp axis over slices"},
      {"ici_pipeline", Role::derived, 1, "stage axis within a slice"},
      {"dcn_pipeline", Role::derived, 1, "stage axis over slices"},
      {"ici_expert", Role::derived, 1, "expert axis within a slice"},
      {"dcn_expert", Role::derived, 1, "expert axis over slices"},
      {"ici_context", Role::derived, 1, "context axis within a slice"},
      {"dcn_context", Role::derived, 1, "context axis over slices"},
      {"ici_tensor", Role::derived, 1, "tensor axis within a slice"},
      {"dcn_tensor", Role::derived, 1, "tensor axis over slices"},
      // What the prediction supposes of the software.
      {"cp_exchange", Role::tuning, {}, "how context parallelism exchanges keys and values"},
      {"expert_exchange", Role::tuning, {}, "how tokens reach their experts"},
      {"overlap_gradient", Role::tuning, false, "gradients reduced behind the backward pass"},
      {"overlap_gather", Role::tuning, false, "parameters gathered behind the forward pass"},
      {"overlap_tp", Role::tuning, false, "tensor-parallel communication behind its product"},
      {"overlap_ep", Role::tuning, false, "expert exchange behind another chunk's passes"},
      {"vocab_multiple", Role::tuning, {}, "vocabulary padded to a multiple of this and tp"},
  };
  return all;
}

void add_recomputation(const Run& run, Facts& f) {
  const Layout& l = run.layout;
  f.set("recompute", to_string(l.recompute));
  const bool some = l.recompute == Recompute::full && l.recomputed_layers > 0;
  if (some) f.set("recompute_layers", l.recomputed_layers);
  f.set("recompute_flavour", some ? std::string_view("some") : to_string(l.recompute));
  if (l.recompute != Recompute::selective) return;
  std::uint8_t left = l.modules != 0 ? l.modules : run.profile->recompute.selective;
  std::vector<Value> names;
  for (const auto& [name, bit] : recompute_module_names)
    if ((left & bit) != 0) {
      names.emplace_back(name);
      left = static_cast<std::uint8_t>(left & ~bit);
    }
  f.set("recompute_modules", std::move(names));
}

// Layers by stage: as Megatron's layout string, as counts, and as the modules TorchTitan names.
void add_split(const Run& run, Facts& f) {
  const Layout& l = run.layout;
  if (l.pp == 1) return;
  const int stages = placement_of(l.schedule, l.pp, l.vpp).depth;
  Split split;
  std::vector<Value> counts, parts;
  int layer = 0;
  for (const StageContent& s : stage_contents(*run.model, stages, split_rule(run.job, l), run.job.sequence)) {
    split.stages.push_back({.embedding = s.embedding, .head = s.head, .layers = s.depth(), .mtp_modules = s.mtp});
    counts.emplace_back(s.depth());
    std::vector<Value> modules;
    if (s.embedding) modules.emplace_back("tok_embeddings");
    for (int i = 0; i < s.depth(); ++i) modules.emplace_back("layers." + std::to_string(layer++));
    if (s.head) {
      modules.emplace_back("norm");
      modules.emplace_back("output");
    }
    parts.emplace_back(std::move(modules));
  }
  const int first = split.stages.front().layers;
  const bool even = std::all_of(split.stages.begin(), split.stages.end(), [&](const StageShare& s) { return s.layers == first; }) &&
                    split.stages.back().head && split.stages.back().mtp_modules == run.model->mtp_layers;
  f.set("even_split", even);
  if (even) f.set("layers_per_stage", first);
  f.set("split", layout_string(split));
  f.set("stage_layers", std::move(counts));
  f.set("module_parts", std::move(parts));
}

// Axes fill a slice from the innermost outwards, as ranks are placed; what is left of a degree goes over slices. Experts
// have an axis of their own, taken out of the data-parallel ranks.
void add_mesh(const Run& run, Facts& f) {
  const Layout& l = run.layout;
  const Network& net = run.hardware->network;
  std::int64_t slice = net.node_size;
  if (!net.tiers.empty() && net.tiers.front().topology == Tier::Topology::torus) slice = net.tiers.front().size;
  slice = std::clamp<std::int64_t>(slice, 1, run.job.gpus);
  if (run.job.gpus % slice != 0 || l.dp % l.ep != 0) return;
  f.set("slice_ranks", slice);
  f.set("slices", run.job.gpus / slice);
  const bool sharded = l.zero == 3;
  const std::int64_t shard = sharded ? f.whole("shard_degree") : 1, replicas = sharded ? f.whole("replicate_degree") : l.dp;
  const bool experts_of_shards = shard % l.ep == 0;
  std::int64_t left = slice;
  const auto axis = [&](const std::string& name, std::int64_t degree) {
    const std::int64_t inside = std::gcd(left, degree);
    left /= inside;
    f.set("ici_" + name, inside);
    f.set("dcn_" + name, degree / inside);
  };
  axis("tensor", l.tp);
  axis("context", l.cp);
  axis("expert", l.ep);
  axis("fsdp", experts_of_shards ? shard / l.ep : shard);
  axis("data", experts_of_shards ? replicas : replicas / l.ep);
  axis("pipeline", l.pp);
}

void add_tuning(const Run& run, Facts& f) {
  const Layout& l = run.layout;
  const Profile& p = *run.profile;
  if (l.cp > 1) f.set("cp_exchange", context_exchange_names[static_cast<std::size_t>(context_exchange(run.job, l))]);
  if (f.has("experts")) f.set("expert_exchange", expert_exchange_names[static_cast<std::size_t>(p.expert_exchange)]);
  f.set("cp_chosen", l.cp > 1 && context_exchange(run.job, l) != p.context_exchange);
  f.set("exposed_tp", l.tp > 1 && l.sp && p.overlap.tensor_parallel.value > 0 && (l.exposed & exposed_tensor_parallel) != 0);
  f.set("exposed_dp", l.dp * l.cp > 1 && p.data_parallel.overlap_gradient && (l.exposed & exposed_data_parallel) != 0);
  const bool replicas = l.dp * l.cp > 1 && (l.exposed & exposed_data_parallel) == 0;
  f.set("overlap_gradient", replicas && p.data_parallel.overlap_gradient);
  f.set("overlap_gather", replicas && l.zero > 0 && p.data_parallel.overlap_gather);
  f.set("overlap_tp", l.tp > 1 && l.sp && (l.exposed & exposed_tensor_parallel) == 0 && p.overlap.tensor_parallel.value > 0);
  f.set("overlap_ep", l.ep > 1 && l.vpp > 1 && p.overlap.expert_parallel_chunks.value > 0);
  f.set("vocab_multiple", static_cast<std::int64_t>(p.vocab_multiple));
}

}  // namespace

std::span<const FactInfo> fact_infos() { return table(); }
const FactInfo* fact_info(std::string_view name) {
  const auto at = std::find_if(table().begin(), table().end(), [&](const FactInfo& i) { return i.name == name; });
  return at == table().end() ? nullptr : &*at;
}

void Facts::erase(std::string_view name) {
  if (const auto at = values_.find(name); at != values_.end()) values_.erase(at);
}
const Value& Facts::get(std::string_view name) const {
  static const Value nothing;
  if (const auto at = values_.find(name); at != values_.end()) return at->second;
  const FactInfo* info = fact_info(name);
  return info == nullptr ? nothing : info->neutral;
}

Facts facts_of(const Run& run) {
  Facts f;
  const Layout& l = run.layout;
  const Job& j = run.job;
  add_model_facts(*run.model, f);
  if (run.model->origin.starts_with("preset ")) f.set("model_name", run.model->name);
  f.set("context", std::max({run.model->context, run.model->learned_positions, j.sequence}));
  f.set("gpus", j.gpus);
  const std::int64_t node = std::min<std::int64_t>(j.gpus, std::max(1, run.hardware->network.node_size));
  if (j.gpus % node == 0) {
    f.set("gpus_per_node", node);
    f.set("nodes", j.gpus / node);
  }
  f.set("sequence", j.sequence);
  f.set("global_batch", j.batch);
  f.set("micro_batch", l.micro_batch);
  const std::int64_t m = micro_batches(j, l);
  f.set("micro_batches", m);
  f.set("rank_batch", m * l.micro_batch);
  f.set("micro_batch_tokens", l.micro_batch * j.sequence);
  f.set("batch_tokens", j.batch * j.sequence);
  f.set("precision", j.precision.name);
  f.set("grad_fp32", run.profile->bytes.gradient.value >= 4);
  if (j.adapters.any()) {
    f.set("task", j.adapters.quantised ? "qlora" : "lora");
    f.set("lora_rank", j.adapters.rank);
  }
  f.set("offload_layers", l.offloaded_layers);
  f.set("optimizer_offload", l.optimizer_offload);
  f.set("order", rank_order_names[static_cast<std::size_t>(l.order)]);
  f.set("tp", l.tp);
  f.set("sp", l.sp);
  f.set("cp", l.cp);
  f.set("pp", l.pp);
  f.set("vpp", l.vpp);
  f.set("dp", l.dp);
  if (f.has("experts")) {
    f.set("ep", l.ep);
    f.set("etp", l.etp);
  }
  if (l.pp > 1) f.set("schedule", to_string(l.schedule));
  f.set("zero", l.zero);
  const std::int64_t ranks = l.dp * l.cp;
  const std::int64_t shard = l.zero == 0 ? 1 : state_shards(j, l).dense;
  if (l.zero > 0 && ranks % shard == 0) f.set("replicas", ranks / shard);
  f.set("shard_ranks", shard);
  // A state is sharded over cp first, then over data-parallel ranks.
  const std::int64_t degree = l.zero == 0 ? 1 : std::max<std::int64_t>(1, shard / l.cp);
  if (l.dp % degree == 0) {
    f.set("shard_degree", degree);
    f.set("replicate_degree", l.dp / degree);
  }
  // A pass of the whole mesh: the micro-batches of a pipeline are in flight together.
  const std::int64_t pass = l.pp > 1 ? j.batch : l.dp * l.micro_batch;
  if (pass % j.gpus == 0) f.set("device_batch", pass / j.gpus);
  else f.set("device_batch", static_cast<double>(pass) / static_cast<double>(j.gpus));
  add_recomputation(run, f);
  add_split(run, f);
  add_mesh(run, f);
  add_tuning(run, f);
  return f;
}

std::string filled(std::string_view text, const Facts& facts) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto close = text[i] == '{' ? text.find('}', i) : std::string_view::npos;
    const FactInfo* info = close == std::string_view::npos ? nullptr : fact_info(text.substr(i + 1, close - i - 1));
    if (info == nullptr) {
      out += text[i];
    } else {
      out += plain(facts.get(info->name));
      i = close;
    }
  }
  return out;
}

}  // namespace napkin::launch
