// Layers of different kinds: state-space, linear attention, windows, and the patterns that say which is where.
#include "model/transformer/hf_reader.hpp"

namespace napkin::hf {
namespace {

using Plan = std::vector<LayerPlan>;

[[noreturn]] void wrong_length(const Config& c, const Field& list, std::size_t found, int layers) {
  const auto count = c.find({"num_hidden_layers", "n_layer", "num_layers", "n_layers"});
  const std::string message = "names " + std::to_string(found) + " layers, not " + std::to_string(layers);
  if (count) list.conflict(*count, message);
  list.fail(message);
}

// A list with one entry per layer.
std::vector<Field> per_layer_list(const Config& c, const Field& list, int layers) {
  auto all = list.elements();
  if (all.size() != std::size_t(layers)) wrong_length(c, list, all.size(), layers);
  return all;
}

// M (Mamba), * (attention), E (experts), - (feed-forward): each letter is a layer of its own.
Plan letters(const Config& c, const Field& pattern, int layers) {
  const std::string text = pattern.string();
  if (text.size() != std::size_t(layers)) wrong_length(c, pattern, text.size(), layers);
  Plan plan;
  for (const char letter : text) {
    switch (letter) {
      case 'M': plan.push_back({Mixer::mamba, Feed::none}); break;
      case '*': plan.push_back({Mixer::full, Feed::none}); break;
      case 'E': plan.push_back({Mixer::none, Feed::moe}); break;
      case '-': plan.push_back({Mixer::none, Feed::dense}); break;
      default: pattern.fail(std::string("layer '") + letter + "' is not supported; known are M, *, E and -");
    }
  }
  return plan;
}

// The same in words.
bool single_block(const Field& entry, LayerPlan& plan) {
  const std::string word = entry.string();
  if (word == "moe") plan = {Mixer::none, Feed::moe};
  else if (word == "mlp") plan = {Mixer::none, Feed::dense};
  else return false;
  return true;
}

Mixer mixer_word(const Field& entry, bool has_window) {
  const std::string word = entry.string();
  if (word == "full_attention" || word == "attention" || word == "global" || word == "global_attention") {
    return Mixer::full;
  }
  if (word == "sliding_attention" || word == "local" || word == "sliding_window_attention") {
    return has_window ? Mixer::windowed : Mixer::full;
  }
  if (word == "chunked_attention") return Mixer::chunked;
  if (word == "linear_attention") return Mixer::linear;
  if (word == "mamba" || word == "mamba2") return Mixer::mamba;
  entry.fail("layers of kind \"" + word + "\" are not supported");
}

// [[["global", "local"], 16]]: groups of words, each repeated.
std::vector<Field> expanded(const Field& groups) {
  std::vector<Field> all;
  for (const Field& group : groups.elements()) {
    const auto pair = group.elements();
    if (pair.size() != 2) group.fail("is not a list of kinds and a count");
    const auto words = pair[0].elements();
    const auto times = pair[1].integer(0, max_layers);
    if (std::int64_t(words.size()) * times + std::int64_t(all.size()) > max_layers) group.fail("names too many layers");
    for (std::int64_t i = 0; i < times; ++i) all.insert(all.end(), words.begin(), words.end());
  }
  return all;
}

// Which attention layers see a window: all of them where nothing says otherwise.
Mixer windowed_or_full(const Config& c, const Family& f, int layer, std::int64_t window) {
  if (window == 0) return Mixer::full;
  const auto pattern = c.find({"sliding_window_pattern", "_sliding_window_pattern", "layer_group_size"});
  if (pattern && pattern->is(Field::Type::string)) {  // "LLLG"
    const std::string letters = pattern->string();
    if (letters.find_first_not_of("LG") != std::string::npos || letters.empty()) {
      pattern->fail("\"" + letters + "\" is not a pattern of L (local) and G (global)");
    }
    return letters[std::size_t(layer) % letters.size()] == 'G' ? Mixer::full : Mixer::windowed;
  }
  const int every = pattern ? int(pattern->integer(0, max_layers)) : f.full_every;
  if (every > 0) return (layer + 1) % every == 0 ? Mixer::full : Mixer::windowed;
  const int first = f.window_needs_flag ? c.integer_or({"max_window_layers"}, 0, 0, max_layers) : 0;
  return layer >= first ? Mixer::windowed : Mixer::full;
}

// Chunked attention on the layers with RoPE (no_rope_layers: 1 = RoPE), all but each n-th where it is silent.
Mixer chunked_or_full(const Config& c, const Family& f, int layer) {
  const auto rope = c.find({"no_rope_layers"});
  if (rope && !rope->elements().empty()) {
    return c.per_layer({"no_rope_layers"}, layer, 0, 1) == 1 ? Mixer::chunked : Mixer::full;
  }
  const int every = c.integer_or({"no_rope_layer_interval"}, f.full_every, 0, max_layers);
  return every > 0 && (layer + 1) % every == 0 ? Mixer::full : Mixer::chunked;
}

Mixer mixer_of(const Config& c, const Family& f, int layer, std::int64_t window) {
  if (f.mixer_only) return Mixer::mamba;
  if (const auto type = c.per_layer({"attn_type_list"}, layer, 0, 1)) return *type == 1 ? Mixer::full : Mixer::linear;
  if (const auto period = c.find({"attn_layer_period"})) {
    const bool attention =
        layer % int(period->integer(1, max_layers)) == c.integer_or({"attn_layer_offset"}, 0, 0, max_layers);
    return attention ? Mixer::full : Mixer::mamba;
  }
  if (const auto indices = c.find({"attn_layer_indices"})) {
    for (const Field& i : indices->elements()) {
      if (i.integer(0, max_layers) == layer) return Mixer::full;
    }
    return Mixer::mamba;
  }
  if (const auto every = c.find({"full_attention_interval"})) {
    return (layer + 1) % int(every->integer(1, max_layers)) == 0 ? Mixer::full : Mixer::linear;
  }
  if (const auto windowed = c.per_layer({"hybrid_layer_pattern"}, layer, 0, 1)) {
    return *windowed == 1 ? Mixer::windowed : Mixer::full;
  }
  if (c.find({"attention_chunk_size"})) return chunked_or_full(c, f, layer);
  return windowed_or_full(c, f, layer, window);
}

}  // namespace

std::vector<LayerPlan> read_plan(const Config& c, const Family& f, const Shape& s) {
  if (const auto pattern = c.find({"hybrid_override_pattern"})) return letters(c, *pattern, s.layers);

  // The kinds as a list of words: layer_types, layers_block_type, attention_layers; or attention_types in groups.
  std::vector<Field> words;
  if (const auto list = c.find({"layers_block_type", "layer_types", "attention_layers"})) {
    words = per_layer_list(c, *list, s.layers);
  } else if (const auto groups = c.find({"attention_types"})) {
    words = expanded(*groups);
    if (words.size() != std::size_t(s.layers)) wrong_length(c, *groups, words.size(), s.layers);
  }
  const std::int64_t window = read_window(c, f);
  const bool experts = has_experts(c);
  bool single = false;  // feed-forwards are layers of their own
  for (const Field& word : words) {
    LayerPlan ignored;
    single = single || single_block(word, ignored);
  }
  Plan plan;
  for (int i = 0; i < s.layers; ++i) {
    LayerPlan p;
    if (words.empty() || !single_block(words[std::size_t(i)], p)) {
      p.mixer = words.empty() ? mixer_of(c, f, i, window) : mixer_word(words[std::size_t(i)], window > 0);
      p.feed = single || f.mixer_only ? Feed::none
               : experts && is_moe_layer(c, i, s.layers) ? Feed::moe
                                                         : Feed::dense;
    }
    plan.push_back(p);
  }
  return plan;
}

Mamba read_mamba(const Config& c, const Family& f, const Shape& s) {
  Mamba m;
  m.state = c.integer("state size", {"mamba_d_state", "ssm_state_size", "state_size"}, 1, max_width);
  m.conv = c.integer_or({"mamba_d_conv", "conv_kernel"}, 4, 1, 1024);
  m.conv_bias = c.flag_or({"mamba_conv_bias", "use_conv_bias"}, true);
  m.proj_bias = (s.bias & part::mamba) != 0;
  m.inner_norms = c.flag_or({"mamba_inner_layernorms"}, f.mamba_inner_norms);
  const auto expand = c.find({"mamba_expand", "expand"});
  const auto width = f.mixer_only ? c.find({"intermediate_size"}) : std::nullopt;
  double inner = width    ? double(width->integer(1, max_width))
                 : expand ? expand->number() * s.hidden : 2.0 * s.hidden;
  if (const auto heads = c.find({"mamba_n_heads", "mamba_num_heads", "num_heads"})) {
    m.heads = int(heads->integer(1, max_heads));
    m.groups = c.integer_or({"mamba_n_groups", "n_groups"}, 1, 1, max_heads);
    const auto dim = c.find({"mamba_d_head", "mamba_head_dim", "head_dim"});
    if (dim && dim->is(Field::Type::number)) {
      m.head_dim = int(dim->integer(1, max_width));
      inner = double(m.heads) * m.head_dim;
    } else {
      m.head_dim = int(inner / m.heads);
    }
  } else {
    const auto rank = c.find({"mamba_dt_rank", "time_step_rank"});
    const bool given = rank && rank->is(Field::Type::number);
    m.dt_rank = given ? int(rank->integer(1, max_width)) : (s.hidden + 15) / 16;
    if (!given) c.assume("time-step rank: hidden / 16 = " + std::to_string(m.dt_rank));
  }
  if (!(inner >= 1 && inner <= double(max_width))) c.text().fail("the expanded width of the state-space layers is out of range");
  m.inner = int(inner);
  return m;
}

LinearAttention read_linear(const Config& c, const Shape& s) {
  LinearAttention l;
  if (c.find({"linear_num_value_heads"})) {
    l.delta_rule = true;
    l.key_heads = c.integer("number of linear key heads", {"linear_num_key_heads"}, 1, max_heads);
    l.value_heads = c.integer("number of linear value heads", {"linear_num_value_heads"}, 1, max_heads);
    l.key_head_dim = c.integer("linear key head dimension", {"linear_key_head_dim"}, 1, max_width);
    l.value_head_dim = c.integer("linear value head dimension", {"linear_value_head_dim"}, 1, max_width);
    l.conv = c.integer("linear convolution width", {"linear_conv_kernel_dim"}, 1, 1024);
    return l;
  }
  l.key_heads = l.value_heads = c.integer("number of attention heads", {"num_attention_heads"}, 1, max_heads);
  if (s.hidden < l.value_heads) c.text().fail("the hidden size is below the number of heads");
  l.key_head_dim = l.value_head_dim = c.integer_or({"head_dim"}, s.hidden / l.value_heads, 1, max_width);
  return l;
}

}  // namespace napkin::hf
