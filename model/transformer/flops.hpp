// FLOPs a model needs per token: the numerator of MFU, under a named convention.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/constant.hpp"
#include "model/transformer/architecture.hpp"

namespace napkin {

// How attention scores are counted. Full: all s·s pairs (chowdhery2022palm app. B; TorchTitan, NeMo 2024, MaxText, llm-foundry).
// Causal half: s/2 keys per query (Megatron-LM since 2025). Weights only: 6N (kaplan2020).
enum class FlopConvention : std::uint8_t { full_attention, causal_half, weights_only };
[[nodiscard]] std::string_view to_string(FlopConvention c);
[[nodiscard]] std::optional<FlopConvention> convention_named(std::string_view name);

template <class K>
struct TokenFlops {
  FlopsT<K> weights{};    // 6 per parameter a token multiplies with: input embedding out, head in
  FlopsT<K> attention{};  // scores and values, forward and backward
  FlopsT<K> total{};
};

// Training FLOPs per token at sequence length s: 6·N_matmul + 6·Σ_layers heads·(d_k + d_v)·keys, where keys is s, s/2 or
// the window. Multi-token-prediction modules count as trained layers. `frozen`: weights without gradient, 4 instead of 6
// (hu2022lora; adapters themselves are left out).
template <class K>
[[nodiscard]] TokenFlops<K> training_flops_per_token(Scope<K> scope, const Architecture& a, std::int64_t sequence,
                                                     FlopConvention convention, bool frozen = false);

// FLOPs per token that a backward pass executes again: all layers' forward, or the core attention alone.
template <class K>
[[nodiscard]] FlopsT<K> recompute_flops_per_token(Scope<K> scope, const Architecture& a, std::int64_t sequence,
                                                  FlopConvention convention, bool whole_layers);

}  // namespace napkin
