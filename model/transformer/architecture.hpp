// What a model is: its shape, nothing about machines. Read by *_input files, counted by parameters.hpp, turned into
// operators by operators.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace napkin {

enum class Norm : std::uint8_t { rmsnorm, layernorm, layernorm_no_bias, none_parametric };
enum class Position : std::uint8_t { rope, learned, alibi, none };
enum class QkNorm : std::uint8_t { none, per_head, full_width };
enum class Activation : std::uint8_t { silu, gelu, relu, squared_relu };

// Softmax attention. GQA covers MHA (kv_heads = heads) and MQA (kv_heads = 1); MLA is deepseek-ai2024v2 §2.1.
struct Attention {
  friend bool operator==(const Attention&, const Attention&) = default;
  int heads = 0, kv_heads = 0;
  int head_dim = 0;          // of queries and keys (MLA: without the rope part)
  int v_head_dim = 0;        // of values; = head_dim unless the model says otherwise
  bool is_mla = false;
  int q_lora_rank = 0;       // MLA; 0 = queries are not compressed
  int kv_lora_rank = 0;      // MLA
  int rope_head_dim = 0;     // MLA: the decoupled rope part, shared by all heads on the key side
  std::int64_t window = 0;   // sliding window in tokens; 0 = full
  std::int64_t chunk = 0;    // chunked attention (Llama 4); 0 = none
  bool bias_qkv = false, bias_out = false;
  QkNorm qk_norm = QkNorm::none;
  bool qk_norm_bias = false;
  bool output_gate = false;  // an extra projection gates the output (Qwen3-Next)
  bool sinks = false;        // a learned logit per head (GPT-OSS)
  bool keys_are_values = false;  // K = V: no value projection (Gemma 4's global layers)
  // Sparse-attention indexer (DeepSeek V3.2, GLM-5): 0 heads = none.
  int indexer_heads = 0, indexer_head_dim = 0, indexer_top_k = 0;
};

// Mamba-2 / SSD mixer (dao2024mamba2), Mamba-1 when `heads` is 0.
struct Mamba {
  friend bool operator==(const Mamba&, const Mamba&) = default;
  int inner = 0;      // expanded width
  int heads = 0, head_dim = 0;
  int groups = 1, state = 0, conv = 4;
  int dt_rank = 0;    // Mamba-1
  bool conv_bias = true, proj_bias = false, inner_norms = false;
};

// Linear attention with a recurrent state: gated delta net (Qwen3-Next), lightning attention (MiniMax).
struct LinearAttention {
  friend bool operator==(const LinearAttention&, const LinearAttention&) = default;
  int key_heads = 0, value_heads = 0, key_head_dim = 0, value_head_dim = 0;
  int conv = 0;
  bool delta_rule = false;  // gated delta net; otherwise lightning
};

struct Moe {
  friend bool operator==(const Moe&, const Moe&) = default;
  int experts = 0, top_k = 0;
  int ffn = 0;                 // width of one routed expert
  int latent = 0;              // experts work in a narrower width (0 = hidden)
  int shared_experts = 0;
  int shared_ffn = 0;          // total width of the shared experts
  bool shared_gate = false;    // a scalar gate on the shared expert's output
  bool router_bias = false;    // a bias or correction per expert that counts as parameters
  double capacity_factor = 0;  // 0 = dropless
  int groups = 0, group_limit = 0;  // node-limited routing; 0 = none
  bool expert_bias = false;
};

// `width` and `moe` both set = a dense part beside the experts, added to their output (Arctic, Grok-2, Gemma 4).
struct Ffn {
  friend bool operator==(const Ffn&, const Ffn&) = default;
  int width = 0;       // dense part; 0 with `moe` unset = no feed-forward in this layer
  bool gated = true;
  Activation activation = Activation::silu;
  bool bias = false;
  bool clamped = false;  // gate and value are clamped, which no fused kernel does everywhere (GPT-OSS)
  std::optional<Moe> moe;
};

// A kind of layer: exactly one mixer (or none), then a feed-forward (or none).
struct LayerKind {
  std::string name = "layer";  // "dense", "moe", "sliding", "mamba", ...
  std::optional<Attention> attention;
  std::optional<Mamba> mamba;
  std::optional<LinearAttention> linear;
  Ffn ffn;
  int norms = 2;               // norms of model width in the layer
  bool parallel_ffn = false;   // attention and feed-forward read the same input (GPT-J, Falcon)
  std::int64_t extra_parameters = 0;  // small odd tensors, documented where set
  friend bool operator==(const LayerKind&, const LayerKind&) = default;
};

struct Architecture {
  std::string name;
  std::int64_t hidden = 0;
  std::int64_t vocab = 0;
  bool tied_embeddings = false;
  bool final_norm = true;
  bool embedding_norm = false;       // BLOOM: a norm after the embedding
  std::int64_t embedding_width = 0;  // 0 = hidden; OPT-350m projects
  Norm norm = Norm::rmsnorm;
  Position position = Position::rope;
  std::int64_t learned_positions = 0;  // rows of the position table; 0 with Position::learned = not known
  bool head_bias = false;
  bool dropout = false;              // masks are saved (GPT-3 era)
  std::vector<LayerKind> kinds;      // the distinct layers
  std::vector<std::uint8_t> layers;  // kinds[layers[i]] is layer i
  int mtp_layers = 0;                // multi-token-prediction modules (deepseek-ai2024v3 §2.2)
  int mtp_kind = 0;                  // which kind each repeats
  bool mtp_copies_embeddings = false;  // checkpoints store the shared embedding and head once more per module
  std::int64_t context = 0;          // trained context length; 0 = unknown
  std::int64_t extra_parameters = 0; // outside the layers, documented where set
  std::string origin;                // "preset llama3-8b", "config.json", "synthesised for 100B"
  std::vector<std::string> assumptions;  // what was inferred rather than given

  [[nodiscard]] const LayerKind& layer(std::size_t i) const { return kinds[layers[i]]; }
  [[nodiscard]] std::size_t depth() const { return layers.size(); }
};
[[nodiscard]] inline bool has_experts(const Architecture& a) {
  for (const LayerKind& k : a.kinds)
    if (k.ffn.moe) return true;
  return false;
}

}  // namespace napkin
