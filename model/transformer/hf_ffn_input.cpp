#include <algorithm>

#include "model/transformer/hf_reader.hpp"

namespace napkin::hf {
namespace {

const Names expert_counts = {"n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts",
                             "ffn_config.moe_num_experts"};

// find_multiple of the GLU feed-forwards that give a ratio instead of a width.
int round_up(double x, int step) { return int((std::int64_t(x) + step - 1) / step) * step; }

bool listed(const Field& list, int layer) {
  const auto all = list.elements();
  return std::any_of(all.begin(), all.end(), [&](const Field& e) { return e.integer(0, max_layers) == layer; });
}

int dense_width(const Config& c, const Family& f, const Shape& s) {
  // Granite's hybrids without experts keep the shared feed-forward alone.
  if (const auto w = c.find({"shared_intermediate_size"}); w && !has_experts(c)) {
    if (const auto width = w->integer(0, max_width); width > 0) return int(width);
  }
  if (const auto w = c.find({"dense_intermediate_size", "intermediate_size_mlp"})) return int(w->integer(1, max_width));
  if (const auto w = c.find({"intermediate_size", "ffn_dim", "ffn_hidden_size", "n_inner", "ffn_config.ffn_hidden_size"})) {
    const int width = int(w->integer(f.ffn_halved ? 2 : 1, max_width));
    return f.ffn_halved ? width / 2 : width;
  }
  if (const auto ratio = c.find({"expansion_ratio"})) {
    const double width = ratio->number() * s.hidden;
    if (!(width >= 1 && width <= double(max_width))) ratio->fail("gives no sensible feed-forward width");
    return round_up(width, 1);
  }
  if (!f.gated && std::int64_t(s.hidden) * 4 <= max_width) {
    c.assume("feed-forward width: 4 times hidden, as the family has it");
    return 4 * s.hidden;
  }
  c.text().fail("the feed-forward width is missing; looked for intermediate_size, ffn_dim, ffn_hidden_size, n_inner");
}

bool is_gated(const Config& c, const Family& f) {
  if (const auto kind = c.find({"mlp_type"}); kind && kind->is(Field::Type::string)) {
    const std::string name = kind->string();
    if (name == "gated") return true;
    if (name == "default") return f.gated;
  }
  if (const auto kind = c.find({"ffn_config.ffn_type"})) {
    const std::string name = kind->string();
    if (name == "mptglu") return true;
    if (name != "mptmlp") kind->fail("feed-forward type \"" + name + "\" is not supported");
  }
  return f.gated;
}

Activation activation(const Config& c, const Family& f) {
  const auto word = c.find({"hidden_activation", "mlp_hidden_act", "hidden_act", "activation_function", "activation",
                            "ffn_config.ffn_act_fn.name"});
  if (!word || !word->is(Field::Type::string)) return f.activation;
  const std::string name = word->string();
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  if (has("relu2") || has("relu_squared") || has("squared_relu")) return Activation::squared_relu;
  if (has("gelu") || has("geglu")) return Activation::gelu;
  if (has("silu") || has("swi") || has("swish")) return Activation::silu;
  if (has("relu")) return Activation::relu;
  return f.activation;
}

// Per-layer choices of experts, in the words of the families.
bool by_frequency(const Field& freq, int layer) {
  if (freq.is(Field::Type::array)) {
    const auto list = freq.elements();
    if (std::size_t(layer) >= list.size()) freq.fail("has no entry for layer " + std::to_string(layer));
    return list[std::size_t(layer)].integer(0, 1) == 1;
  }
  return layer % int(freq.integer(1, max_layers)) == 0;
}

}  // namespace

bool has_experts(const Config& c) {
  const auto n = c.find(expert_counts);
  const bool on = c.flag_or({"enable_moe_block"}, true);
  if (!n || !on) return false;
  if (n->is(Field::Type::array)) n->fail("different numbers of experts per layer are not supported");
  return n->integer(0, max_experts) > 1;
}

bool is_moe_layer(const Config& c, int layer, int layers) {
  bool moe = layer >= c.integer_or({"first_k_dense_replace", "moe_layer_start_index", "num_dense_layers"}, 0, 0, max_layers);
  const int last = c.integer_or({"moe_layer_end_index"}, -1, -1, max_layers);  // -1 = the last layer
  moe = moe && layer <= (last < 0 ? layers - 1 : last);
  if (const auto freq = c.find({"moe_layer_freq"})) moe = moe && by_frequency(*freq, layer);
  for (const std::string_view step : {"decoder_sparse_step", "moe_layer_interval", "interleave_moe_layer_step",
                                      "moe_layer_frequency"}) {
    if (const auto n = c.find({step})) moe = moe && (layer + 1) % int(n->integer(1, max_layers)) == 0;
  }
  if (const auto period = c.find({"expert_layer_period"})) {
    moe = moe && layer % int(period->integer(1, max_layers)) == c.integer_or({"expert_layer_offset"}, 1, 0, max_layers);
  }
  if (const auto dense = c.find({"mlp_only_layers"})) moe = moe && !listed(*dense, layer);
  if (const auto only = c.find({"moe_layers"}); only && only->is(Field::Type::array)) moe = moe && listed(*only, layer);
  return moe;
}

Ffn read_form(const Config& c, const Family& f) {
  Ffn d;
  d.gated = is_gated(c, f);
  d.activation = activation(c, f);
  const auto limit = c.find({"swiglu_limit"});
  d.clamped = limit && limit->is(Field::Type::number);
  return d;
}

Ffn read_dense(const Config& c, const Family& f, const Shape& s) {
  Ffn d = read_form(c, f);
  d.bias = (s.bias & part::ffn) != 0;
  d.width = dense_width(c, f, s);
  return d;
}

Moe read_experts(const Config& c, const Family& f, int layer) {
  Moe m;
  m.experts = c.integer("number of experts", expert_counts, 2, max_experts);
  const auto top_k = c.per_layer({"num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_topk",
                                  "moe_top_k", "moe_k", "top_k_experts", "ffn_config.moe_top_k", "num_selected_experts"},
                                 layer, 1, max_experts);
  if (!top_k) c.text().fail("experts a token visits are missing; looked for num_experts_per_tok, moe_topk, moe_k");
  m.top_k = *top_k;
  if (m.top_k > m.experts) {
    c.text().fail("a token visits " + std::to_string(m.top_k) + " experts, but there are " + std::to_string(m.experts));
  }
  const auto width = c.per_layer({"moe_intermediate_size", "moe_ffn_hidden_size", "ffn_config.ffn_hidden_size",
                                  "intermediate_size", "ffn_dim", "ffn_hidden_size"},
                                 layer, 1, max_width);
  if (!width) c.text().fail("the width of an expert is missing; looked for moe_intermediate_size, intermediate_size");
  m.ffn = *width;
  m.latent = c.integer_or({"moe_latent_size"}, 0, 0, max_width);

  m.shared_experts = c.per_layer({"n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts"},
                                 layer, 0, max_experts)
                         .value_or(f.shared_experts);
  const auto total = c.find({"shared_expert_intermediate_size", "moe_shared_expert_intermediate_size",
                             "shared_intermediate_size"});
  const std::int64_t shared = total ? total->integer(0, max_width) : std::int64_t(m.shared_experts) * m.ffn;
  if (shared > max_width) c.text().fail("the shared experts are wider than 10,000,000");
  m.shared_ffn = int(shared);
  if (m.shared_ffn > 0 && m.shared_experts == 0) m.shared_experts = 1;
  m.shared_gate = f.shared_gate && m.shared_ffn > 0;
  m.router_bias = c.flag_or({"use_routing_bias", "moe_router_enable_expert_bias"}, f.router_bias);
  m.expert_bias = f.expert_bias;
  m.groups = c.integer_or({"n_group"}, 0, 0, max_experts);
  m.group_limit = c.integer_or({"topk_group"}, 0, 0, max_experts);
  return m;
}

}  // namespace napkin::hf
