// What selective recomputation drops in the forward pass and runs again in the backward pass.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace napkin {

// Parts of a layer, as bits. The first six are Megatron-Core's --recompute-modules. The last two keep outputs of products
// instead of naming modules: XLA's policies that save dots (MaxText remat_policy minimal), and selective activation
// checkpointing by operator (PyTorch), which saves every second product and the attention.
enum RecomputeModule : std::uint8_t {
  recompute_core_attention = 1,
  recompute_norms = 2,
  recompute_mla_up = 4,
  recompute_activation = 8,         // between the linears of a feed-forward, dense or expert
  recompute_ffn = 16,               // a dense or shared feed-forward
  recompute_experts = 32,           // the routed part, its all-to-all included
  recompute_between_products = 64,  // everything but the linears
  recompute_second_products = 128   // every second linear, and everything but linears and attention
};
// Names in run records and profiles; the first of a bit is the one that is written.
inline constexpr std::array<std::pair<std::string_view, std::uint8_t>, 10> recompute_module_names{{
    {"core_attn", recompute_core_attention},
    {"layernorm", recompute_norms},
    {"mla_up_proj", recompute_mla_up},
    {"moe_act", recompute_activation},
    {"act", recompute_activation},
    {"mlp", recompute_ffn},
    {"shared_experts", recompute_ffn},
    {"moe", recompute_experts},
    {"between_linears", recompute_between_products},
    {"second_linears", recompute_second_products},
}};
inline constexpr std::uint8_t recompute_by_products = recompute_between_products | recompute_second_products;

}  // namespace napkin
