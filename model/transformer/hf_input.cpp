// A Hugging Face config.json → Architecture. Hazards of the format: users' configs, families and counts are listed in
// docs/models.md.
#include "model/transformer/hf_reader.hpp"
#include "model/transformer/hf_unread.hpp"
#include "model/transformer/layer_pattern.hpp"
#include "model/transformer/model_input.hpp"

namespace napkin {
namespace hf {
namespace {

unsigned read_bias(const Config& c, const Family& f) {
  unsigned bias = f.bias;
  for (const BiasFlag& flag : f.bias_flags) {
    if (flag.name.empty()) continue;
    const auto given = c.find({flag.name});
    if (!given) continue;
    bias = given->boolean() != flag.inverted ? bias | flag.parts : bias & ~flag.parts;
  }
  return bias;
}

int count_layers(const Config& c) {
  const auto n = c.find({"num_hidden_layers", "n_layer", "num_layers", "n_layers"});
  if (!n) {
    if (const auto list = c.find({"layers_block_type"})) return int(list->elements().size());
  }
  return c.integer("number of layers", {"num_hidden_layers", "n_layer", "num_layers", "n_layers"}, 1, max_layers);
}

// A family nobody described: only what the config says, and where it is ambiguous, a refusal.
Family unknown_family(const Config& c) {
  Family f;
  f.norm = c.find({"layer_norm_eps", "layer_norm_epsilon", "norm_epsilon"}) ? Norm::layernorm : Norm::rmsnorm;
  const auto act = c.find({"hidden_act", "activation_function", "hidden_activation"});
  const std::string name = act ? act->string() : std::string();
  if (name != "silu" && name != "swish") {
    c.text().fail("model_type \"" + c.model_type() + "\" is not known, and hidden_act \"" + name +
                  "\" does not say whether the feed-forward is gated");
  }
  c.assume("model_type \"" + c.model_type() + "\" is not known: read as a decoder with gated feed-forward, " +
           (f.norm == Norm::rmsnorm ? "RMSNorm" : "LayerNorm") + ", RoPE, two norms a layer, no biases but those named");
  return f;
}

void read_positions(const Config& c, const Family& f, Architecture& a) {
  a.position = f.position;
  if (c.flag_or({"alibi", "attn_config.alibi"}, false)) a.position = Position::alibi;
  if (c.flag_or({"attn_config.rope"}, false)) a.position = Position::rope;
  const auto context = c.find({"max_position_embeddings", "n_positions", "max_sequence_length", "max_seq_len",
                               "seq_length", "n_ctx", "model_max_length"});
  a.context = context ? context->integer(1, max_tokens) : f.default_positions;
  if (a.position != Position::learned) return;
  a.learned_positions = a.context + f.extra_positions;
  if (!context) c.assume("learned positions: " + std::to_string(a.learned_positions) + " rows, as the family has them");
}

void read_outside(const Config& c, const Family& f, const Shape& s, Architecture& a) {
  a.hidden = s.hidden;
  a.vocab = c.need("vocabulary size", {"padded_vocab_size", "vocab_size"}).integer(1, max_vocab);
  const auto tied = c.tied();
  a.tied_embeddings = tied.value_or(f.tied);
  if (!tied) c.assume(std::string("tie_word_embeddings: ") + (f.tied ? "true" : "false") + ", as the family has it");
  a.norm = f.norm;
  if (!c.flag_or({"rmsnorm"}, true)) a.norm = Norm::layernorm;
  if (a.norm == Norm::layernorm_no_bias && !c.flag_or({"no_bias"}, true)) a.norm = Norm::layernorm;
  a.embedding_norm = f.embedding_norm;
  a.final_norm = c.flag_or({"do_layer_norm_before"}, true) && !c.flag_or({"_remove_final_layer_norm"}, false);
  a.embedding_width = c.integer_or({"word_embed_proj_dim"}, 0, 0, max_width);
  a.head_bias = (s.bias & part::head) != 0;
  read_positions(c, f, a);
}

struct Block {
  int norms = 2;
  bool parallel = false;
};
Block read_block(const Config& c, const Family& f) {
  switch (f.parallel) {
    case ParallelBlock::never: return {f.norms, false};
    case ParallelBlock::shared_norm: return {1, true};
    case ParallelBlock::separate_norms: return {2, c.flag_or({"use_parallel_residual"}, true)};
    case ParallelBlock::residual_flag: {
      const bool parallel = c.flag_or({"use_parallel_residual"}, false);
      return {parallel ? 1 : 2, parallel};
    }
    case ParallelBlock::by_flags: {
      const bool modern = c.flag_or({"new_decoder_architecture"}, false);
      const bool parallel = c.flag_or({"parallel_attn"}, true);
      const int norms = c.integer_or({"num_ln_in_parallel_attn"}, modern ? 2 : 1, 1, 2);
      return {parallel || modern ? norms : 2, parallel || modern};
    }
  }
  return {};
}

// What runs beside the experts and is added to their output: the dense feed-forward, a square one, or nothing (width 0).
Ffn beside_experts(const Config& c, const Family& f, const Shape& s) {
  if (c.flag_or({"enable_moe_block", "residual_moe"}, false)) return read_dense(c, f, s);
  Ffn d = read_form(c, f);
  if (c.flag_or({"parallel_attn_mlp_res", "use_residual"}, false)) d.width = s.hidden;
  return d;
}

std::string kind_name(const LayerPlan& p, bool several_attentions) {
  std::string name;
  switch (p.mixer) {
    case Mixer::full: name = several_attentions ? "full" : ""; break;
    case Mixer::windowed: name = several_attentions ? "sliding" : ""; break;
    case Mixer::chunked: name = "chunked"; break;
    case Mixer::mamba: name = "mamba"; break;
    case Mixer::linear: name = "linear"; break;
    case Mixer::none: break;
  }
  const std::string feed = p.feed == Feed::moe ? "moe" : p.feed == Feed::none ? "" : p.mixer == Mixer::none ? "ffn" : "dense";
  if (feed.empty()) return name.empty() ? "attention" : name;
  return name.empty() ? feed : feed + "_" + name;
}

LayerKind read_kind(const Config& c, const Family& f, const Shape& s, const LayerPlan& p, int layer) {
  LayerKind k;
  if (p.mixer == Mixer::full || p.mixer == Mixer::windowed || p.mixer == Mixer::chunked) {
    k.attention = read_attention(c, f, s, p.mixer == Mixer::windowed);
    if (p.mixer == Mixer::windowed) k.attention->window = read_window(c, f);
    if (p.mixer == Mixer::chunked) {
      k.attention->chunk = c.need("attention chunk", {"attention_chunk_size"}).integer(1, max_tokens);
    }
  }
  if (p.mixer == Mixer::mamba) k.mamba = read_mamba(c, f, s);
  if (p.mixer == Mixer::linear) k.linear = read_linear(c, s);
  if (p.feed == Feed::dense) k.ffn = read_dense(c, f, s);
  if (p.feed == Feed::moe) {
    k.ffn = beside_experts(c, f, s);
    k.ffn.moe = read_experts(c, f, layer);
  }
  Block block = read_block(c, f);
  if (p.feed == Feed::moe && c.flag_or({"parallel_attn_mlp_res"}, false)) ++block.norms;  // the dense branch has its own
  k.norms = p.mixer == Mixer::none || p.feed == Feed::none ? 1 : block.norms;
  k.parallel_ffn = block.parallel;
  k.extra_parameters = f.layer_extra;
  return k;
}

void read_layers(const Config& c, const Family& f, const Shape& s, Architecture& a) {
  if (has_blocks(c)) return append_blocks(c, f, s, a);
  const auto plan = read_plan(c, f, s);
  bool full = false, other = false;
  for (const LayerPlan& p : plan) {
    full = full || p.mixer == Mixer::full;
    other = other || p.mixer == Mixer::windowed || p.mixer == Mixer::chunked;
  }
  for (int i = 0; i < s.layers; ++i) {
    const LayerPlan& p = plan[std::size_t(i)];
    LayerKind k = read_kind(c, f, s, p, i);
    k.name = kind_name(p, full && other);
    append_layer(a, k);
  }
}

// The parts of a module in letters ("*E"), each with its norm, as one kind of layer.
LayerKind mtp_module(const Config& c, const Family& f, const Shape& s, const Field& pattern) {
  LayerKind module;
  module.name = "mtp";
  module.norms = 0;
  for (const char letter : pattern.string()) {
    LayerPlan p{Mixer::none, Feed::none};
    if (letter == '*') p.mixer = Mixer::full;
    else if (letter == 'E') p.feed = Feed::moe;
    else if (letter == '-') p.feed = Feed::dense;
    else pattern.fail(std::string("'") + letter + "' is not supported in a prediction module; known are *, E and -");
    const LayerKind part = read_kind(c, f, s, p, s.layers - 1);
    if (part.attention) module.attention = part.attention;
    if (p.feed != Feed::none) module.ffn = part.ffn;
    ++module.norms;
  }
  return module;
}

void read_mtp(const Config& c, const Family& f, const Shape& s, Architecture& a) {
  const auto next = c.find({"num_nextn_predict_layers"});
  a.mtp_layers = next ? int(next->integer(0, max_layers)) : c.integer_or({"mtp_num_hidden_layers"}, 0, 0, max_layers);
  const int modules = c.integer_or({"num_mtp_modules"}, 0, 0, max_layers);
  const int layers = c.integer_or({"mtp_transformer_layers"}, 1, 0, max_layers);
  if (a.mtp_layers == 0 && c.flag_or({"use_mtp"}, true)) a.mtp_layers = modules * layers;
  a.mtp_copies_embeddings = f.mtp_copies && a.mtp_layers > 0;
  const auto pattern = c.find({"mtp_hybrid_override_pattern"});
  a.mtp_kind = a.mtp_layers > 0 && pattern ? kind_index(a, mtp_module(c, f, s, *pattern)) : a.layers.back();
}

}  // namespace

Shape read_shape(const Config& c, const Family& f) {
  Shape s;
  s.layers = count_layers(c);
  s.hidden = c.integer("hidden size", {"hidden_size", "n_embd", "d_model", "n_embed"}, 1, max_width);
  s.bias = read_bias(c, f);
  return s;
}

}  // namespace hf

Architecture read_hf_config(const Document& document) {
  const hf::Config c(document);
  if (const auto why = hf::refusal(c.model_type()); !why.empty()) {
    c.text().fail("model_type \"" + c.model_type() + "\" is not supported: " + std::string(why));
  }
  if (c.flag_or({"is_encoder_decoder"}, false)) c.text().fail("is_encoder_decoder: encoder-decoders are not supported");
  const hf::Family* known = hf::find_family(c.model_type(), c.architecture());
  const hf::Family f = known != nullptr ? *known : hf::unknown_family(c);
  Architecture a;
  const hf::Shape s = hf::read_shape(c, f);
  hf::read_outside(c, f, s, a);
  hf::read_layers(c, f, s, a);
  hf::read_mtp(c, f, s, a);
  hf::judge_unread(c, known != nullptr);
  a.assumptions = c.assumptions();
  return a;
}

}  // namespace napkin
