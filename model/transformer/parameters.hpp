// Parameters of an architecture, by block; exact integers. One formula counts and explains (quantity kind K).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/constant.hpp"
#include "model/transformer/architecture.hpp"

namespace napkin {

// One layer's parameters. `routed` counts all experts, `routed_active` the top_k a token visits.
struct LayerParameters {
  std::int64_t mixer = 0;        // attention, mamba or linear attention with their own norms and biases
  std::int64_t dense_ffn = 0;
  std::int64_t routed = 0, routed_active = 0;
  std::int64_t shared = 0;       // shared experts and their gate
  std::int64_t router = 0;
  std::int64_t norms = 0;        // norms of model width
  std::int64_t other = 0;
  [[nodiscard]] std::int64_t total() const {
    return mixer + dense_ffn + routed + shared + router + norms + other;
  }
  [[nodiscard]] std::int64_t active() const { return total() - routed + routed_active; }
};
[[nodiscard]] LayerParameters layer_parameters(const Architecture& a, const LayerKind& kind);

struct Parameters {
  std::int64_t embedding = 0, positions = 0, head = 0;  // head = 0 when tied
  std::int64_t mixer = 0, dense_ffn = 0, routed = 0, shared = 0, router = 0, norms = 0, other = 0;
  std::int64_t mtp = 0;          // the modules' own tensors
  std::int64_t mtp_copies = 0;   // embedding and head stored again by checkpoints; shared while training
  std::int64_t total = 0;            // without MTP; tied tensors once
  std::int64_t total_with_mtp = 0;   // as a checkpoint stores them, copies included
  std::int64_t active = 0;           // per token, embeddings included
  std::int64_t active_without_embedding = 0;           // some publishers leave the input embedding out,
  std::int64_t active_without_embedding_and_head = 0;  // others the head too
  [[nodiscard]] std::vector<std::pair<std::string, std::int64_t>> by_block() const;  // blocks of `total`, none empty
};
// InputError when the count leaves the exact range (2⁵³).
[[nodiscard]] Parameters parameters(const Architecture& a);

// The same count as quantities: what `parameters` rounds to integers and what --explain unfolds.
template <class K>
struct ParameterCount {
  ScalarT<K> embedding, positions, head, mixer, dense_ffn, routed, routed_active, shared, router, norms, other, mtp,
      mtp_copies, total, active;
};
template <class K>
[[nodiscard]] ParameterCount<K> count_parameters(const Scope<K>& s, const Architecture& a);

}  // namespace napkin
