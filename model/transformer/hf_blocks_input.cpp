// Layers chosen one by one by a search (nemotron-nas): block_configs names each one's attention and feed-forward.
#include <cmath>

#include "model/transformer/hf_reader.hpp"
#include "model/transformer/layer_pattern.hpp"

namespace napkin::hf {
namespace {

constexpr double max_ratio = 1000;

bool flag(const Field& object, std::string_view name) {
  const auto f = object.find(name);
  return f && f->boolean();
}

void refuse_unsupported(const Field& object, std::initializer_list<std::string_view> names) {
  for (const auto name : names) {
    const auto f = object.find(name);
    if (f && (!f->is(Field::Type::boolean) || f->boolean())) f->fail("is not supported");
  }
}

// ffn_mult · 2/3 · hidden, rounded up to a multiple of 256.
int width(const Field& ratio, int hidden) {
  const double r = ratio.number();
  if (!(r > 0 && r <= max_ratio)) ratio.fail("is not a sensible ratio of feed-forward to hidden");
  const auto exact = std::int64_t(2 * r * hidden / 3);
  return int((exact + 255) / 256 * 256);
}

LayerKind block(const Config& c, const Family& f, const Shape& s, const Field& b) {
  LayerKind k;
  k.norms = 0;
  const Field attention = b["attention"], feed = b["ffn"];
  refuse_unsupported(attention, {"sparsify", "unshifted_sink", "use_prefill_window_in_sink_attention"});
  if (flag(attention, "replace_with_linear")) {
    k.extra_parameters += std::int64_t(s.hidden) * s.hidden;  // one square matrix stands for the attention
    k.norms += 1;
  } else if (!flag(attention, "no_op")) {
    k.attention = read_attention(c, f, s, false);
    const auto group = attention["n_heads_in_group"];
    const int n = int(group.integer(1, max_heads));
    if (k.attention->heads % n != 0) {
      group.fail(std::to_string(n) + " heads in a group do not divide " + std::to_string(k.attention->heads));
    }
    k.attention->kv_heads = k.attention->heads / n;
    if (const auto w = attention.find("window_length")) k.attention->window = w->integer(1, max_tokens);
    k.norms += 1;
  }
  refuse_unsupported(feed, {"sparsify"});
  if (flag(feed, "replace_with_linear")) {
    k.extra_parameters += std::int64_t(s.hidden) * s.hidden;
    k.norms += 1;
  } else if (!flag(feed, "no_op")) {
    k.ffn.width = width(feed["ffn_mult"], s.hidden);
    k.ffn.bias = (s.bias & part::ffn) != 0;
    k.norms += 1;
  }
  k.name = k.attention ? "dense" : k.ffn.width > 0 ? "ffn" : "linear";
  return k;
}

}  // namespace

bool has_blocks(const Config& c) { return c.find({"block_configs"}).has_value(); }

void append_blocks(const Config& c, const Family& f, const Shape& s, Architecture& a) {
  const Field list = c.need("list of layers", {"block_configs"});
  const auto blocks = list.elements();
  if (blocks.size() != std::size_t(s.layers)) {
    list.fail("has " + std::to_string(blocks.size()) + " blocks, not " + std::to_string(s.layers));
  }
  for (const Field& b : blocks) append_layer(a, block(c, f, s, b));
}

}  // namespace napkin::hf
