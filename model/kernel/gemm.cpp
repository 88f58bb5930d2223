// GEMM: t = floor + min over tiles bm×bn and split-k s of smooth_max(compute, memory) [+ split when s > 1]
//   compute = waves · (2·bm·bn·(k/s) / (rate/units) + wave + epilogue · bm·bn / (256·128))
//   x = count·⌈m/bm⌉·⌈n/bn⌉·s / units;  waves = ⌈x⌉ − balance · (⌈x⌉ − x) beyond the first
//   memory  = (operands + result + 8·s·m·n [s > 1]) / (memory fraction · bandwidth) · (1 + spread · (units / busy − 1))
// Waves after nvidia2023matmul, a last wave spread over the idle units after osama2023streamk; the roofline with a rounded
// corner (williams2009roofline). Few tiles keep few units busy, and a unit alone does not draw its share of the memory's
// bandwidth and more. The library's choice of tile is taken to be the best one: made on plain numbers, then evaluated once
// in K.
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

constexpr double epilogue_tile = 256 * 128;  // the tile that GemmConstants::epilogue is the time of

struct PlainGemm {
  double units, unit_rate, memory_rate;
  double m, n, k, count, bytes;
};

// Waves of x = tiles / units, x > 0.
double waves_of(double x, double balance) {
  const double whole = round_up(x);
  return whole > 1 ? whole - balance * (whole - x) : whole;
}

Tiling choose_tiling(const GemmConstants& constants, const PlainGemm& g) {
  Tiling best;
  double least = std::numeric_limits<double>::infinity();
  const double wave = constants.wave.value.si(), split_time = constants.split.value.si();
  const double epilogue = constants.epilogue ? constants.epilogue->value.si() : 0;
  const double balance = constants.balance ? constants.balance->value.si() : 0;
  const double spread = constants.spread ? constants.spread->value.si() : 0;
  const double partial_sums = split_bytes * g.m * g.n * g.count;
  for (const auto& [rows, columns] : constants.tiles) {
    const double tiles = g.count * round_up(g.m / rows) * round_up(g.n / columns);
    const double area = static_cast<double>(rows) * columns;
    const double tile_time = 2.0 * area * g.k / g.unit_rate, each = wave + epilogue * (area / epilogue_tile);
    for (double split = 1; split <= max_split; split *= 2) {
      const double x = tiles * split / g.units;
      const double compute = waves_of(x, balance) * (tile_time / split + each);
      const double idle = x < 1 ? 1 + spread * (1 / x - 1) : 1;
      const double memory = (g.bytes + (split > 1 ? split * partial_sums : 0)) / g.memory_rate * idle;
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
  const auto &m = shape.m, &n = shape.n, &k = shape.k, &count = shape.count;
  const FlopsT<K> flops = let("flops", 2 * count * m * n * k * flop);
  if (!(flops.si() > 0)) return {};
  const GemmConstants& g = a.gemm;
  const auto units = scope.read("units", a.units);
  auto rate = scope.read("gemm fraction", matrix_fraction(a, input, regime)) * scope.read("peak", matrix_peak(a, input));
  if (shape.grouped && g.grouped) rate = scope.read("grouped share", *g.grouped) * rate;
  const auto unit_rate = let("unit rate", rate / units);
  const auto memory_rate = let("memory rate", scope.read("gemm memory fraction", g.memory_fraction) *
                                                  scope.read("bandwidth", a.memory_bandwidth));
  const BytesT<K> bytes =
      let("bytes", count * ((m * k + k * n) * (input_bytes * byte) + m * n * (output_bytes * byte)));
  const auto depth = g.k_step > 1 ? let("k padded", ceil(k / g.k_step) * g.k_step) : k;

  const Tiling t = choose_tiling(g, {units.si(), unit_rate.si(), memory_rate.si(), m.si(), n.si(), depth.si(),
                                     count.si(), bytes.si()});
  const auto tiles = let("tiles", count * ceil(m / t.rows) * ceil(n / t.columns));
  const auto load = let("tiles for each unit", tiles * t.split / units);
  const auto whole = ceil(load);
  const auto waves = g.balance && whole.si() > 1
                         ? let("waves", whole - scope.read("balance", *g.balance) * (whole - load), "osama2023streamk")
                         : let("waves", whole, "nvidia2023matmul");
  const auto tile_time = let("tile", 2 * t.rows * t.columns * (depth / t.split) * flop / unit_rate);
  auto each = tile_time + scope.read("wave", g.wave);
  if (g.epilogue) each = each + scope.read("epilogue", *g.epilogue) * (t.rows * t.columns / epilogue_tile);
  const auto compute = let("compute", waves * each, "nvidia2023matmul");
  const auto floor_time = scope.read("gemm floor", g.floor);
  const auto streamed = [&](BytesT<K> moved) {
    const auto time = moved / memory_rate;
    if (!g.spread || load.si() >= 1) return let("memory", time, "williams2009roofline");
    return let("memory", time * (1 + scope.read("spread", *g.spread) * (1 / load - 1)), "williams2009roofline");
  };
  if (t.split > 1) {
    const auto memory = streamed(bytes + count * m * n * (split_bytes * t.split * byte));
    const auto time = choose("k is split: the tiles alone leave units idle",
                             floor_time + scope.read("gemm split", g.split) + smooth_max(compute, memory));
    return {let("gemm", time), flops, bytes};
  }
  return {let("gemm", floor_time + smooth_max(compute, streamed(bytes))), flops, bytes};
}

template KernelCost<Plain> gemm_cost(Scope<Plain>, const Accelerator&, Format, double, double, const GemmShape<Plain>&,
                                     Regime);
template KernelCost<Traced> gemm_cost(Scope<Traced>, const Accelerator&, Format, double, double,
                                      const GemmShape<Traced>&, Regime);

}  // namespace napkin
