#include "model/kernel/rates.hpp"

#include "model/input_error.hpp"

namespace napkin {
namespace {

[[noreturn]] void refuse(const Accelerator& a, Format f) {
  std::string known;
  for (std::size_t i = 0; i < number_format_count; ++i)
    if (has_format(a, static_cast<Format>(i))) known += (known.empty() ? "" : ", ") + std::string(format_names[i]);
  throw InputError(a.name + " has no matrix rate for " + std::string(format_names[static_cast<std::size_t>(f)]) +
                   "; it has " + (known.empty() ? "none" : known));
}

}  // namespace

bool has_format(const Accelerator& a, Format f) {
  const auto i = static_cast<std::size_t>(f);
  return a.peak[i] && a.gemm.rate[i] && (a.gemm.rate[i]->sustained || a.gemm.rate[i]->burst);
}

const Constant<FlopsPerSecond>& matrix_peak(const Accelerator& a, Format f) {
  if (!has_format(a, f)) refuse(a, f);
  return *a.peak[static_cast<std::size_t>(f)];
}

const Constant<Scalar>& matrix_fraction(const Accelerator& a, Format f, Regime regime) {
  if (!has_format(a, f)) refuse(a, f);
  const MatrixRate& rate = *a.gemm.rate[static_cast<std::size_t>(f)];
  const auto& wanted = regime == Regime::sustained ? rate.sustained : rate.burst;
  return wanted ? *wanted : regime == Regime::sustained ? *rate.burst : *rate.sustained;
}

}  // namespace napkin
