#include "cli/architecture_view.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "model/text.hpp"

namespace napkin::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string count(std::int64_t n) { return format_count(double(n)); }

std::string percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? std::string() : fmt::format("{:.2f} %", 100 * double(part) / double(whole));
}

std::string_view word(Norm n) {
  switch (n) {
    case Norm::rmsnorm: return "rmsnorm";
    case Norm::layernorm: return "layernorm";
    case Norm::layernorm_no_bias: return "layernorm_no_bias";
    case Norm::none_parametric: return "none_parametric";
  }
  return {};
}
std::string_view word(Position p) {
  switch (p) {
    case Position::rope: return "rope";
    case Position::learned: return "learned";
    case Position::alibi: return "alibi";
    case Position::none: return "none";
  }
  return {};
}
std::string_view word(QkNorm n) {
  switch (n) {
    case QkNorm::none: return "none";
    case QkNorm::per_head: return "per_head";
    case QkNorm::full_width: return "full_width";
  }
  return {};
}
std::string_view word(Activation a) {
  switch (a) {
    case Activation::silu: return "silu";
    case Activation::gelu: return "gelu";
    case Activation::relu: return "relu";
    case Activation::squared_relu: return "squared_relu";
  }
  return {};
}

std::vector<int> layers_of_kind(const Architecture& a) {
  std::vector<int> n(a.kinds.size());
  for (const auto kind : a.layers) ++n[kind];
  return n;
}

std::string attention_text(const Attention& t) {
  std::string s;
  if (t.is_mla) {
    s = fmt::format("MLA {} heads of {}+{}, values {}, key-value rank {}", t.heads, t.head_dim, t.rope_head_dim,
                    t.v_head_dim, t.kv_lora_rank);
    if (t.q_lora_rank > 0) s += fmt::format(", query rank {}", t.q_lora_rank);
  } else {
    s = fmt::format("{} heads of {}", t.heads, t.head_dim);
    if (t.v_head_dim != t.head_dim) s += fmt::format(" (values {})", t.v_head_dim);
    if (t.kv_heads != t.heads) s += fmt::format(", {} key-value", t.kv_heads);
  }
  if (t.window > 0) s += ", window " + count(t.window);
  if (t.chunk > 0) s += ", chunk " + count(t.chunk);
  if (t.indexer_heads > 0) s += fmt::format(", indexer {} heads of {}", t.indexer_heads, t.indexer_head_dim);
  return s;
}

Json json(const Attention& t) {
  Json j{{"heads", t.heads}, {"kv_heads", t.kv_heads}, {"head_dim", t.head_dim}, {"v_head_dim", t.v_head_dim}};
  if (t.is_mla) {
    j["mla"] = {{"q_lora_rank", t.q_lora_rank}, {"kv_lora_rank", t.kv_lora_rank}, {"rope_head_dim", t.rope_head_dim}};
  }
  j["window"] = t.window;
  j["chunk"] = t.chunk;
  j["bias_qkv"] = t.bias_qkv;
  j["bias_out"] = t.bias_out;
  j["qk_norm"] = word(t.qk_norm);
  j["output_gate"] = t.output_gate;
  j["sinks"] = t.sinks;
  j["keys_are_values"] = t.keys_are_values;
  if (t.indexer_heads > 0) {
    j["indexer"] = {{"heads", t.indexer_heads}, {"head_dim", t.indexer_head_dim}, {"top_k", t.indexer_top_k}};
  }
  return j;
}

Json json(const Mamba& m) {
  return {{"inner", m.inner},   {"heads", m.heads}, {"head_dim", m.head_dim}, {"groups", m.groups},
          {"state", m.state}, {"conv", m.conv},   {"dt_rank", m.dt_rank}};
}

Json json(const LinearAttention& l) {
  return {{"key_heads", l.key_heads},           {"value_heads", l.value_heads}, {"key_head_dim", l.key_head_dim},
          {"value_head_dim", l.value_head_dim}, {"conv", l.conv},               {"delta_rule", l.delta_rule}};
}

Json json(const Ffn& f) {
  Json j{{"width", f.width}, {"gated", f.gated}, {"activation", word(f.activation)}, {"bias", f.bias}};
  if (f.moe) {
    const Moe& m = *f.moe;
    j["moe"] = {{"experts", m.experts},           {"top_k", m.top_k},           {"ffn", m.ffn},
                {"latent", m.latent},             {"shared_experts", m.shared_experts}, {"shared_ffn", m.shared_ffn},
                {"shared_gate", m.shared_gate},   {"router_bias", m.router_bias},       {"expert_bias", m.expert_bias}};
  }
  return j;
}

}  // namespace

std::string mixer_text(const LayerKind& k) {
  if (k.attention) return attention_text(*k.attention);
  if (k.mamba) {
    return k.mamba->heads > 0 ? fmt::format("Mamba-2 {} heads of {}, state {}, {} groups", k.mamba->heads,
                                            k.mamba->head_dim, k.mamba->state, k.mamba->groups)
                              : fmt::format("Mamba inner {}, state {}", count(k.mamba->inner), k.mamba->state);
  }
  if (k.linear) {
    return fmt::format("{} {} heads of {}", k.linear->delta_rule ? "gated delta net" : "lightning attention",
                       k.linear->value_heads, k.linear->value_head_dim);
  }
  return "-";
}

