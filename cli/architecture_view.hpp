// A model's shape and parameter count as tables and JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/table.hpp"
#include "model/transformer/architecture.hpp"
#include "model/transformer/parameters.hpp"

namespace napkin::cli {

// "32 heads of 128, 8 key-value heads, window 4,096": what mixes tokens in a layer of this kind.
[[nodiscard]] std::string mixer_text(const LayerKind& k);
// "gated 14,336" or "8 experts of 14,336, top 2, 1 shared": its feed-forward.
[[nodiscard]] std::string ffn_text(const LayerKind& k);
// One row per kind of layer: how many, what they are made of, parameters of one.
[[nodiscard]] Table kinds_table(const Architecture& a);
// One row per block, then the totals.
[[nodiscard]] Table blocks_table(const Architecture& a, const Parameters& p);
// Keys as docs/json.md has them.
[[nodiscard]] nlohmann::ordered_json architecture_json(const Architecture& a);
[[nodiscard]] nlohmann::ordered_json parameters_json(const Architecture& a, const Parameters& p);

}  // namespace napkin::cli
