// One reader a framework. Formats as the programs print them; a member that a version does not print stays absent.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "hardware/hardware_input.hpp"
#include "model/validation/log_dialects.hpp"

namespace napkin::validation {
namespace {

using Json = nlohmann::ordered_json;
constexpr double mib_per_gib = 1024;

void largest(std::optional<double> v, double scale, double& into) {
  if (v) into = std::max(into, *v * scale);
}
// j[key] = the whole number called `name`, where there is one.
void put(const LogArguments& a, Json& j, const char* key, std::string_view name) {
  if (const auto v = a.whole(name)) j[key] = *v;
}
void put_text(Json& j, const char* key, const std::string& v) {
  if (!v.empty()) j[key] = v;
}

// "NVIDIA H100 80GB HBM3" → the longest run of its words that the catalog knows.
std::string catalog_hardware(std::string device) {
  for (const char* maker : {"NVIDIA ", "AMD "})
    if (device.find(maker) == 0) device.erase(0, std::string_view(maker).size());
  while (!device.empty()) {
    if (catalog_text(device)) return device;
    const auto space = device.rfind(' ');
    if (space == std::string::npos) break;
    device.resize(space);
  }
  return {};
}

// Megatron-LM's argument names → members of a run record.
Json dotted_record(const LogArguments& a) {
  Json r = Json::object();
  Json model, layout = Json::object();
  put(a, r, "gpus", "world_size");
  put(a, r, "seq_len", "seq_length");
  put(a, r, "global_batch", "global_batch_size");
  put(a, r, "micro_batch", "micro_batch_size");
  put(a, model, "layers", "num_layers");
  put(a, model, "hidden", "hidden_size");
  put(a, model, "heads", "num_attention_heads");
  put(a, model, a.flag("group_query_attention") ? "kv_heads" : "heads", a.flag("group_query_attention") ? "num_query_groups" : "num_attention_heads");
  put(a, model, "head_dim", "kv_channels");
  put(a, model, "ffn", "ffn_hidden_size");
  if (!model.empty()) {
    model["name"] = "log";
    model["gated"] = a.flag("swiglu");
    model["tied_embeddings"] = !a.flag("untie_embeddings_and_output_weights");
    put(a, model, "vocab", a.whole("padded_vocab_size") ? "padded_vocab_size" : "vocab_size");
    const std::string position = a.text("position_embedding_type"), norm = a.text("normalization");
    if (position == "rope" || position == "none") model["position"] = position;
    if (position == "learned_absolute") model["position"] = "learned";
    if (!norm.empty()) model["norm"] = norm == "RMSNorm" ? "rmsnorm" : "layernorm";
    if (!a.text("add_bias_linear").empty()) model["bias"] = a.flag("add_bias_linear");
    if (a.whole("num_experts")) {
      Json& moe = model["moe"];
      put(a, moe, "experts", "num_experts");
      put(a, moe, "top_k", "moe_router_topk");
      put(a, moe, "ffn", a.whole("moe_ffn_hidden_size") ? "moe_ffn_hidden_size" : "ffn_hidden_size");
      if (a.whole("moe_shared_expert_intermediate_size")) {
        moe["shared_experts"] = 1;
        put(a, moe, "shared_ffn", "moe_shared_expert_intermediate_size");
      }
    }
    r["model"] = model;
  }
  for (const auto& [key, name] : std::initializer_list<std::pair<const char*, const char*>>{
           {"tp", "tensor_model_parallel_size"}, {"cp", "context_parallel_size"}, {"ep", "expert_model_parallel_size"},
           {"etp", "expert_tensor_parallel_size"}, {"pp", "pipeline_model_parallel_size"},
           {"vpp", "virtual_pipeline_model_parallel_size"}, {"dp", "data_parallel_size"}})
    put(a, layout, key, name);
  if (!a.whole("num_experts")) layout.erase("etp");
  if (!a.text("sequence_parallel").empty()) layout["sp"] = a.flag("sequence_parallel");
  if (!a.text("use_distributed_optimizer").empty()) layout["zero"] = a.flag("use_distributed_optimizer") ? 1 : 0;
  if (a.flag("use_torch_fsdp2") || a.text("data_parallel_sharding_strategy") == "optim_grads_params") layout["zero"] = 3;
  if (!layout.empty()) r["layout"] = layout;
  const std::string fp8 = a.text("fp8"), recipe = a.text("fp8_recipe");
  if (!fp8.empty()) r["precision"] = recipe == "blockwise" ? "fp8-block" : recipe == "mxfp8" ? "mxfp8" : "fp8";
  else if (a.flag("bf16")) r["precision"] = "bf16";
  else if (a.flag("fp16")) r["precision"] = "fp16";
  if (!a.empty()) r["recompute"] = a.text("recompute_granularity").empty() ? "none" : a.text("recompute_granularity");
  if (!a.text("accumulate_allreduce_grads_in_fp32").empty()) r["grad_accumulation_fp32"] = a.flag("accumulate_allreduce_grads_in_fp32");
  return r;
}

// Step lines that several ranks print: true for the first of each step. `key` precedes the number of the step.
class Steps {
  std::string_view key_;
  double last_ = -1;

