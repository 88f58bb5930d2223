#include "model/memory/number_format.hpp"

namespace napkin {

const std::vector<QuantFormat>& quant_formats() {
  static const std::vector<QuantFormat> formats{
      {"fp32", "no scales", "", 32},
      {"bf16", "no scales", "", 16},
      {"fp16", "no scales", "", 16},
      {"fp8", "one fp32 scale a tensor: nothing an element", "micikevicius2022fp8", 8},
      {"fp8-block", "fp32 scale for 128 x 128 weights", "deepseek-ai2024v3", 8, 32, 16384},
      {"fp8-tile", "fp32 scale for 1 x 128 activations", "deepseek-ai2024v3", 8, 32, 128},
      {"mxfp8", "E8M0 scale for 32", "ocp2023mx", 8, 8, 32},
      {"mxfp6", "E8M0 scale for 32", "ocp2023mx", 6, 8, 32},
      {"mxfp4", "E8M0 scale for 32", "ocp2023mx", 4, 8, 32},
      {"nvfp4", "E4M3 scale for 16, fp32 for the tensor", "nvidia2025nvfp4", 4, 8, 16},
      {"int8", "fp16 scale a row: nothing an element", "", 8},
      {"int4", "fp16 scale and 4-bit zero point for 128", "frantar2022gptq", 4, 16, 128, 0, 1, 4},
      {"nf4", "fp32 scale for 64", "dettmers2023qlora", 4, 32, 64},
      {"nf4-double", "8-bit scale for 64, fp32 for 256 of them", "dettmers2023qlora", 4, 8, 64, 32, 256},
  };
  return formats;
}
std::optional<QuantFormat> quant_format_named(std::string_view name) {
  for (const QuantFormat& f : quant_formats())
    if (f.name == name) return f;
  return std::nullopt;
}

template <class K>
ScalarT<K> bits_per_element(const Scope<K>& scope, const QuantFormat& f) {
  auto sum = scope.input("bits", f.bits, f.name);
  const auto block = scope.input("block", f.block, f.source);
  if (f.scale > 0) sum = sum + scope.input("scale_bits", f.scale, f.source) / block;
  if (f.zero > 0) sum = sum + scope.input("zero_bits", f.zero, f.source) / block;
  if (f.scale2 > 0)
    sum = sum + scope.input("scale2_bits", f.scale2, f.source) / (block * scope.input("blocks", f.block2, f.source));
  return let("bits_per_element", sum);
}
template <class K>
ScalarT<K> partial_speedup(ScalarT<K> share, ScalarT<K> ratio) {
  return let("speedup", 1 / (1 - share + share / ratio), "amdahl1967");
}

template Scalar bits_per_element<Plain>(const Scope<Plain>&, const QuantFormat&);
template ScalarT<Traced> bits_per_element<Traced>(const Scope<Traced>&, const QuantFormat&);
template Scalar partial_speedup<Plain>(Scalar, Scalar);
template ScalarT<Traced> partial_speedup<Traced>(ScalarT<Traced>, ScalarT<Traced>);

}  // namespace napkin
