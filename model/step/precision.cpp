#include "model/step/precision.hpp"

#include <array>

namespace napkin {
namespace {

struct Recipe {
  std::string_view name;
  Format base, gemm;
  double base_bytes, gemm_bytes;
  // Memory traffic to quantise one element: read the high-precision value, write the row-wise and the column-wise copy
  // that the forward and weight-gradient products read (micikevicius2022fp8; Transformer Engine keeps both), with
  // scales. Block formats read once more for the maximum of a block,
  // NVFP4 for that of the whole tensor, its second level of scales (nvidia2025nvfp4).
  double cast_bytes;
  // Share of the format's matrix rate that the recipe's products reach. Row-wise scales: TorchTitan trains Llama 70B on 256
  // H100 no faster than in bf16, and 1.35-1.5 times as fast with per-tensor scales (liang2024torchtitan, asyncTP table).
  double rate = 1;
};

// Bytes of an element with its scales: MXFP8 a byte scale per 32 (ocp2023mx), NVFP4 half a byte and a byte per 16, block
// FP8 an fp32 scale per 128×128 or 1×128 (deepseek-ai2024v3 §3.3).
constexpr std::array<Recipe, 10> recipes{{
    {"bf16", Format::bf16, Format::bf16, 2, 2, 0},
    {"fp16", Format::fp16, Format::fp16, 2, 2, 0},
    {"tf32", Format::tf32, Format::tf32, 4, 4, 0},
    {"fp32", Format::fp32, Format::fp32, 4, 4, 0},
    {"fp8", Format::bf16, Format::fp8, 2, 1, 4},
    {"fp8-rowwise", Format::bf16, Format::fp8, 2, 1, 6, 0.61},
    {"fp8-block", Format::bf16, Format::fp8, 2, 1 + 4.0 / 128, 6},
    {"mxfp8", Format::bf16, Format::fp8, 2, 1 + 1.0 / 32, 4 + 2.0 / 32},
    {"mxfp4", Format::bf16, Format::fp4, 2, 0.5 + 1.0 / 32, 3 + 2.0 / 32},
    {"nvfp4", Format::bf16, Format::fp4, 2, 0.5 + 1.0 / 16, 5 + 2.0 / 16},
}};

}  // namespace

std::optional<Precision> precision_named(std::string_view name) {
  for (const Recipe& r : recipes)
    if (r.name == name)
      return Precision{.name = std::string(r.name),
                       .base = r.base,
                       .gemm = r.gemm,
                       .base_bytes = r.base_bytes,
                       .gemm_bytes = r.gemm_bytes,
                       .cast_bytes = r.cast_bytes,
                       .rate = r.rate};
  return {};
}

std::vector<std::string_view> precision_names() {
  std::vector<std::string_view> names;
  for (const Recipe& r : recipes) names.push_back(r.name);
  return names;
}

}  // namespace napkin
