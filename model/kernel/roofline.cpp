#include "model/kernel/roofline.hpp"

namespace napkin {

template <class K>
FlopsT<K> product_flops(ScalarT<K> m, ScalarT<K> n, ScalarT<K> k) {
  return let("FLOPs", 2 * m * n * k * flop);
}
template <class K>
BytesT<K> product_bytes(ScalarT<K> m, ScalarT<K> n, ScalarT<K> k, const ElementBytes<K>& e) {
  return let("bytes", m * k * e.a + k * n * e.b + m * n * e.c);
}
template <class K>
IntensityT<K> ridge(FlopsPerSecondT<K> peak, BytesPerSecondT<K> bandwidth) {
  return let("I_ridge", peak / bandwidth, "williams2009roofline");
}

template <class K>
Roofline<K> roofline(FlopsT<K> flops, BytesT<K> bytes, ScalarT<K> devices, FlopsPerSecondT<K> peak,
                     BytesPerSecondT<K> bandwidth) {
  Roofline<K> r;
  r.ridge = ridge(peak, bandwidth);
  r.math = let("T_math", flops / (devices * peak));
  r.memory = let("T_memory", bytes / (devices * bandwidth));
  r.lower = let("T", max(r.math, r.memory), "williams2009roofline");
  r.upper = let("T_no_overlap", r.math + r.memory);
  r.compute_bound = r.math.si() >= r.memory.si();
  if (!(bytes.si() > 0)) return r;
  r.intensity = let("I", flops / bytes);
  r.attainable = let("attainable", min(peak, r.intensity * bandwidth), "williams2009roofline");
  r.share = let("share_of_peak", r.attainable / peak);
  return r;
}

template <class K>
ScalarT<K> critical_rows(IntensityT<K> at, BytesT<K> weight) {
  return let("m_crit", at * weight / (2 * flop));
}
template <class K>
ScalarT<K> exact_critical_rows(IntensityT<K> at, ScalarT<K> n, ScalarT<K> k, const ElementBytes<K>& e) {
  const auto lost = at * (k * e.a + n * e.c);
  return let("m_crit_exact", at * e.b * n * k / (2 * n * k * flop - lost));
}

template <class K>
IntensityT<K> tile_intensity(ScalarT<K> rows, ScalarT<K> columns, const ElementBytes<K>& e) {
  return let("I_tile", 2 * rows * columns * flop / (rows * e.a + columns * e.b), "nvidia2023matmul");
}
template <class K>
Waves<K> waves(ScalarT<K> m, ScalarT<K> n, ScalarT<K> rows, ScalarT<K> columns, ScalarT<K> units) {
  Waves<K> w;
  w.tiles = let("tiles", ceil(m / rows) * ceil(n / columns), "nvidia2023matmul");
  w.waves = let("waves", ceil(w.tiles / units), "nvidia2023matmul");
  w.wave_efficiency = let("wave_efficiency", w.tiles / (w.waves * units));
  w.tile_efficiency = let("tile_efficiency", m * n / (w.tiles * rows * columns));
  return w;
}

template <class K>
ScalarT<K> resident_warps(BytesT<K> registers_of_unit, ScalarT<K> registers_of_thread, ScalarT<K> warp) {
  return let("warps", floor(registers_of_unit / (4 * byte * warp * registers_of_thread)));
}
template <class K>
PerSecondT<K> clock_of(FlopsPerSecondT<K> rate, ScalarT<K> units, ScalarT<K> lanes, ScalarT<K> per_cycle) {
  return let("clock", rate / (units * lanes * per_cycle * flop));
}
template <class K>
FlopsPerSecondT<K> rate_of_lanes(PerSecondT<K> clock, ScalarT<K> units, ScalarT<K> lanes, ScalarT<K> per_cycle) {
  return let("rate", clock * units * lanes * per_cycle * flop);
}
template <class K>
ScalarT<K> padded(ScalarT<K> size, ScalarT<K> tile) {
  return let("padded", ceil(size / tile) * tile);
}

#define NAPKIN_INSTANTIATE(K)                                                                                          \
  template FlopsT<K> product_flops<K>(ScalarT<K>, ScalarT<K>, ScalarT<K>);                                             \
  template BytesT<K> product_bytes<K>(ScalarT<K>, ScalarT<K>, ScalarT<K>, const ElementBytes<K>&);                     \
  template IntensityT<K> ridge<K>(FlopsPerSecondT<K>, BytesPerSecondT<K>);                                             \
  template Roofline<K> roofline<K>(FlopsT<K>, BytesT<K>, ScalarT<K>, FlopsPerSecondT<K>, BytesPerSecondT<K>);          \
  template ScalarT<K> critical_rows<K>(IntensityT<K>, BytesT<K>);                                                      \
  template ScalarT<K> exact_critical_rows<K>(IntensityT<K>, ScalarT<K>, ScalarT<K>, const ElementBytes<K>&);           \
  template IntensityT<K> tile_intensity<K>(ScalarT<K>, ScalarT<K>, const ElementBytes<K>&);                            \
  template Waves<K> waves<K>(ScalarT<K>, ScalarT<K>, ScalarT<K>, ScalarT<K>, ScalarT<K>);                              \
  template ScalarT<K> resident_warps<K>(BytesT<K>, ScalarT<K>, ScalarT<K>);                                            \
  template PerSecondT<K> clock_of<K>(FlopsPerSecondT<K>, ScalarT<K>, ScalarT<K>, ScalarT<K>);                          \
  template FlopsPerSecondT<K> rate_of_lanes<K>(PerSecondT<K>, ScalarT<K>, ScalarT<K>, ScalarT<K>);                     \
  template ScalarT<K> padded<K>(ScalarT<K>, ScalarT<K>);
NAPKIN_INSTANTIATE(Plain)
NAPKIN_INSTANTIATE(Traced)
#undef NAPKIN_INSTANTIATE

}  // namespace napkin
