// Members that no reader asked for: harmless, or a mechanism we would silently leave out.
#include <algorithm>

#include "model/transformer/hf_unread.hpp"

namespace napkin::hf {
namespace {

// Members that change neither shapes nor counts: training, generation, tokenizer, numerics, housekeeping.
constexpr std::string_view harmless[] = {
    "_name_or_path", "_from_model_config", "_attn_implementation", "_experts_implementation", "architectures", "auto_map",
    "model_type", "transformers_version", "torch_dtype", "dtype", "use_cache", "id2label", "label2id", "cache_implementation",
    "attn_implementation", "_attn_implementation_autoset", "_attn_implementation_internal", "_flash_attn_2_enabled",
    "return_dict", "return_dict_in_generate", "output_scores", "torchscript", "use_bfloat16", "chunk_size_feed_forward",
    "tokenizer_class", "task_specific_params", "pruned_heads", "temperature", "top_k", "top_p", "typical_p", "max_length",
    "min_length", "num_beams", "num_beam_groups", "num_return_sequences", "repetition_penalty", "length_penalty",
    "diversity_penalty", "no_repeat_ngram_size", "early_stopping", "do_sample", "bad_words_ids", "suffix", "prefix",
    "quantization_config", "compression_config", "initializer_range", "initializer_cutoff_factor", "init_std", "init_device", "init_config",
    "initializer_factor", "use_mamba_kernels", "max_position_embeddings", "n_positions", "n_ctx", "max_sequence_length",
    "max_seq_len", "seq_length", "model_max_length", "initial_context_length", "original_max_position_embeddings",
    "bf16", "fp16", "fp32", "fp32_residual_connection", "residual_in_fp32", "softmax_in_fp32",
    "attention_softmax_in_fp32", "layernorm_epsilon", "layer_norm_epsilon", "layer_norm_eps", "rms_norm_eps", "norm_eps",
    "norm_epsilon", "epsilon", "apply_query_key_layer_scaling", "bias_dropout_fusion", "scale_attn_weights",
    "scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn", "scale_attention_softmax_in_fp32", "upcast_attn",
    "onnx_safe", "use_flash_attn", "flash_attn", "flash_rotary", "fused_dense", "fused_bias_fc", "fused_mlp",
    "fused_dropout_add_ln", "use_dynamic_ntk", "use_logn_attn", "use_fast_norm", "pretraining_tp", "ep_size", "seq_aux",
    "slow_but_exact", "hidden_act", "hidden_activation", "activation_function", "mlp_hidden_act", "mamba_hidden_act",
    "activation", "query_pre_attn_scalar", "attn_logit_softcapping", "final_logit_softcapping", "logit_scale",
    "clip_qkv", "norm_topk_prob", "topk_method", "scoring_func", "score_function", "routed_scaling_factor",
    "router_scaling_factor", "num_logits_to_keep", "output_router_logits", "output_attentions", "output_hidden_states",
    "is_decoder", "summary_type", "summary_use_proj", "summary_activation", "summary_first_dropout",
    "summary_proj_to_labels", "classifier_dropout", "finetuning_task", "problem_type", "chunk_size", "time_step_limit",
    "time_step_min", "time_step_max", "time_step_floor", "time_step_scale", "time_step_init_scheme", "dt_min", "dt_max",
    "mamba_chunk_size", "use_mixed_mlp_moe", "ff_factor", "norm_head",
    "shared_moe_mode", "mlp_intermediate_size", "cla_share_factor", "dense_list", "moe_capacity", "moe_gate",
    "order_of_interleaved_layers", "layer_switch", "use_gated_activation", "use_parallel_block",
    "use_parallel_embedding", "moe_shared_expert_overlap", "moe_drop_tokens", "moe_min_capacity", "rescale_prenorm_residual", "rescale_layer", "mamba_ssm_dtype", "mamba_ssm_cache_dtype",
    "swiglu_limit", "swiglu_alpha", "router_jitter_noise", "input_jitter_noise", "jitter_eps", "z_loss_weight",
    "scale_emb", "scale_depth", "dim_model_base", "mup_enabled", "max_window_layers", "use_mrope", "original_rope",
    "partial_rotary_factor", "rotary_dim", "position_embedding_type", "pos_emb_type", "interpolate_factor",
    "full_attn_mod", "use_bidirectional_attention", "vocab_size_per_layer_input", "full_attention_interval",
    "img_processor", "embd_layer", "visual", "layernorm_full_attention_alpha", "layernorm_full_attention_beta",
    "layernorm_linear_attention_alpha", "layernorm_linear_attention_beta", "layernorm_mlp_alpha", "layernorm_mlp_beta",
    "attn_temperature_tuning", "floor_scale", "attn_scale", "mscale", "use_gemma_norm", "postnorm", "use_scaled_rope",
    "apply_residual_connection_post_layernorm", "use_parallel_residual", "lm_head_multiplier", "embedding_multiplier",
    "embedding_multiplier_scale", "output_multiplier_scale", "attn_output_multiplier", "attention_multiplier",
    "residual_multiplier", "logits_scaling", "emb_pdrop", "hidden_dropout", "no_rope_layers", "no_rope_layer_interval",
    "mtp_use_dedicated_embeddings", "rope", "use_rope", "alibi", "alibi_bias_max", "verbose", "name", "license",
    "unk_token", "use_unpad", "parallel_attn", "norm_type", "rmsnorm", "post_layer_norm", "attention_value_scale",
    "indexer_rope_interleave", "interleaved_rope", "use_interleaved_rope", "moe_group_limited", "moe_use_aux_free",
    "moe_gate_type", "router_dtype", "moe_router_dtype", "hybrid_block_size", "attention_chunk_size", "window_size_for_sdpa",
    "for_llm_class", "image_size", "tp_size", "dp_size", "load_from_hf", "use_embedding_sharing"};

// Dimensions of layers that this model turned out not to have; where it has them, they were read.
constexpr std::string_view of_absent_layers[] = {"intermediate_size", "intermediate_size_mlp", "dense_intermediate_size",
                                                 "num_attention_heads", "num_key_value_heads", "head_dim",
                                                 "attn_config", "ffn_config"};

// Families of such members by how their names begin, end, or what they hold.
constexpr std::string_view harmless_begins[] = {"rope_", "rotary_", "image_", "video_", "vision_", "audio_", "summary_",
                                                "init_", "use_flash", "suppress_", "forced_", "encoder_no_", "remove_",
                                                "cross_attention_hidden", "exponential_", "begin_suppress", "tf_", "is_",
                                                "mamba_ssm", "decoder_start", "emb_init", "emb_layer", "param_init"};
constexpr std::string_view harmless_ends[] = {"_token_id", "_token_index", "_pdrop", "_dropout", "_dropout_prob", "_eps",
                                              "_epsilon", "_loss", "_loss_coef", "_loss_weight", "_aux_loss", "_loss_alpha", "_theta",
                                              "_base_freq", "_alpha", "_beta", "_std", "_init", "_fusion", "_scale",
                                              "_scaling", "_prob", "_method", "_dtype", "_implementation", "_coef", "_token",
                                              "_tokens", "_factor", "_multiplier", "_noise", "_norm_eps", "_range", "_fp32",
                                              "_version", "_jitter", "_tau", "_interleave", "_id", "_ids", "_path"};
// Mechanisms by the member that turns them on.
struct Mechanism {
  std::string_view member, name;
};
constexpr Mechanism mechanisms[] = {
    {"sparse_attention_config", "block-sparse attention with an index branch"},
    {"hidden_size_per_layer_input", "per-layer embeddings"},
    {"num_kv_shared_layers", "layers that reuse the keys and values of earlier ones"},
    {"use_cla", "cross-layer attention (keys and values shared between layers)"},
    {"cross_attention_layers", "cross-attention layers"},
    {"hc_mult", "hyper-connections"},
    {"compress_ratios", "compressed attention"},
    {"linear_attn_config", "Kimi delta attention"},
    {"use_double_wide_mlp", "feed-forwards twice as wide on some layers"},
    {"altup_num_inputs", "alternating updates (AltUp)"},
    {"zero_expert_num", "zero-computation experts"},
};

// A member with one of these in its name shapes the model.
constexpr std::string_view structural[] = {"expert", "moe",   "mamba", "ssm",  "lora",  "altup",  "laurel", "per_layer",
                                           "shared", "cross", "conv",  "index", "hyper", "head",  "_dim",   "layers",
                                           "_width", "rank",  "group", "sparse", "memory", "engram", "linear_attn",
                                           "gate",   "share", "hidden", "intermediate", "block", "mtp", "cla"};

bool is_harmless(std::string_view name) {
  const auto begins = [&](std::string_view s) { return name.starts_with(s); };
  const auto ends = [&](std::string_view s) { return name.ends_with(s); };
  return std::find(std::begin(harmless), std::end(harmless), name) != std::end(harmless) ||
         std::find(std::begin(of_absent_layers), std::end(of_absent_layers), name) != std::end(of_absent_layers) ||
         std::any_of(std::begin(harmless_begins), std::end(harmless_begins), begins) ||
         std::any_of(std::begin(harmless_ends), std::end(harmless_ends), ends);
}

bool is_structural(std::string_view name) {
  return std::any_of(std::begin(structural), std::end(structural),
                     [&](std::string_view s) { return name.find(s) != std::string_view::npos; });
}

}  // namespace

void judge_unread(const Config& c, bool family_is_known) {
  std::string ignored;
  for (const auto& [name, field] : c.unread()) {
    if (is_harmless(name)) continue;
    for (const Mechanism& m : mechanisms) {
      if (name == m.member) field.fail("asks for " + std::string(m.name) + ", which is not supported");
    }
    if (!family_is_known || is_structural(name)) {
      field.fail("the member \"" + name + "\" names a mechanism that is not supported for model_type \"" +
                 c.model_type() + "\"");
    }
    ignored += (ignored.empty() ? "" : ", ") + name;
  }
  if (!ignored.empty()) c.assume("members that no shape depends on, by their names: " + ignored);
}

}  // namespace napkin::hf
