// GEMM: t = floor + min over tiles bm×bn and split-k s of smooth_max(compute, memory)
//   compute = ⌈count·⌈m/bm⌉·⌈n/bn⌉·s / units⌉ · 2·bm·bn·(k/s + k0) / (rate/units)
//   memory  = (operands + result + 8·s·m·n [s > 1]) / (memory fraction · bandwidth)
// Waves after nvidia2023matmul, the roofline with a rounded corner (williams2009roofline); k0 (pipeline fill and
// epilogue, in k-elements) is fitted. The tile is chosen on plain numbers, then evaluated once in K.
#include <cstdint>
#include <limits>

#include "model/input_error.hpp"
#include "model/kernel/kernel.hpp"

namespace napkin {
namespace {

struct Tiling {
  double rows = 0, columns = 0, split = 1;
};

// ⌈x⌉ of a non-negative double below 2⁶³, inline.
double round_up(double x) {
  const auto whole = static_cast<double>(static_cast<std::int64_t>(x));
  return whole < x ? whole + 1 : whole;
}

const Constant<Scalar>& matrix_rate(const Accelerator& a, Format f, Regime regime) {
  const auto& rate = a.gemm.rate[static_cast<std::size_t>(f)];
  if (!has_format(a, f)) throw InputError(a.name + " has no " + std::string(to_string(f)) + " matrix rate");
  const auto& wanted = regime == Regime::sustained ? rate->sustained : rate->burst;
  return wanted ? *wanted : regime == Regime::sustained ? *rate->burst : *rate->sustained;
}

// Bytes that split-k adds for each element of C: partial sums in fp32, written and read.
constexpr double split_bytes = 8;
constexpr double max_split = 8;

Tiling choose_tiling(const GemmConstants& g, double units, double m, double n, double k, double count,
                     double unit_rate, double memory_rate, double bytes) {
  Tiling best;
  double least = std::numeric_limits<double>::infinity();
  const double k0 = g.prologue_k.value.si();
  for (const auto& [bm, bn] : g.tiles) {
    const double tiles = count * round_up(m / bm) * round_up(n / bn);
    const double area = 2.0 * bm * bn / unit_rate;
    for (double split = 1; split <= max_split; split *= 2) {
      const double compute = round_up(tiles * split / units) * area * (k / split + k0);
      const double memory = (bytes + (split > 1 ? split_bytes * split * m * n * count : 0)) / memory_rate;
      const double c2 = compute * compute, m2 = memory * memory, score = c2 * c2 + m2 * m2;
      if (score < least) {
        least = score;
        best = {static_cast<double>(bm), static_cast<double>(bn), split};
      }
      if (tiles * split >= units) break;  // every unit has work: splitting k further only adds traffic
    }
  }
  return best;
}

}  // namespace

bool has_format(const Accelerator& a, Format f) {
  const auto& rate = a.gemm.rate[static_cast<std::size_t>(f)];
  return a.peak[static_cast<std::size_t>(f)].has_value() && rate && (rate->sustained || rate->burst);
}

template <class K>
KernelCost<K> gemm_cost(Scope<K> scope, const Accelerator& a, Format input, double input_bytes, double output_bytes,
                        const GemmShape<K>& shape, Regime regime) {
  const auto& [m, n, k, count] = shape;
  const FlopsT<K> flops = let("flops", 2 * count * m * n * k * flop);
  if (!(flops.si() > 0)) return {};
  const auto& fraction = matrix_rate(a, input, regime);
  const auto rate = let("rate", scope.read("gemm fraction", fraction) *
                                    scope.read("peak", *a.peak[static_cast<std::size_t>(input)]));
  const auto units = scope.read("units", a.units);
  const auto k0 = scope.read("k0", a.gemm.prologue_k);
  const auto memory_rate = let("memory rate", scope.read("gemm memory fraction", a.gemm.memory_fraction) *
                                                  scope.read("bandwidth", a.memory_bandwidth));
  const BytesT<K> bytes =
      let("bytes", count * ((m * k + k * n) * (input_bytes * byte) + m * n * (output_bytes * byte)));
  const Tiling t = choose_tiling(a.gemm, units.si(), m.si(), n.si(), k.si(), count.si(), rate.si() / units.si(),
                                 memory_rate.si(), bytes.si());
  const auto tiles = let("tiles", count * ceil(m / t.rows) * ceil(n / t.columns));
  const auto waves = let("waves", ceil(tiles * t.split / units), "nvidia2023matmul");
  const auto compute =
      let("compute", waves * (2 * t.rows * t.columns * (k / t.split + k0)) * flop / (rate / units), "nvidia2023matmul");
  const double partial_sums = t.split > 1 ? split_bytes * t.split : 0;
  const auto memory = let("memory", (bytes + count * m * n * (partial_sums * byte)) / memory_rate);
  const auto time = let("gemm", scope.read("gemm floor", a.gemm.floor) + smooth_max(compute, memory),
                        "williams2009roofline");
  return {time, flops, bytes};
}

template KernelCost<Plain> gemm_cost(Scope<Plain>, const Accelerator&, Format, double, double, const GemmShape<Plain>&,
                                     Regime);
template KernelCost<Traced> gemm_cost(Scope<Traced>, const Accelerator&, Format, double, double,
                                      const GemmShape<Traced>&, Regime);

}  // namespace napkin
