// The shape of a model as facts.
#include <algorithm>
#include <vector>

#include "model/launch/facts.hpp"
#include "model/transformer/layer_pattern.hpp"

namespace napkin::launch {
namespace {

std::string_view word(Norm n) {
  switch (n) {
    case Norm::rmsnorm: return "rmsnorm";
    case Norm::layernorm: return "layernorm";
    case Norm::layernorm_no_bias: return "layernorm_no_bias";
    case Norm::none_parametric: return "none_parametric";
  }
  return "rmsnorm";
}
std::string_view word(Position p) {
  switch (p) {
    case Position::rope: return "rope";
    case Position::learned: return "learned";
    case Position::alibi: return "alibi";
    case Position::none: return "none";
  }
  return "rope";
}
std::string_view word(QkNorm n) {
  switch (n) {
    case QkNorm::none: return "none";
    case QkNorm::per_head: return "per_head";
    case QkNorm::full_width: return "full_width";
  }
  return "none";
}
std::string_view word(Activation a) {
  switch (a) {
    case Activation::silu: return "silu";
    case Activation::gelu: return "gelu";
    case Activation::relu: return "relu";
    case Activation::squared_relu: return "squared_relu";
  }
  return "silu";
}

// Which linears have a bias, as a run record says it; empty: a mix that it has no word for.
std::string bias_word(const Attention* t, const Ffn& ffn) {
  const bool qkv = t != nullptr && t->bias_qkv, out = t != nullptr && t->bias_out;
  if (!qkv && !out) return ffn.bias ? "ffn" : "none";
  if (ffn.bias) return qkv && out ? "all" : "";
  return qkv ? out ? "attention" : "qkv" : "";
}

void add_attention(const Attention& t, const Architecture& a, Facts& f) {
  f.set("heads", t.heads);
  f.set("kv_heads", t.kv_heads);
  f.set("grouped", !t.is_mla && t.kv_heads != t.heads);
  f.set("head_dim", t.head_dim);
  f.set("free_head_dim", !t.is_mla && static_cast<std::int64_t>(t.head_dim) * t.heads != a.hidden);
  f.set("v_head_dim", t.v_head_dim);
  f.set("free_v_head_dim", !t.is_mla && t.v_head_dim != t.head_dim);
  f.set("qk_norm", word(t.qk_norm));
  if (t.sinks) f.set("sinks", true);
  if (t.output_gate) f.set("output_gate", true);
  if (!t.is_mla) return;
  f.set("mla", true);
  f.set("q_lora_rank", t.q_lora_rank);
  f.set("kv_lora_rank", t.kv_lora_rank);
  f.set("rope_head_dim", t.rope_head_dim);
}

void add_experts(const Moe& m, Facts& f) {
  f.set("experts", m.experts);
  f.set("top_k", m.top_k);
  f.set("expert_ffn", m.ffn);
  const auto optional = [&](std::string_view name, const Value& v) {
    if (v.set()) f.set(name, v);
  };
  optional("shared_ffn", m.shared_ffn);
  optional("shared_experts", m.shared_experts);
  optional("shared_gate", m.shared_gate);
  optional("expert_latent", m.latent);
  optional("router_bias", m.router_bias);
  optional("router_groups", m.groups);
  optional("router_group_limit", m.group_limit);
  optional("capacity_factor", m.capacity_factor);
  optional("expert_bias", m.expert_bias);
}

// "([0]*3+[1]*58)" of runs of equal layers; of repeated groups "([0]*1+[1]*1)*24".
std::string list_expression(const MoePattern& p, int layers) {
  std::vector<std::pair<int, int>> runs;
  for (int i = 0; i < layers; ++i) {
    const int v = p.is_moe(i) ? 1 : 0;
    if (!runs.empty() && runs.back().first == v) ++runs.back().second;
    else runs.emplace_back(v, 1);
  }
  const auto group = [](int v, int n) { return "[" + std::to_string(v) + "]*" + std::to_string(n); };
  if (p.every > 1 && p.dense_first == 0 && layers % p.every == 0)
    return "(" + group(0, p.every - 1) + "+" + group(1, 1) + ")*" + std::to_string(layers / p.every);
  std::string s = "(";
  for (const auto& [v, n] : runs) s += (s.size() == 1 ? "" : "+") + group(v, n);
  return s + ")";
}

// One mixer or feed-forward a layer, with one norm: the letters of a hybrid pattern. Empty when a layer has no letter.
std::string hybrid_pattern(const Architecture& a) {
  std::string s;
  for (std::size_t i = 0; i < a.depth(); ++i) {
    const LayerKind& k = a.layer(i);
    const int parts = (k.attention ? 1 : 0) + (k.mamba ? 1 : 0) + (k.ffn.moe || k.ffn.width > 0 ? 1 : 0);
    if (k.linear || parts != 1 || k.norms != 1 || k.parallel_ffn || (k.ffn.moe && k.ffn.width > 0)) return {};
    s += k.attention ? '*' : k.mamba ? 'M' : k.ffn.moe ? 'E' : '-';
  }
  return s;
}

// Every layer equal but for windows, experts and their places.
bool uniform(const Architecture& a, Facts& f) {
  const LayerKind& first = a.layer(0);
  Attention plain;
  const LayerKind *dense = nullptr, *moe = nullptr;
  std::vector<bool> windowed, routed;
  std::int64_t window = 0, chunk = 0;
  for (std::size_t i = 0; i < a.depth(); ++i) {
    const LayerKind& k = a.layer(i);
    if (!k.attention || k.mamba || k.linear || k.norms != first.norms || k.parallel_ffn != first.parallel_ffn ||
        k.extra_parameters != 0)
      return false;
    Attention t = *k.attention;
    const bool w = t.window > 0 || t.chunk > 0;
    if (w && ((window > 0 && t.window != window) || (chunk > 0 && t.chunk != chunk))) return false;
    if (w) std::tie(window, chunk) = std::pair(t.window, t.chunk);
    windowed.push_back(w);
    t.window = t.chunk = 0;
    if (i == 0) plain = t;
    if (!(t == plain)) return false;
    routed.push_back(k.ffn.moe.has_value());
    const LayerKind*& kind = k.ffn.moe ? moe : dense;
    if (kind == nullptr) kind = &k;
    if (!(kind->ffn == k.ffn)) return false;
  }
  const int layers = static_cast<int>(a.depth());
  if (window > 0 || chunk > 0) {
    WindowPattern pattern;
    const auto full = std::find(windowed.begin(), windowed.end(), false);
    if (full != windowed.end()) pattern.full_every = static_cast<int>(full - windowed.begin()) + 1;
    for (int i = 0; i < layers; ++i)
      if (windowed[static_cast<std::size_t>(i)] != pattern.is_windowed(i)) return false;
    if (window > 0) {
      f.set("window", window);
      f.set("window_span", std::to_string(window - 1) + ",0");
    }
    if (chunk > 0) f.set("chunk", chunk);
    if (pattern.full_every > 0) f.set("window_every", pattern.full_every);
  }
  if (moe != nullptr) {
    MoePattern pattern;
    const auto at = static_cast<int>(std::find(routed.begin(), routed.end(), true) - routed.begin());
    const auto next = static_cast<int>(std::find(routed.begin() + at + 1, routed.end(), true) - routed.begin());
    pattern.every = next < layers ? next - at : 1;
    pattern.dense_first = at + 1 - pattern.every;
    if (pattern.dense_first < 0) return false;
    std::vector<Value> numbers;
    for (int i = 0; i < layers; ++i) {
      if (routed[static_cast<std::size_t>(i)] != pattern.is_moe(i)) return false;
      if (pattern.is_moe(i)) numbers.emplace_back(i);
    }
    add_experts(*moe->ffn.moe, f);
    if (moe->ffn.width > 0) f.set("beside_dense", true);
    if (pattern.dense_first > 0) f.set("dense_layers", pattern.dense_first);
    if (pattern.every > 1) f.set("moe_every", pattern.every);
    f.set("moe_pattern", pattern.dense_first == 0 && pattern.every == 1 ? std::string("1") : list_expression(pattern, layers));
    f.set("moe_layer_list", std::move(numbers));
  }
  const Ffn& ffn = dense != nullptr ? dense->ffn : moe->ffn;
  if (moe != nullptr && dense != nullptr &&
      (moe->ffn.gated != ffn.gated || moe->ffn.activation != ffn.activation || moe->ffn.bias != ffn.bias))
    return false;
  if (ffn.width > 0) f.set("ffn", ffn.width);
  f.set("mlp", std::string(ffn.gated ? "gated-" : "") + std::string(word(ffn.activation)));
  add_attention(plain, a, f);
  f.set("norms_per_layer", first.norms);
  if (first.parallel_ffn) f.set("parallel_ffn", true);
  const std::string bias = bias_word(&plain, ffn);
  if (bias.empty()) return false;
  f.set("bias", bias);
  return a.mtp_layers == 0 || a.mtp_kind == a.layers.back();
}

// The usual mixtures of norms, positions, biases and experts, by the family that is known for each.
std::string_view style(const Architecture& a, const Facts& f) {
  const bool plain = f.word("stack") == "uniform" && f.whole("norms_per_layer") == 2 && !f.flag("window") && !f.flag("chunk") &&
                     !f.flag("parallel_ffn") && !f.flag("sinks") && !f.flag("output_gate") && a.final_norm && !a.embedding_norm;
  if (!plain || f.whole("moe_every") > 1) return {};
  const std::string &bias = f.word("bias"), &qk = f.word("qk_norm");
  const bool experts = f.whole("experts") > 0;
  if (a.norm == Norm::layernorm && a.position == Position::learned && bias == "all" && !experts && qk == "none") return "gpt3";
  if (a.norm != Norm::rmsnorm || a.position != Position::rope) return {};
  if (f.flag("mla")) return bias == "none" && qk == "none" ? "deepseek" : std::string_view();
  if (experts && (f.whole("dense_layers") > 0 || f.flag("shared_ffn"))) return {};
  if (bias == "qkv" && qk == "none" && !experts) return "qwen2";
  if (bias != "none") return {};
  if (qk == "per_head") return experts ? "qwen3_moe" : "qwen3";
  if (qk != "none") return {};
  return experts ? "mixtral" : "llama";
}

bool hybrid(const Architecture& a, Facts& f) {
  const std::string pattern = hybrid_pattern(a);
  if (pattern.empty() || a.mtp_layers > 0) return false;
  const Attention* attention = nullptr;
  const Mamba* mamba = nullptr;
  const Ffn *ffn = nullptr, *dense = nullptr;
  const Moe* moe = nullptr;
  const auto same = [](const auto*& seen, const auto& one) {
    if (seen != nullptr) return *seen == one;
    seen = &one;
    return true;
  };
  for (const LayerKind& k : a.kinds) {
    if (k.attention && !same(attention, *k.attention)) return false;
    if (k.mamba && !same(mamba, *k.mamba)) return false;
    if (k.ffn.moe && !same(moe, *k.ffn.moe)) return false;
    if (k.ffn.width > 0 && !same(dense, k.ffn)) return false;
    if (k.ffn.moe || k.ffn.width > 0) ffn = &k.ffn;
  }
  if (mamba != nullptr && mamba->heads == 0) return false;
  const std::string bias = bias_word(attention, ffn != nullptr ? *ffn : Ffn{});
  if (bias.empty()) return false;
  f.set("stack", "hybrid");
  f.set("pattern", pattern);
  f.set("norms_per_layer", 2);
  f.set("bias", bias);
  if (attention != nullptr) {
    if (attention->window > 0 || attention->chunk > 0) return false;
    add_attention(*attention, a, f);
  }
  if (mamba != nullptr) {
    f.set("mamba_heads", mamba->heads);
    f.set("mamba_head_dim", mamba->head_dim);
    f.set("mamba_state", mamba->state);
    f.set("mamba_groups", mamba->groups);
  }
  if (ffn != nullptr) f.set("mlp", std::string(ffn->gated ? "gated-" : "") + std::string(word(ffn->activation)));
  if (dense != nullptr) f.set("ffn", dense->width);
  if (moe != nullptr) add_experts(*moe, f);
  return true;
}

}  // namespace

void add_model_facts(const Architecture& a, Facts& f) {
  f.set("stack", "uniform");
  Facts shape = f;
  if (uniform(a, shape)) {
    f = std::move(shape);
  } else if (shape = f; hybrid(a, shape)) {
    f = std::move(shape);
  } else {
    f.set("stack", "irregular");
  }
  f.set("layers", static_cast<std::int64_t>(a.depth()));
  f.set("hidden", a.hidden);
  f.set("vocab", a.vocab);
  f.set("norm", word(a.norm));
  f.set("position", word(a.position));
  f.set("tied", a.tied_embeddings);
  f.set("final_norm", a.final_norm);
  if (a.embedding_norm) f.set("embedding_norm", true);
  if (a.embedding_width > 0) f.set("embedding_width", a.embedding_width);
  if (a.head_bias) f.set("head_bias", true);
  if (a.dropout) f.set("dropout", true);
  if (a.mtp_layers > 0) f.set("mtp_layers", a.mtp_layers);
  if (const auto known = style(a, f); !known.empty()) f.set("decoder_style", known);
}

}  // namespace napkin::launch
