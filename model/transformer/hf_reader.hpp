// The parts of a config.json reader, one file a concern. Internal to the hf_*_input files.
#pragma once

#include <vector>

#include "model/transformer/architecture.hpp"
#include "model/transformer/hf_config.hpp"
#include "model/transformer/hf_family.hpp"

namespace napkin::hf {

// What every part needs.
struct Shape {
  int layers = 0;
  int hidden = 0;
  unsigned bias = 0;  // parts with a bias
};
[[nodiscard]] Shape read_shape(const Config& c, const Family& f);

// Which mixer and which feed-forward a layer has.
enum class Mixer : std::uint8_t { full, windowed, chunked, mamba, linear, none };
enum class Feed : std::uint8_t { dense, moe, none };
struct LayerPlan {
  Mixer mixer = Mixer::full;
  Feed feed = Feed::dense;
};
[[nodiscard]] std::vector<LayerPlan> read_plan(const Config& c, const Family& f, const Shape& s);

// hf_attention_input.cpp. `windowed` picks the dimensions of sliding layers where a family gives them their own.
[[nodiscard]] Attention read_attention(const Config& c, const Family& f, const Shape& s, bool windowed);
[[nodiscard]] std::int64_t read_window(const Config& c, const Family& f);

// hf_ffn_input.cpp
[[nodiscard]] bool has_experts(const Config& c);
[[nodiscard]] bool is_moe_layer(const Config& c, int layer, int layers);
[[nodiscard]] Ffn read_form(const Config& c, const Family& f);  // gate and activation, without a width
[[nodiscard]] Ffn read_dense(const Config& c, const Family& f, const Shape& s);
[[nodiscard]] Moe read_experts(const Config& c, const Family& f, int layer);

// hf_hybrid_input.cpp
[[nodiscard]] Mamba read_mamba(const Config& c, const Family& f, const Shape& s);
[[nodiscard]] LinearAttention read_linear(const Config& c, const Shape& s);

// hf_blocks_input.cpp: block_configs, a list with one pair of attention and feed-forward choices per layer.
[[nodiscard]] bool has_blocks(const Config& c);
void append_blocks(const Config& c, const Family& f, const Shape& s, Architecture& a);

}  // namespace napkin::hf