std::string ffn_text(const LayerKind& k) {
  std::string s;
  if (k.ffn.width > 0) s = fmt::format("{}{}", k.ffn.gated ? "gated " : "", count(k.ffn.width));
  if (k.ffn.moe) {
    const Moe& m = *k.ffn.moe;
    if (!s.empty()) s += " beside ";
    s += fmt::format("{} experts of {}{}, top {}", m.experts, k.ffn.gated ? "gated " : "", count(m.ffn), m.top_k);
    if (m.shared_ffn > 0) s += fmt::format(", shared {}", count(m.shared_ffn));
    if (m.latent > 0) s += fmt::format(", latent {}", count(m.latent));
  }
  return s.empty() ? "-" : s;
}

Table kinds_table(const Architecture& a) {
  Table t{.title = {},
          .columns = {{"layers"}, {"kind", false}, {"mixer", false}, {"feed-forward", false}, {"parameters"}, {"active"}},
          .rows = {},
          .notes = {}};
  const auto n = layers_of_kind(a);
  for (std::size_t i = 0; i < a.kinds.size(); ++i) {
    const LayerKind& k = a.kinds[i];
    const auto p = layer_parameters(a, k);
    t.rows.push_back({n[i] > 0 ? count(n[i]) : "MTP", k.name, mixer_text(k), ffn_text(k), count(p.total()),
                      count(p.active())});
  }
  return t;
}

Table blocks_table(const Architecture& a, const Parameters& p) {
  Table t{.title = fmt::format("{} ({}): {} layers, hidden {}, vocabulary {}{}", a.name, a.origin, a.depth(),
                               count(a.hidden), count(a.vocab), a.tied_embeddings ? ", tied embeddings" : ""),
          .columns = {{"block", false}, {"parameters"}, {"share"}},
          .rows = {},
          .notes = {}};
  for (const auto& [name, n] : p.by_block()) t.rows.push_back({name, count(n), percent(n, p.total)});
  t.rows.push_back({"total", count(p.total), percent(p.total, p.total)});
  if (p.mtp > 0) t.rows.push_back({"total with MTP", count(p.total_with_mtp), percent(p.total_with_mtp, p.total)});
  if (p.active != p.total) t.rows.push_back({"active", count(p.active), percent(p.active, p.total)});
  t.rows.push_back({"active without embedding", count(p.active_without_embedding),
                    percent(p.active_without_embedding, p.total)});
  t.rows.push_back({"active without embedding and head", count(p.active_without_embedding_and_head),
                    percent(p.active_without_embedding_and_head, p.total)});
  if (p.mtp_copies > 0) {
    t.notes.push_back("with MTP: " + count(p.mtp) + " of its own and " + count(p.mtp_copies) +
                      " that checkpoints store again (embedding and head, shared while training)");
  }
  return t;
}

Json architecture_json(const Architecture& a) {
  Json j{{"name", a.name},
         {"origin", a.origin},
         {"layers", a.depth()},
         {"hidden", a.hidden},
         {"vocab", a.vocab},
         {"tied_embeddings", a.tied_embeddings},
         {"norm", word(a.norm)},
         {"position", word(a.position)},
         {"context", a.context},
         {"mtp_layers", a.mtp_layers},
         {"kinds", Json::array()}};
  const auto n = layers_of_kind(a);
  for (std::size_t i = 0; i < a.kinds.size(); ++i) {
    const LayerKind& k = a.kinds[i];
    const auto p = layer_parameters(a, k);
    Json kind{{"name", k.name}, {"layers", n[i]}, {"parameters", p.total()}, {"active", p.active()}, {"norms", k.norms}};
    if (k.attention) kind["attention"] = json(*k.attention);
    if (k.mamba) kind["mamba"] = json(*k.mamba);
    if (k.linear) kind["linear"] = json(*k.linear);
    kind["ffn"] = json(k.ffn);
    j["kinds"].push_back(std::move(kind));
  }
  return j;
}

Json parameters_json(const Architecture& a, const Parameters& p) {
  Json j{{"schema", 1},
         {"total", p.total},
         {"total_with_mtp", p.total_with_mtp},
         {"active", p.active},
         {"active_without_embedding", p.active_without_embedding},
         {"active_without_embedding_and_head", p.active_without_embedding_and_head},
         {"embedding_and_head", p.embedding + p.head},
         {"by_block", Json::object()}};
  for (const auto& [name, n] : p.by_block()) j["by_block"][name] = n;
  if (p.mtp > 0) j["mtp"] = {{"own", p.mtp}, {"copies", p.mtp_copies}};
  j["architecture"] = architecture_json(a);
  j["assumptions"] = a.assumptions;
  return j;
}

}  // namespace napkin::cli
