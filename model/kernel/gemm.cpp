// GEMM: t = floor + min over tiles bm×bn and split-k s of smooth_max(compute, memory) [+ split when s > 1]
//   compute = waves · (2·bm·bn·(k/s) / (rate/units) + wave),   waves = ⌈count·⌈m/bm⌉·⌈n/bn⌉·s / units⌉
//   memory  = (operands + result + 8·s·m·n [s > 1]) / (memory fraction · bandwidth)
// Waves after nvidia2023matmul; the roofline with a rounded corner (williams2009roofline). The library's choice of tile
// is taken to be the best one: made on plain numbers, then evaluated once in K.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "model/kernel/rates.hpp"

namespace napkin {
namespace {

struct Tiling {
  double rows = 1, columns = 1, split = 1;
};

// Bytes that split-k adds for each element of C: partial sums in fp32, written and read.
constexpr double split_bytes = 8;
constexpr double max_split = 8;

// ⌈x⌉ of a non-negative double below 2⁶³, inline.
double round_up(double x) {
  const auto whole = static_cast<double>(static_cast<std::int64_t>(x));
  return whole < x ? whole + 1 : whole;
}

struct PlainGemm {
  double units, unit_rate, memory_rate;
  double m, n, k, count, bytes;
};

Tiling choose_tiling(const GemmConstants& constants, const PlainGemm& g) {
  Tiling best;
  double least = std::numeric_limits<double>::infinity();
  const double wave = constants.wave.value.si(), split_time = constants.split.value.si();
  const double partial_sums = split_bytes * g.m * g.n * g.count;
  for (const auto& [rows, columns] : constants.tiles) {
    const double tiles = g.count * round_up(g.m / rows) * round_up(g.n / columns);
    const double tile_time = 2.0 * rows * columns * g.k / g.unit_rate;
    for (double split = 1; split <= max_split; split *= 2) {
      const double compute = round_up(tiles * split / g.units) * (tile_time / split + wave);
      const double memory = (g.bytes + (split > 1 ? split * partial_sums : 0)) / g.memory_rate;
      const double extra = split > 1 ? split_time : 0;
      if (std::max(compute, memory) + extra < least) {  // the rounded maximum is no smaller
        const double time = smooth_max(Seconds::si(compute), Seconds::si(memory)).si() + extra;
        if (time < least) {
          least = time;
          best = {static_cast<double>(rows), static_cast<double>(columns), split};
        }
      }
      if (tiles * split >= g.units) break;  // every unit has work: splitting k further only adds traffic
    }
  }
  return best;
}

}  // namespace

template <class K>
KernelCost<K> gemm_cost(Scope<K> scope, const Accelerator& a, Format input, double input_bytes, double output_bytes,
                        const GemmShape<K>& shape, Regime regime) {
  const auto& [m, n, k, count] = shape;
  const FlopsT<K> flops = let("flops", 2 * count * m * n * k * flop);
  if (!(flops.si() > 0)) return {};
  const GemmConstants& g = a.gemm;
  const auto units = scope.read("units", a.units);
  const auto unit_rate = let("unit rate", scope.read("gemm fraction", matrix_fraction(a, input, regime)) *
                                              scope.read("peak", matrix_peak(a, input)) / units);
  const auto memory_rate = let("memory rate", scope.read("gemm memory fraction", g.memory_fraction) *
                                                  scope.read("bandwidth", a.memory_bandwidth));
  const BytesT<K> bytes =
      let("bytes", count * ((m * k + k * n) * (input_bytes * byte) + m * n * (output_bytes * byte)));
  const auto depth = g.k_step > 1 ? let("k padded", ceil(k / g.k_step) * g.k_step) : k;

  const Tiling t = choose_tiling(g, {units.si(), unit_rate.si(), memory_rate.si(), m.si(), n.si(), depth.si(),
                                     count.si(), bytes.si()});
  const auto tiles = let("tiles", count * ceil(m / t.rows) * ceil(n / t.columns));
  const auto waves = let("waves", ceil(tiles * t.split / units), "nvidia2023matmul");
  const auto tile_time = let("tile", 2 * t.rows * t.columns * (depth / t.split) * flop / unit_rate);
  const auto compute = let("compute", waves * (tile_time + scope.read("wave", g.wave)), "nvidia2023matmul");
  const auto floor_time = scope.read("gemm floor", g.floor);
  if (t.split > 1) {
    const auto memory =
        let("memory", (bytes + count * m * n * (split_bytes * t.split * byte)) / memory_rate, "williams2009roofline");
    const auto time = choose("k is split: the tiles alone leave units idle",
                             floor_time + scope.read("gemm split", g.split) + smooth_max(compute, memory));
    return {let("gemm", time), flops, bytes};
  }
  const auto memory = let("memory", bytes / memory_rate, "williams2009roofline");
  return {let("gemm", floor_time + smooth_max(compute, memory)), flops, bytes};
}

template KernelCost<Plain> gemm_cost(Scope<Plain>, const Accelerator&, Format, double, double, const GemmShape<Plain>&,
                                     Regime);
template KernelCost<Traced> gemm_cost(Scope<Traced>, const Accelerator&, Format, double, double,
                                      const GemmShape<Traced>&, Regime);

}  // namespace napkin
