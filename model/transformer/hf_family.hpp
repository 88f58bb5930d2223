// What each model_type does where its config.json is silent: one row of data per family, from the publishers' modelling
// code. Readers act on these mechanisms, never on names.
#pragma once

#include <array>
#include <string_view>

#include "model/transformer/architecture.hpp"

namespace napkin::hf {

// Tensors that may have a bias, as bits.
namespace part {
inline constexpr unsigned qkv = 1, out = 2, ffn = 4, head = 8, mamba = 16, all_linear = qkv | out | ffn;
}

// A boolean member that switches the biases of some parts on, or off where `inverted`.
struct BiasFlag {
  std::string_view name;
  unsigned parts = 0;
  bool inverted = false;
};
inline constexpr std::array<BiasFlag, 4> usual_bias_flags{
    {{"attention_bias", part::qkv | part::out},
     {"mlp_bias", part::ffn},
     {"lm_head_bias", part::head},
     {"qkv_bias", part::qkv}}};

// How many norms of model width a layer has when attention and feed-forward run in parallel.
enum class ParallelBlock : std::uint8_t {
  never,
  shared_norm,        // one norm feeds both
  separate_norms,     // each its own
  by_flags,           // parallel_attn, new_decoder_architecture, num_ln_in_parallel_attn
  residual_flag,      // use_parallel_residual: one norm when set
};

struct Family {
  std::string_view types;  // model_type values or architecture names, separated by spaces
  bool tied = false;
  Norm norm = Norm::rmsnorm;
  int norms = 2;
  ParallelBlock parallel = ParallelBlock::never;
  Position position = Position::rope;
  int extra_positions = 0;   // rows of the position table beyond the context
  int default_positions = 0; // context where the config is silent
  bool gated = true;
  Activation activation = Activation::silu;
  unsigned bias = 0;         // parts with a bias where no flag says otherwise
  std::array<BiasFlag, 4> bias_flags = usual_bias_flags;
  QkNorm qk_norm = QkNorm::none;      // where no flag says otherwise
  QkNorm qk_norm_kind = QkNorm::per_head;  // what use_qk_norm / qk_layernorm = true means
  bool qk_norm_bias = false;
  bool embedding_norm = false;
  bool output_gate = false;
  bool sinks = false;
  int full_every = 0;        // windows on all but each n-th layer; 0 = a window holds for all layers
  int window = 0;            // where the config is silent
  bool window_needs_flag = false;   // sliding_window counts only with use_sliding_window
  bool multi_query = false;  // default of multi_query
  bool ffn_halved = false;   // intermediate_size counts gate and up together
  int shared_experts = 0;    // where the config is silent
  bool shared_gate = false;
  bool router_bias = false, expert_bias = false;
  bool mamba_inner_norms = false;
  bool mixer_only = false;   // layers are one mixer, without feed-forward
  int layer_extra = 0;       // learned scalars per layer
  bool mtp_copies = false;   // checkpoints store embedding and head once more per multi-token-prediction module
};

// The family of a model_type, else of an architecture name; null when neither is known.
[[nodiscard]] const Family* find_family(std::string_view model_type, std::string_view architecture);

// Why a model_type cannot be expressed ("encoder-decoder ..."); empty when it is not known to be so.
[[nodiscard]] std::string_view refusal(std::string_view model_type);

}  // namespace napkin::hf
