#include "model/transformer/hf_family.hpp"

namespace napkin::hf {
namespace {

using namespace part;

// Sources: transformers' configuration_*.py and modeling_*.py (5.x), and the publishers' remote code where a family has
// its own. A member that is absent here has the value of hf_family.hpp.
constexpr Family families[] = {
    // ---- Llama and its like: RMSNorm, RoPE, gated SiLU, no biases ----
    {.types = "llama mistral ministral ministral3 mixtral Yi yi xverse aquila skywork baichuan deepseek granite "
              "granitemoe granitemoeshared exaone minimax_m1 mistral3 llava_llama InternLM3 helium"},
    {.types = "minicpm smollm3", .tied = true},
    {.types = "phi3 phi4mm"},
    {.types = "seed_oss", .bias = qkv,
     .bias_flags = {{{"attention_bias", qkv}, {"attention_out_bias", out}, {"mlp_bias", ffn}}}},
    {.types = "internlm", .bias = qkv | out, .bias_flags = {{{"bias", qkv | out}}}},
    {.types = "internlm2", .bias_flags = {{{"bias", qkv | out}}}},
    {.types = "internlm3", .bias_flags = {{{"qkv_bias", qkv}, {"bias", out | ffn}}}},
    {.types = "ernie4_5 ernie4_5_text", .tied = true, .bias_flags = {{{"use_bias", all_linear}}}},
    {.types = "ernie4_5_moe", .tied = true, .bias_flags = {{{"use_bias", all_linear}}}, .router_bias = true},
    {.types = "exaone4", .qk_norm = QkNorm::per_head},
    {.types = "hunyuan_v1_moe hunyuan_v1_dense hunyuan"},
    {.types = "arcee", .gated = false, .activation = Activation::squared_relu},
    {.types = "apertus", .gated = false, .qk_norm = QkNorm::per_head, .layer_extra = 2},  // xIELU learns two scalars
    {.types = "olmo", .norm = Norm::none_parametric},
    {.types = "olmo2", .qk_norm = QkNorm::full_width, .qk_norm_kind = QkNorm::full_width},
    {.types = "olmo3", .qk_norm = QkNorm::full_width, .qk_norm_kind = QkNorm::full_width, .full_every = 4},
    {.types = "olmoe flex_olmo", .qk_norm = QkNorm::full_width, .qk_norm_kind = QkNorm::full_width},
    {.types = "orion", .norm = Norm::layernorm},
    // ---- Qwen ----
    {.types = "qwen", .bias = qkv, .bias_flags = {{{"no_bias", out | ffn, true}}}, .ffn_halved = true},
    {.types = "qwen2 qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text", .bias = qkv, .window_needs_flag = true},
    {.types = "qwen2_moe", .bias = qkv, .window_needs_flag = true, .shared_gate = true},
    {.types = "qwen3 qwen3_moe qwen3_vl_text qwen3_vl_moe_text", .qk_norm = QkNorm::per_head,
     .window_needs_flag = true},
    {.types = "qwen3_next qwen3_5_text qwen3_5_moe_text qwen3_5 qwen3_5_moe", .qk_norm = QkNorm::per_head,
     .output_gate = true, .window_needs_flag = true, .shared_gate = true},
    {.types = "mimo", .bias = qkv, .bias_flags = {{{"attention_bias", qkv}}}, .window_needs_flag = true},
    {.types = "mimo_v2_flash mimo_v2", .bias_flags = {{{"attention_bias", qkv}}}, .router_bias = true},
    // ---- Gemma ----
    {.types = "gemma", .tied = true, .activation = Activation::gelu},
    {.types = "gemma2", .tied = true, .norms = 4, .activation = Activation::gelu, .full_every = 2, .window = 4096},
    {.types = "gemma3 gemma3_text", .tied = true, .norms = 4, .activation = Activation::gelu,
     .qk_norm = QkNorm::per_head, .full_every = 6, .window = 4096},
    {.types = "gemma4 gemma4_text", .tied = true, .norms = 4, .activation = Activation::gelu,
     .qk_norm = QkNorm::per_head, .full_every = 6, .window = 512},
    // ---- Cohere: one LayerNorm without bias feeds attention and feed-forward ----
    {.types = "cohere", .tied = true, .norm = Norm::layernorm_no_bias, .norms = 1,
     .parallel = ParallelBlock::shared_norm, .qk_norm_kind = QkNorm::full_width},
    {.types = "cohere2", .tied = true, .norm = Norm::layernorm_no_bias, .norms = 1,
     .parallel = ParallelBlock::shared_norm, .full_every = 4, .window = 4096},
    // ---- The GPT lineage: LayerNorm, ungated GELU ----
    {.types = "gpt2", .tied = true, .norm = Norm::layernorm, .position = Position::learned, .default_positions = 1024,
     .gated = false, .activation = Activation::gelu, .bias = all_linear},
    {.types = "gpt_bigcode", .tied = true, .norm = Norm::layernorm, .position = Position::learned,
     .default_positions = 1024, .gated = false, .activation = Activation::gelu, .bias = all_linear,
     .multi_query = true},
    {.types = "gpt_neo", .tied = true, .norm = Norm::layernorm, .position = Position::learned,
     .default_positions = 2048, .gated = false, .activation = Activation::gelu, .bias = out | ffn},
    {.types = "gptj codegen", .norm = Norm::layernorm, .norms = 1, .parallel = ParallelBlock::shared_norm,
     .gated = false, .activation = Activation::gelu, .bias = ffn | head},
    {.types = "gpt_neox", .norm = Norm::layernorm, .parallel = ParallelBlock::separate_norms, .gated = false,
     .activation = Activation::gelu, .bias = all_linear, .bias_flags = {{{"attention_bias", qkv | out}}}},
    {.types = "bloom", .tied = true, .norm = Norm::layernorm, .position = Position::alibi, .gated = false,
     .activation = Activation::gelu, .bias = all_linear, .embedding_norm = true},
    {.types = "opt", .tied = true, .norm = Norm::layernorm, .position = Position::learned, .extra_positions = 2,
     .default_positions = 2048, .gated = false, .activation = Activation::relu, .bias = all_linear,
     .bias_flags = {{{"enable_bias", all_linear}}}},
    {.types = "mpt", .tied = true, .norm = Norm::layernorm_no_bias, .position = Position::learned,
     .default_positions = 2048, .gated = false, .activation = Activation::gelu,
     .bias_flags = {{{"no_bias", all_linear, true}}}, .qk_norm_kind = QkNorm::full_width},
    {.types = "falcon RefinedWebModel", .tied = true, .norm = Norm::layernorm,
     .parallel = ParallelBlock::by_flags, .gated = false, .activation = Activation::gelu,
     .bias_flags = {{{"bias", all_linear}}}, .multi_query = true},
    {.types = "persimmon", .norm = Norm::layernorm, .gated = false, .activation = Activation::squared_relu,
     .bias = all_linear, .qk_norm = QkNorm::per_head, .qk_norm_bias = true},
    {.types = "phi phi-msft", .norm = Norm::layernorm, .norms = 1, .parallel = ParallelBlock::shared_norm,
     .gated = false, .activation = Activation::gelu, .bias = all_linear | head, .qk_norm_bias = true},
    {.types = "stablelm stablelm_epoch", .norm = Norm::layernorm, .parallel = ParallelBlock::residual_flag,
     .bias_flags = {{{"use_qkv_bias", qkv}}}, .qk_norm_kind = QkNorm::full_width},
    {.types = "starcoder2", .tied = true, .norm = Norm::layernorm, .gated = false, .activation = Activation::gelu,
     .bias = all_linear, .bias_flags = {{{"use_bias", all_linear}}}},
    {.types = "nemotron", .norm = Norm::layernorm, .gated = false, .activation = Activation::squared_relu},
    // ---- ChatGLM and GLM ----
    {.types = "chatglm", .bias = all_linear,
     .bias_flags = {{{"add_bias_linear", all_linear}, {"add_qkv_bias", qkv}}}},
    {.types = "glm", .bias_flags = {{{"attention_bias", qkv}}}},
    {.types = "glm4 glm4v_text", .norms = 4, .bias_flags = {{{"attention_bias", qkv}}}},
    {.types = "glm4_moe glm4v_moe_text", .bias_flags = {{{"attention_bias", qkv}}}, .router_bias = true,
     .mtp_copies = true},
    // ---- Mixtures of experts ----
    {.types = "dbrx", .norm = Norm::layernorm_no_bias},
    {.types = "phimoe", .norm = Norm::layernorm},
    {.types = "gpt_oss", .bias = qkv | out, .sinks = true, .full_every = 2, .window = 128, .router_bias = true,
     .expert_bias = true},
    {.types = "deepseek_v2"},
    {.types = "deepseek_v3 deepseek_v32 kimi_k2 kimi_k25 glm_moe_dsa glm4_moe_lite", .router_bias = true,
     .mtp_copies = true},
    {.types = "dots1", .qk_norm = QkNorm::per_head, .router_bias = true},
    {.types = "minicpm3", .tied = true},
    {.types = "llama4 llama4_text", .qk_norm_kind = QkNorm::none, .full_every = 4, .shared_experts = 1},
    {.types = "minimax_m2", .qk_norm_kind = QkNorm::full_width},
    {.types = "minimax_m3", .qk_norm_kind = QkNorm::full_width, .mtp_copies = true},
    {.types = "minimax_text_01 minimax"},
    {.types = "bailing_moe bailing_moe_v2", .bias_flags = {{{"use_qkv_bias", qkv}, {"use_bias", out}}}},
    {.types = "grok-1 grok1 Grok1ModelForCausalLM", .tied = true, .norms = 4, .activation = Activation::gelu},
    {.types = "Grok1ForCausalLM", .norms = 4, .activation = Activation::gelu},
    {.types = "arctic"},
    // ---- State-space models and hybrids ----
    {.types = "mamba mamba2", .tied = true, .norms = 1, .position = Position::none,
     .bias_flags = {{{"use_bias", mamba}}}, .mixer_only = true},
    {.types = "falcon_mamba", .tied = true, .norms = 1, .position = Position::none,
     .bias_flags = {{{"use_bias", mamba}}}, .mixer_only = true},
    {.types = "jamba", .position = Position::none,
     .bias_flags = {{{"mamba_proj_bias", mamba}}}, .mamba_inner_norms = true},
    {.types = "bamba granitemoehybrid",
     .bias_flags = {{{"mamba_proj_bias", mamba}, {"attention_bias", qkv | out}, {"mlp_bias", ffn}}}},
    {.types = "nemotron_h nemotron_h_text", .position = Position::none, .gated = false,
     .activation = Activation::squared_relu,
     .bias_flags = {{{"attention_bias", qkv | out}, {"mlp_bias", ffn}, {"use_bias", mamba},
                     {"mamba_proj_bias", mamba}}},
     .router_bias = true},
    {.types = "nemotron-nas deci"},
};

struct Refusal {
  std::string_view types, why;
};
constexpr Refusal refusals[] = {
    {"t5 mt5 umt5 longt5 switch_transformers bart mbart pegasus pegasus_x led marian m2m_100 nllb_moe blenderbot "
     "blenderbot-small whisper prophetnet fsmt t5gemma encoder-decoder speech_to_text moshi seamless_m4t",
     "encoder-decoder with cross-attention"},
    {"bert roberta xlm-roberta deberta deberta-v2 electra albert distilbert mpnet modernbert nomic_bert longformer "
     "big_bird camembert ernie xlm xlnet roformer funnel clip siglip vit",
     "encoder with bidirectional attention, not a causal decoder"},
    {"rwkv rwkv5 rwkv6 rwkv7", "RWKV time-mixing recurrence"},
    {"xlstm", "xLSTM recurrence"},
    {"recurrent_gemma", "RG-LRU recurrent blocks"},
    {"zamba zamba2", "one attention block shared between layers, with adapters"},
    {"gemma3n gemma3n_text", "alternating updates (AltUp), LAuReL and per-layer embeddings"},
    {"falcon_h1 hymba", "attention and Mamba heads in parallel inside one layer"},
    {"mllama mllama_text_model", "cross-attention layers"},
    {"lfm2 lfm2_moe", "gated short-convolution layers"},
    {"longcat_flash", "zero-computation experts and two attention blocks a layer"},
    {"kimi_linear", "Kimi delta attention (channel-wise gates)"},
    {"openelm", "layer-wise scaling of heads and feed-forward"},
    {"phi3small", "block-sparse attention with GEGLU halves"},
    {"deepseek_v4", "hyper-connections and compressed sparse attention"},
    {"diffllama", "differential attention"},
    {"bitnet", "ternary linear layers with inner norms"},
};

// Whether `word` is one of the words of `list`.
bool holds(std::string_view list, std::string_view word) {
  if (word.empty()) return false;
  while (!list.empty()) {
    const auto space = list.find(' ');
    if (list.substr(0, space) == word) return true;
    list = space == std::string_view::npos ? std::string_view() : list.substr(space + 1);
  }
  return false;
}

}  // namespace

const Family* find_family(std::string_view model_type, std::string_view architecture) {
  for (const auto name : {model_type, architecture}) {
    for (const Family& f : families) {
      if (holds(f.types, name)) return &f;
    }
  }
  return nullptr;
}

std::string_view refusal(std::string_view model_type) {
  for (const Refusal& r : refusals) {
    if (holds(r.types, model_type)) return r.why;
  }
  return {};
}

}  // namespace napkin::hf