 public:
  explicit Steps(std::string_view key) : key_(key) {}
  bool first(const std::string& line) {
    const auto step = number_behind(line, key_);
    if (step && *step == last_) return false;
    if (step) last_ = *step;
    return true;
  }
};

// Megatron-LM: " name ........ value" and "iteration 10/ 100 | ... elapsed time per iteration (ms): 4120.5 | ...".
void read_dotted_iterations(const LogLines& lines, LogDraft& d) {
  Json r = dotted_record(dotted_arguments(lines));
  d.first_stage = true;
  // Megatron-DeepSpeed prints the same step lines, and the engine's own beside them.
  if (std::any_of(lines.begin(), lines.end(), [](const std::string& line) { return line.find("SamplesPerSec=") != std::string::npos; }))
    r["framework"] = "megatron-deepspeed";
  for (const std::string& line : lines) {
    if (const auto ms = number_behind(line, "elapsed time per iteration (ms)")) d.step_seconds.push_back(*ms * 1e-3);
    if (line.find("[Rank 0]") != std::string::npos) {
      largest(number_behind(line, "max allocated"), 1 / mib_per_gib, d.allocated_gib);
      largest(number_behind(line, "max reserved"), 1 / mib_per_gib, d.reserved_gib);
    }
  }
  d.record = r.dump();
}

// The JSON object that starts at the first '{' behind `key`, over as many lines as it takes.
Json object_behind(const LogLines& lines, std::string_view key) {
  std::string text;
  int depth = 0;
  bool started = false;
  for (const std::string& line : lines) {
    std::size_t from = 0;
    if (!started) {
      const auto at = line.find(key);
      if (at == std::string::npos) continue;
      from = line.find('{', at);
      if (from == std::string::npos) continue;
      started = true;
    }
    for (std::size_t i = from; i < line.size(); ++i) {
      text += line[i];
      depth += line[i] == '{' ? 1 : line[i] == '}' ? -1 : 0;
      if (depth == 0) return Json::parse(text, nullptr, false);
    }
  }
  return Json::value_t::discarded;
}

// TorchTitan: "Running with args: {...}", "...ModelArgs(dim=4096, ...)", "step: 10  loss: ...  memory: 57.83GiB(73.1%)  tps: 5,745 ...".
void read_titan(const LogLines& lines, LogDraft& d) {
  Json r = Json::object();
  const Json args = object_behind(lines, "Running with args:");
  const auto setting = [&](std::initializer_list<const char*> sections, std::initializer_list<const char*> keys) -> Json {
    for (const char* section : sections)
      for (const char* key : keys)
        if (args.is_object() && args.contains(section) && args[section].is_object() && args[section].contains(key)) return args[section][key];
    return nullptr;
  };
  const auto degree = [&](const char* key) -> std::int64_t {
    const Json v = setting({"parallelism", "training", "experimental"}, {key});
    return v.is_number_integer() ? v.get<std::int64_t>() : 1;
  };
  // The mesh as built says what -1 came to: "[8, 8]" behind "device mesh", or "dp_shard=8, tp=8".
  std::int64_t gpus = 0;
  for (const std::string& line : lines) {
    if (line.find("device mesh") == std::string::npos) continue;
    const auto open = line.rfind('[');
    if (open != std::string::npos && line.find(']', open) != std::string::npos) {
      gpus = 1;
      for (std::size_t i = open; i < line.size() && line[i] != ']';) {
        if (const auto v = number_behind(line.substr(i + 1, line.find_first_of(",]", i + 1) - i - 1), "")) gpus *= static_cast<std::int64_t>(*v);
        i = line.find_first_of(",]", i + 1);
      }
    } else {
      gpus = 1;
      for (const char* axis : {"pp=", "dp_replicate=", "dp_shard=", "cp=", "tp="})
        if (const auto v = number_behind(line, axis)) gpus *= static_cast<std::int64_t>(*v);
    }
  }
  if (gpus > 0) r["gpus"] = gpus;
  else d.notes.push_back("prints no device mesh: give --gpus");
  Json& layout = r["layout"];
  const std::int64_t tp = degree("tensor_parallel_degree"), pp = degree("pipeline_parallel_degree"), cp = degree("context_parallel_degree");
  layout = {{"tp", tp}, {"sp", tp > 1}, {"cp", cp}, {"pp", pp}};
  if (degree("expert_parallel_degree") > 1) layout["ep"] = degree("expert_parallel_degree");
  const std::int64_t shard = degree("data_parallel_shard_degree"), replicas = degree("data_parallel_replicate_degree");
  layout["zero"] = shard == 1 ? 0 : 3;
  if (gpus > 0 && gpus % (tp * pp * cp) == 0) {
    const std::int64_t dp = gpus / (tp * pp * cp);
    layout["dp"] = dp;
    if (replicas > 1 && shard != 1) layout["zero_group"] = dp * cp / replicas;
    const Json local = setting({"training"}, {"local_batch_size", "batch_size"}), global = setting({"training"}, {"global_batch_size"});
    if (local.is_number_integer()) {
      r["micro_batch"] = local;
      r["global_batch"] = global.is_number_integer() && global.get<std::int64_t>() > 0 ? global.get<std::int64_t>() : local.get<std::int64_t>() * dp;
    }
  }
  const Json seq = setting({"training"}, {"seq_len"}), ac = setting({"activation_checkpoint"}, {"mode"}), converters = setting({"model"}, {"converters"}),
             float8 = setting({"float8"}, {"enable_float8_linear"});
  if (seq.is_number_integer()) r["seq_len"] = seq;
  if (ac.is_string()) r["recompute"] = ac;
  r["precision"] = (float8.is_boolean() && float8.get<bool>()) || converters.dump().find("float8") != std::string::npos ? "fp8" : "bf16";
  const LogArguments a = assigned_arguments(lines, "  loss:");
  if (const auto dim = a.whole("dim")) {
    Json model{{"name", "log"}, {"hidden", *dim}};
    put(a, model, "layers", "n_layers");
    put(a, model, "heads", "n_heads");
    put(a, model, "kv_heads", a.whole("n_kv_heads") ? "n_kv_heads" : "n_heads");
    put(a, model, "vocab", "vocab_size");
    // 2/3 of 4·dim, times the multiplier, rounded up to a multiple.
    double ffn = std::floor(2.0 * 4 * static_cast<double>(*dim) / 3);
    if (const auto m = a.number("ffn_dim_multiplier")) ffn = std::floor(*m * ffn);
    const double multiple = a.number("multiple_of").value_or(256);
    model["ffn"] = static_cast<std::int64_t>(multiple * std::ceil(ffn / multiple));
    model["gated"] = true;
    model["tied_embeddings"] = false;
    r["model"] = model;
  }
  Steps steps("step:");
  for (const std::string& line : lines) {
    if (const auto at = line.find("CUDA capacity: "); at != std::string::npos) {
      const auto name = line.substr(at + 15);
      put_text(r, "hardware", catalog_hardware(name.substr(0, name.find(" with "))));
    }
    if (const auto tps = number_behind(line, "tps:")) {
      if (steps.first(line)) d.tokens_per_gpu.push_back(*tps);
      largest(number_behind(line, "memory:"), 1, d.reserved_gib);
    }
  }
  d.record = r.dump();
}

// nanotron: "Config(...)" with name=value, "iteration: 5 / 100 | ... | elapsed_time_per_iteration_ms: 1.2K | ...".
void read_assigned_iterations(const LogLines& lines, LogDraft& d) {
  const LogArguments a = assigned_arguments(lines, "elapsed_time_per_iteration_ms");
  Json r = Json::object();
  if (a.whole("hidden_size")) {
    Json model{{"name", "log"}};
    put(a, model, "layers", "num_hidden_layers");
    put(a, model, "hidden", "hidden_size");
    put(a, model, "heads", "num_attention_heads");
    put(a, model, "kv_heads", a.whole("num_key_value_heads") ? "num_key_value_heads" : "num_attention_heads");
    put(a, model, "ffn", "intermediate_size");
    put(a, model, "vocab", "vocab_size");
    model["gated"] = true;
    model["tied_embeddings"] = a.flag("tie_word_embeddings");
    r["model"] = model;
  }
  put(a, r, "seq_len", "sequence_length");
  put(a, r, "micro_batch", "micro_batch_size");
  Json layout;
  for (const char* key : {"tp", "pp", "dp"}) put(a, layout, key, key);
  if (const auto zero = a.whole("zero_stage")) layout["zero"] = *zero;
  if (!a.text("tp_mode").empty()) layout["sp"] = a.text("tp_mode").find("REDUCE_SCATTER") != std::string::npos;
  if (layout.contains("tp") && layout.contains("pp") && layout.contains("dp"))
    r["gpus"] = layout["tp"].get<std::int64_t>() * layout["pp"].get<std::int64_t>() * layout["dp"].get<std::int64_t>();
  if (!layout.empty()) r["layout"] = layout;
  r["precision"] = a.text("dtype").find("float16") != std::string::npos && a.text("dtype").find("bfloat16") == std::string::npos ? "fp16" : "bf16";
  r["recompute"] = a.flag("recompute_layer") ? "full" : "none";
  if (!a.text("accumulate_grad_in_fp32").empty()) r["grad_accumulation_fp32"] = a.flag("accumulate_grad_in_fp32");
  d.first_stage = true;
  Steps steps("iteration:");
  for (const std::string& line : lines) {
    if (const auto ms = number_behind(line, "elapsed_time_per_iteration_ms"); ms && steps.first(line)) d.step_seconds.push_back(*ms * 1e-3);
    // Bytes, in powers of ten: "570M".
    largest(number_behind(line, "cuda_max_memory_reserved"), 1 / 0x1p30, d.reserved_gib);
    if (const auto batch = number_behind(line, "global_batch_size")) r["global_batch"] = static_cast<std::int64_t>(*batch);
    largest(number_behind(line, "Peak allocated"), 1 / mib_per_gib, d.allocated_gib);
    largest(number_behind(line, "Peak reserved"), 1 / mib_per_gib, d.reserved_gib);
  }
  d.record = r.dump();
}

// DeepSpeed: "[config.py:...:print]   train_batch_size ...... 256", "..., CurrSamplesPerSec=52.2, ..., MaxMemAllocated=45.6GB".
void read_samples_per_second(const LogLines& lines, LogDraft& d) {
  const LogArguments a = dotted_arguments(lines);
  Json r = Json::object();
  put(a, r, "gpus", "world_size");
  put(a, r, "global_batch", "train_batch_size");
  put(a, r, "micro_batch", "train_micro_batch_size_per_gpu");
  for (const std::string& line : lines)
    if (const auto v = number_behind(line, "train_micro_batch_size_per_gpu ")) r["micro_batch"] = static_cast<std::int64_t>(*v);
  if (const auto zero = a.whole("zero_optimization_stage")) r["layout"]["zero"] = *zero;
  if (a.flag("bfloat16_enabled")) r["precision"] = "bf16";
  else if (a.flag("fp16_enabled")) r["precision"] = "fp16";
  d.notes.push_back("this log does not print the model, the sequence or recomputation: give --model, --seq and --recompute");
  const double batch = r.contains("global_batch") ? r["global_batch"].get<double>() : 0;
  for (const std::string& line : lines) {
    // Before 0.7.7 the line has the running average alone.
    auto rate = number_behind(line, "CurrSamplesPerSec");
    if (!rate) rate = number_behind(line, " SamplesPerSec");
    if (rate && *rate > 0 && batch > 0) d.step_seconds.push_back(batch / *rate);
    largest(number_behind(line, "MaxMemAllocated"), 1, d.allocated_gib);
  }
  d.record = r.dump();
}

// MaxText: "Config param base_emb_dim: 4096", "completed step: 5, seconds: 4.302, TFLOP/s/device: 390.1, ...".
void read_completed_steps(const LogLines& lines, LogDraft& d) {
  const LogArguments a = prefixed_arguments(lines, "Config param ");
  Json r = Json::object();
  double devices = 0;
  for (const std::string& line : lines) {
    largest(number_behind(line, "Num_devices"), 1, devices);
    if (line.find("completed step") != std::string::npos)
      if (const auto s = number_behind(line, "seconds")) d.step_seconds.push_back(*s);
  }
  if (const auto hidden = a.whole("base_emb_dim")) {
    Json model{{"name", "log"}, {"hidden", *hidden}};
    put(a, model, "layers", "base_num_decoder_layers");
    put(a, model, "heads", "base_num_query_heads");
    put(a, model, "kv_heads", "base_num_kv_heads");
    put(a, model, "head_dim", "head_dim");
    put(a, model, "ffn", "base_mlp_dim");
    put(a, model, "vocab", "vocab_size");
    model["gated"] = a.text("mlp_activations").find("linear") != std::string::npos;
    model["tied_embeddings"] = a.flag("logits_via_embedding");
    if (a.whole("num_experts").value_or(1) > 1) {
      put(a, model["moe"], "experts", "num_experts");
      put(a, model["moe"], "top_k", "num_experts_per_tok");
      put(a, model["moe"], "ffn", "base_mlp_dim");
    }
    r["model"] = model;
  }
  put(a, r, "seq_len", "max_target_length");
  const auto axis = [&](const std::string& name) {
    return a.whole("ici_" + name + "_parallelism").value_or(1) * a.whole("dcn_" + name + "_parallelism").value_or(1);
  };
  const std::int64_t tp = std::max<std::int64_t>(1, axis("tensor")), pp = std::max<std::int64_t>(1, axis("pipeline"));
  r["layout"] = {{"tp", tp}, {"pp", pp}, {"zero", 3}};
  if (devices > 0) {
    r["gpus"] = static_cast<std::int64_t>(devices);
    const auto dp = static_cast<std::int64_t>(devices) / (tp * pp);
    r["layout"]["dp"] = dp;
    if (const auto each = a.number("per_device_batch_size")) {
      const auto batch = static_cast<std::int64_t>(std::llround(*each * devices));
      r["global_batch"] = batch;
      r["micro_batch"] = std::max<std::int64_t>(1, batch / (dp * a.whole("gradient_accumulation_steps").value_or(1)));
    }
  }
  const std::string remat = a.text("remat_policy"), quantization = a.text("quantization");
  r["recompute"] = remat == "full" ? "full" : remat.empty() || remat == "none" ? "none" : "selective";
  if (remat == "minimal" || remat.starts_with("save")) d.notes.push_back("remat_policy " + remat + " is taken as selective recomputation");
  r["precision"] = quantization.find("fp8") != std::string::npos ? "fp8" : "bf16";
  d.record = r.dump();
}

}  // namespace

std::string record_of_arguments(const LogArguments& a) { return dotted_record(a).dump(); }

const std::vector<LogDialect>& log_dialects() {
  // In the order of trial: a line that only one program prints comes first.
  static const std::vector<LogDialect> known{
      {"maxtext", "completed step: ", read_completed_steps},
      {"nanotron", "elapsed_time_per_iteration_ms", read_assigned_iterations},
      {"megatron-lm", "elapsed time per iteration (ms)", read_dotted_iterations},
      {"torchtitan", " tps: ", read_titan},
      {"deepspeed", "SamplesPerSec=", read_samples_per_second},
  };
  return known;
}

}  // namespace napkin::validation
