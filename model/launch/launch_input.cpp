#include "model/launch/launch_input.hpp"

#include <nlohmann/json.hpp>

#include "model/frameworks/profile_input.hpp"
#include "model/input/document_input.hpp"
#include "model/transformer/model_input.hpp"

namespace napkin::launch {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Value& v) {
  switch (v.kind) {
    case Value::Kind::none: return nullptr;
    case Value::Kind::truth: return v.truth;
    case Value::Kind::whole: return v.whole;
    case Value::Kind::real: return v.real;
    case Value::Kind::text:
    case Value::Kind::code: return v.text;
    case Value::Kind::list: break;
  }
  Json list = Json::array();
  for (const Value& e : v.list) list.push_back(json_of(e));
  return list;
}

void put(Json& j, const char* member, const Facts& f, std::string_view fact) {
  if (f.has(fact) && !f.get(fact).is(Value::Kind::none)) j[member] = json_of(f.get(fact));
}
void put_if_set(Json& j, const char* member, const Facts& f, std::string_view fact) {
  if (f.flag(fact)) j[member] = json_of(f.get(fact));
}

Json moe_of(const Facts& f) {
  Json m;
  put(m, "experts", f, "experts");
  put(m, "top_k", f, "top_k");
  put(m, "ffn", f, "expert_ffn");
  if (f.whole("shared_ffn") > 0) {
    // A width alone may be several experts side by side: the same products.
    const std::int64_t one = f.whole("expert_ffn"), all = f.whole("shared_ffn");
    m["shared_experts"] = f.whole("shared_experts") > 0 ? f.whole("shared_experts") : one > 0 && all % one == 0 ? all / one : 1;
    m["shared_ffn"] = all;
  } else if (f.whole("shared_experts") > 0) {
    m["shared_experts"] = f.whole("shared_experts");
  }
  put_if_set(m, "shared_gate", f, "shared_gate");
  put_if_set(m, "dense_layers", f, "dense_layers");
  if (f.whole("moe_every") > 1) m["interleave"] = f.whole("moe_every");
  put_if_set(m, "latent", f, "expert_latent");
  put_if_set(m, "router_bias", f, "router_bias");
  put_if_set(m, "groups", f, "router_groups");
  put_if_set(m, "group_limit", f, "router_group_limit");
  put_if_set(m, "capacity_factor", f, "capacity_factor");
  put_if_set(m, "expert_bias", f, "expert_bias");
  put_if_set(m, "beside_dense", f, "beside_dense");
  return m;
}

Json model_of(const Facts& f, const std::string& name) {
  if (f.has("model_name") && !f.has("hidden")) return f.word("model_name");
  Json m;
  if (!f.has("hidden") || !f.has("layers")) return m;
  m["name"] = name;
  put(m, "layers", f, "layers");
  put(m, "hidden", f, "hidden");
  put(m, "heads", f, "heads");
  if (f.flag("mla")) {
    m["attention"] = "mla";
    m["kv_heads"] = f.whole("heads");
    Json& mla = m["mla"];
    put_if_set(mla, "q_lora_rank", f, "q_lora_rank");
    put(mla, "kv_lora_rank", f, "kv_lora_rank");
    put(mla, "qk_nope_head_dim", f, "head_dim");
    put(mla, "qk_rope_head_dim", f, "rope_head_dim");
    put(mla, "v_head_dim", f, "v_head_dim");
  } else {
    put(m, "kv_heads", f, "kv_heads");
    put(m, "head_dim", f, "head_dim");
    if (f.flag("free_v_head_dim")) put(m, "v_head_dim", f, "v_head_dim");
  }
  // Where every layer has experts no dense width exists; a program may still want one.
  const bool dense = f.whole("experts") == 0 || f.whole("dense_layers") > 0 || f.whole("moe_every") > 1 || f.flag("beside_dense") ||
                     f.word("pattern").find('-') != std::string::npos;
  if (dense) put(m, "ffn", f, "ffn");
  const std::string& mlp = f.word("mlp");
  m["gated"] = mlp.starts_with("gated-");
  m["activation"] = mlp.starts_with("gated-") ? mlp.substr(6) : mlp;
  put(m, "vocab", f, "vocab");
  m["tied_embeddings"] = f.flag("tied");
  m["position"] = f.word("position");
  put_if_set(m, "context", f, "context");
  m["norm"] = f.word("norm");
  const std::string& bias = f.word("bias");
  if (bias == "none" || bias == "all") m["bias"] = bias == "all";
  else m["bias"] = bias;
  if (f.word("qk_norm") != "none") m["qk_norm"] = f.word("qk_norm");
  put_if_set(m, "window", f, "window");
  put_if_set(m, "window_pattern", f, "window_every");
  put_if_set(m, "chunk", f, "chunk");
  put_if_set(m, "sinks", f, "sinks");
  if (f.has("norms_per_layer") && f.whole("norms_per_layer") != 2) m["norms_per_layer"] = f.whole("norms_per_layer");
  put_if_set(m, "parallel_ffn", f, "parallel_ffn");
  put_if_set(m, "embedding_norm", f, "embedding_norm");
  if (f.has("final_norm") && !f.flag("final_norm")) m["final_norm"] = false;
  put_if_set(m, "embedding_width", f, "embedding_width");
  put_if_set(m, "head_bias", f, "head_bias");
  put_if_set(m, "dropout", f, "dropout");
  if (f.whole("experts") > 0) m["moe"] = moe_of(f);
  put_if_set(m, "mtp_layers", f, "mtp_layers");
  if (f.has("pattern")) {
    m["hybrid_pattern"] = f.word("pattern");
    if (f.word("pattern").find('M') != std::string::npos) {
      Json& mamba = m["mamba"];
      put(mamba, "num_heads", f, "mamba_heads");
      put(mamba, "head_dim", f, "mamba_head_dim");
      put(mamba, "state_dim", f, "mamba_state");
      put_if_set(mamba, "groups", f, "mamba_groups");
    }
  }
  return m;
}

