// Derivations as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "model/derivation.hpp"

namespace napkin::cli {

// The arithmetic behind the roots, unfolded from the answer down: inputs stand above the step that first uses them.
//   B_nvl  = 450 GB/s                                           [h200.json#/links/nvlink/bandwidth]
//   T_ar   = 2 * (p - 1) * alpha + 2 * (p - 1) / p * n / B_nvl  [patarasuk2009]
//          = 2 * (8 - 1) * 5 us + 2 * (8 - 1) / 8 * 14 GB / 450 GB/s
//          = 54.5 ms
// Null roots (numbers without a derivation) are left out.
[[nodiscard]] std::string explain(std::span<const Node* const> roots);
[[nodiscard]] std::string explain(const Node* root);

// [{id, name, kind: "input"|"step", formula, substituted, value, unit, source, notes[], uses[ids]}]: a flat list in the
// same order; `value` in SI, `unit` its SI unit.
[[nodiscard]] nlohmann::ordered_json explain_json(std::span<const Node* const> roots);
[[nodiscard]] nlohmann::ordered_json explain_json(const Node* root);

}  // namespace napkin::cli
