// The roofline as arithmetic on a page (williams2009roofline): intensity, ridge, bounds; and what tiles do to a product.
#pragma once

#include "model/constant.hpp"

namespace napkin {

template <class K>
using IntensityT = Quantity<Dim{.byte = -1, .flop = 1}, K>;

// Bytes of an element of the operands A[m,k] and B[k,n] and of the result C[m,n].
template <class K>
struct ElementBytes {
  BytesT<K> a, b, c;
};
template <class K>
[[nodiscard]] FlopsT<K> product_flops(ScalarT<K> m, ScalarT<K> n, ScalarT<K> k);
template <class K>
[[nodiscard]] BytesT<K> product_bytes(ScalarT<K> m, ScalarT<K> n, ScalarT<K> k, const ElementBytes<K>& element);
template <class K>
[[nodiscard]] IntensityT<K> ridge(FlopsPerSecondT<K> peak, BytesPerSecondT<K> bandwidth);

template <class K>
struct Roofline {
  IntensityT<K> intensity, ridge;
  SecondsT<K> math, memory, lower, upper;  // lower = max: perfect overlap; upper = sum: none
  FlopsPerSecondT<K> attainable;
  ScalarT<K> share;  // of the peak
  bool compute_bound = false;
};
template <class K>
[[nodiscard]] Roofline<K> roofline(FlopsT<K> flops, BytesT<K> bytes, ScalarT<K> devices, FlopsPerSecondT<K> peak,
                                   BytesPerSecondT<K> bandwidth);

// The m (tokens) at which a product turns compute-bound. Weights only: I·b/2. Exact: 2mnk = I (a·mk + b·kn + c·mn);
// not positive: never.
template <class K>
[[nodiscard]] ScalarT<K> critical_rows(IntensityT<K> ridge, BytesT<K> weight);
template <class K>
[[nodiscard]] ScalarT<K> exact_critical_rows(IntensityT<K> ridge, ScalarT<K> n, ScalarT<K> k,
                                             const ElementBytes<K>& element);

// An output tile of bm × bn that streams its operands: 2·bm·bn / (a·bm + b·bn) (nvidia2023matmul).
template <class K>
[[nodiscard]] IntensityT<K> tile_intensity(ScalarT<K> rows, ScalarT<K> columns, const ElementBytes<K>& element);
template <class K>
struct Waves {
  ScalarT<K> tiles, waves;
  ScalarT<K> wave_efficiency;  // tiles / (waves · units)
  ScalarT<K> tile_efficiency;  // m·n / (tiles · bm·bn)
};
template <class K>
[[nodiscard]] Waves<K> waves(ScalarT<K> m, ScalarT<K> n, ScalarT<K> rows, ScalarT<K> columns, ScalarT<K> units);

// Parts of a chip.
template <class K>
[[nodiscard]] ScalarT<K> resident_warps(BytesT<K> registers_of_unit, ScalarT<K> registers_of_thread, ScalarT<K> warp);
template <class K>
[[nodiscard]] PerSecondT<K> clock_of(FlopsPerSecondT<K> rate, ScalarT<K> units, ScalarT<K> lanes, ScalarT<K> per_cycle);
template <class K>
[[nodiscard]] FlopsPerSecondT<K> rate_of_lanes(PerSecondT<K> clock, ScalarT<K> units, ScalarT<K> lanes,
                                               ScalarT<K> per_cycle);
// Of a dimension stored in whole tiles.
template <class K>
[[nodiscard]] ScalarT<K> padded(ScalarT<K> size, ScalarT<K> tile);

}  // namespace napkin
