#include "model/transformer/hf_reader.hpp"

namespace napkin::hf {
namespace {

int query_heads(const Config& c) {
  return c.integer("number of attention heads", {"num_attention_heads", "n_head", "n_heads", "num_heads"}, 1, max_heads);
}

// Members that give the number of key-value heads; without one, a flag of multi-query attention, else one per head.
int key_value_heads(const Config& c, const Family& f, int heads) {
  const bool modern = c.flag_or({"new_decoder_architecture"}, false);
  const bool flagged = c.find({"multi_query"}).has_value() || f.multi_query;
  const bool multi_query = c.flag_or({"multi_query"}, f.multi_query);
  const bool grouped = c.flag_or({"multi_query_attention"}, true);
  const auto given = c.find({"num_key_value_heads", "n_head_kv", "multi_query_group_num", "attn_config.kv_n_heads",
                             "num_kv_heads", "n_kv_heads"});
  if (flagged && !modern) return multi_query ? 1 : heads;
  if (const auto type = c.find({"attn_config.attn_type", "attention_head_type"})) {
    const std::string name = type->string();
    if (name == "multiquery_attention" || name == "multiquery") return 1;
  }
  if (!given || !grouped) return heads;
  const int kv = int(given->integer(1, max_heads));
  if (heads % kv != 0) {
    c.need("number of attention heads", {"num_attention_heads", "n_head", "n_heads", "num_heads"})
        .conflict(*given, std::to_string(heads) + " query heads are not a multiple of " + std::to_string(kv) +
                              " key-value heads");
  }
  return kv;
}

int head_dimension(const Config& c, int hidden, int heads) {
  if (const auto d = c.find({"head_dim", "attention_head_dim", "kv_channels", "attn_head_dim"})) {
    return int(d->integer(1, max_width));
  }
  if (hidden % heads != 0) {
    c.text().fail("hidden size " + std::to_string(hidden) + " is not a multiple of " + std::to_string(heads) +
                  " heads, and head_dim is missing");
  }
  return hidden / heads;
}

QkNorm query_key_norm(const Config& c, const Family& f) {
  const auto flag = c.find({"use_qk_norm", "qk_layernorm", "qk_norm", "attn_config.qk_ln"});
  if (const auto kind = c.find({"qk_norm_type"}); kind && flag && flag->boolean()) {
    const std::string name = kind->string();
    if (name == "per_layer") return QkNorm::full_width;
    if (name == "per_head") return QkNorm::per_head;
    kind->fail("\"" + name + "\" is not known; supported are \"per_head\" and \"per_layer\"");
  }
  if (!flag) return f.qk_norm;
  return flag->boolean() ? f.qk_norm_kind : QkNorm::none;
}

// deepseek-ai2024v2 §2.1.
void read_latent(const Config& c, Attention& t, int hidden) {
  t.is_mla = true;
  t.kv_heads = t.heads;
  t.kv_lora_rank = c.integer("key-value rank", {"kv_lora_rank"}, 1, max_width);
  t.q_lora_rank = c.integer_or({"q_lora_rank"}, 0, 0, max_width);
  t.head_dim = c.integer("query-key head dimension without rope", {"qk_nope_head_dim"}, 1, max_width);
  t.rope_head_dim = c.integer("rope head dimension", {"qk_rope_head_dim"}, 0, max_width);
  c.understood({"head_dim", "qk_head_dim", "num_key_value_heads"});
  if (const auto v = c.find({"v_head_dim"})) {
    t.v_head_dim = int(v->integer(1, max_width));
  } else {
    if (hidden % t.heads != 0) c.text().fail("v_head_dim is missing and heads do not divide the hidden size");
    t.v_head_dim = hidden / t.heads;
    c.assume("v_head_dim: hidden / heads = " + std::to_string(t.v_head_dim));
  }
}

// deepseek-ai2025v32 §2.1: a lightning indexer selects the keys.
void read_indexer(const Config& c, Attention& t) {
  t.indexer_heads = c.integer_or({"index_n_heads"}, 0, 0, max_heads);
  if (t.indexer_heads == 0) return;
  t.indexer_head_dim = c.integer("indexer head dimension", {"index_head_dim"}, 1, max_width);
  t.indexer_top_k = c.integer_or({"index_topk"}, 0, 0, max_vocab);
}

}  // namespace

Attention read_attention(const Config& c, const Family& f, const Shape& s, bool windowed) {
  Attention t;
  t.heads = query_heads(c);
  t.bias_qkv = (s.bias & part::qkv) != 0;
  t.bias_out = (s.bias & part::out) != 0;
  t.output_gate = c.flag_or({"attn_output_gate", "attention_output_gate"}, f.output_gate);
  t.sinks = f.sinks || c.flag_or({windowed ? "add_swa_attention_sink_bias" : "add_full_attention_sink_bias"}, false);
  read_indexer(c, t);
  if (c.find({"kv_lora_rank"})) {
    read_latent(c, t, s.hidden);
    return t;
  }
  t.kv_heads = key_value_heads(c, f, t.heads);
  t.head_dim = head_dimension(c, s.hidden, t.heads);
  t.v_head_dim = c.integer_or({"v_head_dim"}, t.head_dim, 1, max_width);
  t.qk_norm = query_key_norm(c, f);
  t.qk_norm_bias = f.qk_norm_bias;
  if (windowed) {
    t.heads = c.integer_or({"swa_num_attention_heads"}, t.heads, 1, max_heads);
    t.kv_heads = c.integer_or({"swa_num_key_value_heads"}, t.kv_heads, 1, max_heads);
    const bool own = c.find({"swa_head_dim"}).has_value();
    t.head_dim = c.integer_or({"swa_head_dim"}, t.head_dim, 1, max_width);
    t.v_head_dim = c.integer_or({"swa_v_head_dim"}, own ? t.head_dim : t.v_head_dim, 1, max_width);
  } else if (const auto global = c.find({"global_head_dim"})) {
    t.head_dim = t.v_head_dim = int(global->integer(1, max_width));
    t.keys_are_values = c.flag_or({"attention_k_eq_v"}, false);
    const auto kv = c.find({"num_global_key_value_heads"});
    if (kv && t.keys_are_values) t.kv_heads = int(kv->integer(1, max_heads));
  }
  return t;
}

std::int64_t read_window(const Config& c, const Family& f) {
  const bool on = c.flag_or({"use_sliding_window"}, !f.window_needs_flag);
  const auto length = c.find({"sliding_window", "sliding_window_size", "window_size", "attn_config.sliding_window_size"});
  if (!on) return 0;
  if (length) {
    const auto n = length->integer(-1, max_tokens);
    return n < 0 ? 0 : n;
  }
  return c.text().has("sliding_window") ? 0 : f.window;
}

}  // namespace napkin::hf
