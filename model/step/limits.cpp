#include "model/step/limits.hpp"

namespace napkin {

template <class K>
IntensityT<K> wire_intensity(FlopsPerSecondT<K> rate, BytesPerSecondT<K> link, ScalarT<K> axes) {
  return let("alpha", rate / (axes * link), "austin2025scaling");
}
namespace {
template <class K>
ScalarT<K> bare(IntensityT<K> alpha) {  // FLOPs per byte as a number
  return alpha / (1 * flop / byte);
}
}  // namespace

template <class K>
ScalarT<K> data_parallel_tokens(IntensityT<K> alpha, ScalarT<K> domains, ScalarT<K> model_parallel, ScalarT<K> sparsity) {
  auto tokens = bare(alpha) / model_parallel * sparsity;
  if (domains > 1) tokens = tokens * (domains - 1) / domains;
  return let("tokens_dp", tokens, "austin2025scaling");
}
template <class K>
ScalarT<K> tensor_parallel_limit(IntensityT<K> alpha, ScalarT<K> ffn) {
  return let("Y_max", ffn / bare(alpha), "austin2025scaling");
}
template <class K>
ScalarT<K> tensor_parallel_limit_two_domains(IntensityT<K> alpha, ScalarT<K> ffn, ScalarT<K> domain) {
  return let("Y_max_two_domains", domain + ffn / bare(alpha), "austin2025scaling");
}
template <class K>
ScalarT<K> width_for(IntensityT<K> alpha, ScalarT<K> ways) {
  return let("F_min", ways * bare(alpha), "austin2025scaling");
}
template <class K>
ScalarT<K> mixed_tokens(IntensityT<K> alpha, ScalarT<K> ffn) {
  return let("tokens_mixed", bare(alpha) * bare(alpha) / (2 * ffn), "austin2025scaling");
}
template <class K>
ScalarT<K> mixed_data_ways(ScalarT<K> batch, ScalarT<K> accelerators, ScalarT<K> ffn, ScalarT<K> axes_ratio) {
  return let("X_opt", sqrt(axes_ratio * batch * accelerators / ffn), "austin2025scaling");
}

template <class K>
ScalarT<K> decode_tensor_limit(ScalarT<K> ffn, ScalarT<K> batch, BytesPerSecondT<K> memory_bandwidth,
                               BytesPerSecondT<K> link) {
  return let("Y_decode", ffn / (batch * let("beta", memory_bandwidth / link)), "austin2025scaling");
}
template <class K>
DecodeProjection<K> decode_projection(ScalarT<K> batch, ScalarT<K> hidden, ScalarT<K> ffn, ScalarT<K> ways,
                                      BytesT<K> element, BytesPerSecondT<K> link, BytesPerSecondT<K> memory_bandwidth,
                                      FlopsPerSecondT<K> rate) {
  DecodeProjection<K> p;
  p.wire = let("T_wire", batch * hidden * element / link, "austin2025scaling");
  p.memory = let("T_memory", hidden * ffn * element / (ways * memory_bandwidth), "austin2025scaling");
  p.math = let("T_math", 2 * batch * hidden * ffn * flop / (ways * rate), "austin2025scaling");
  return p;
}
template <class K>
WeightStationary<K> weight_stationary(ScalarT<K> accelerators, ScalarT<K> width_ratio, ScalarT<K> axes) {
  WeightStationary<K> w;
  w.x = let("X", sqrt(accelerators / (2 * width_ratio)), "pope2022efficiently");
  w.yz = let("YZ", sqrt(2 * width_ratio * accelerators), "pope2022efficiently");
  w.coefficient = let("coefficient", sqrt(32 * width_ratio), "pope2022efficiently");
  w.fewest = let("N_min", 32 * width_ratio * axes * axes / 16, "pope2022efficiently");
  return w;
}

#define NAPKIN_INSTANTIATE(K)                                                                                          \
  template IntensityT<K> wire_intensity<K>(FlopsPerSecondT<K>, BytesPerSecondT<K>, ScalarT<K>);                        \
  template ScalarT<K> data_parallel_tokens<K>(IntensityT<K>, ScalarT<K>, ScalarT<K>, ScalarT<K>);                      \
  template ScalarT<K> tensor_parallel_limit<K>(IntensityT<K>, ScalarT<K>);                                             \
  template ScalarT<K> tensor_parallel_limit_two_domains<K>(IntensityT<K>, ScalarT<K>, ScalarT<K>);                     \
  template ScalarT<K> width_for<K>(IntensityT<K>, ScalarT<K>);                                                         \
  template ScalarT<K> mixed_tokens<K>(IntensityT<K>, ScalarT<K>);                                                      \
  template ScalarT<K> mixed_data_ways<K>(ScalarT<K>, ScalarT<K>, ScalarT<K>, ScalarT<K>);                              \
  template ScalarT<K> decode_tensor_limit<K>(ScalarT<K>, ScalarT<K>, BytesPerSecondT<K>, BytesPerSecondT<K>);          \
  template DecodeProjection<K> decode_projection<K>(ScalarT<K>, ScalarT<K>, ScalarT<K>, ScalarT<K>, BytesT<K>,         \
                                                    BytesPerSecondT<K>, BytesPerSecondT<K>, FlopsPerSecondT<K>);       \
  template WeightStationary<K> weight_stationary<K>(ScalarT<K>, ScalarT<K>, ScalarT<K>);
NAPKIN_INSTANTIATE(Plain)
NAPKIN_INSTANTIATE(Traced)
#undef NAPKIN_INSTANTIATE

}  // namespace napkin