// Choices that differ from what the framework usually does; `p`: its profile.
void put_choices(Json& l, const Facts& f, const Profile& p) {
  if (f.whole("cp") > 1 && f.has("cp_exchange") && f.word("cp_exchange") != context_exchange_names[static_cast<std::size_t>(p.context_exchange)])
    l["cp_exchange"] = f.word("cp_exchange");
  if (f.has("order") && f.get("order") != fact_info("order")->neutral) l["order"] = f.word("order");
  Json exposed = Json::array();
  if (f.has("overlap_tp") && !f.flag("overlap_tp") && f.whole("tp") > 1 && f.flag("sp") && p.overlap.tensor_parallel.value > 0) exposed.push_back("tp");
  const bool replicas = f.has("dp") && f.whole("dp") * f.whole("cp") > 1;
  if (f.has("overlap_gradient") && !f.flag("overlap_gradient") && replicas && p.data_parallel.overlap_gradient) exposed.push_back("dp");
  if (!exposed.empty()) l["exposed"] = std::move(exposed);
}

Json layout_of(const Facts& f, const Profile& p) {
  Json l;
  for (const char* axis : {"tp", "cp", "pp", "vpp", "dp", "zero"}) put(l, axis, f, axis);
  if (f.whole("experts") > 0 || !f.has("hidden"))
    for (const char* axis : {"ep", "etp"}) put(l, axis, f, axis);
  if (f.whole("tp") > 1) put(l, "sp", f, "sp");
  else if (f.has("sp")) l["sp"] = false;
  const std::int64_t group = f.has("shard_ranks") ? f.whole("shard_ranks") : 0;
  if (f.whole("zero") > 0 && group > 0 && (!f.has("dp") || group != f.whole("dp") * f.whole("cp"))) l["zero_group"] = group;
  if (f.whole("pp") > 1 && f.has("schedule")) l["schedule"] = f.word("schedule");
  put_choices(l, f, p);
  return l;
}

}  // namespace

std::string record_of(const Facts& f, const std::string& framework, const std::string& model_name) {
  Json r;
  r["framework"] = framework;
  put(r, "gpus", f, "gpus");
  put(r, "precision", f, "precision");
  put(r, "seq_len", f, "sequence");
  put(r, "global_batch", f, "global_batch");
  put(r, "micro_batch", f, "micro_batch");
  put(r, "recompute", f, "recompute");
  if (f.word("recompute") == "selective" && f.flag("recompute_modules")) r["recompute_modules"] = json_of(f.get("recompute_modules"));
  if (f.has("grad_fp32")) r["grad_accumulation_fp32"] = f.flag("grad_fp32");
  put_if_set(r, "recompute_layers", f, "recompute_layers");
  put_if_set(r, "activation_offload_layers", f, "offload_layers");
  put_if_set(r, "optimizer_offload", f, "optimizer_offload");
  if (f.word("task") != "pretrain") put(r, "task", f, "task");
  if (f.whole("lora_rank") > 0) r["lora"]["rank"] = f.whole("lora_rank");
  if (Json l = layout_of(f, read_profile(framework)); !l.is_null()) r["layout"] = std::move(l);
  if (Json m = model_of(f, model_name); !m.is_null()) r["model"] = std::move(m);
  return r.dump();
}

LaunchText read_launch(std::string_view text, const std::string& name, const Target& target, const Known& known) {
  LaunchText t;
  t.reading = interpret(read_configuration(text, name, target.files.front().format), target, name);
  if (t.reading.said.empty()) throw InputError(name + ": has no setting of " + target.title + " that is known");
  Facts& f = t.reading.facts;
  if (known.gpus > 0) f.set("gpus", known.gpus);
  if (known.layers > 0 && !f.has("layers")) f.set("layers", known.layers);
  if (f.has("model_name") && !f.has("layers")) f.set("layers", static_cast<std::int64_t>(read_model(f.word("model_name")).depth()));
  try {
    complete(f);
  } catch (const InputError& e) {
    throw InputError(name + ": " + e.what());
  }
  t.record = record_of(t.reading.facts, target.profile, name.substr(name.rfind('/') + 1));
  return t;
}

std::vector<std::string> differences(const Reading& reading, const Facts& of_run) {
  std::vector<std::string> all;
  for (const std::string& fact : reading.said) {
    const FactInfo& info = *fact_info(fact);
    const Value& said = reading.facts.get(fact);
    // Names of nodes and limits of a program; widths that a model without such layers does not have.
    if (info.role == Role::derived && fact != "split" && fact != "stage_layers") continue;
    if (said == of_run.get(fact) || (!of_run.has(fact) && (!said.set() || info.role == Role::shape))) continue;
    all.push_back(std::string(info.what) + ": the file says " + plain(said) + ", the prediction has " + plain(of_run.get(fact)));
  }
  return all;
}

}  // namespace napkin::launch
