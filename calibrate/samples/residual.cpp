#include "calibrate/samples/residual.hpp"

#include <cmath>
#include <cstdint>

#include "model/percentile.hpp"

namespace napkin::fit {

Residual residual_of(std::vector<double> relative_errors) {
  if (relative_errors.empty()) return {};
  Residual out{.n = relative_errors.size(), .bias = percentile(relative_errors, 0.5)};
  for (double& e : relative_errors) e = std::abs(e);
  out.median = percentile(relative_errors, 0.5);
  out.p90 = percentile(std::move(relative_errors), 0.9);
  return out;
}

bool is_held_out(const std::string& shape, HeldOut held_out) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : shape) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  hash ^= hash >> 29;  // the low bits of FNV are weak: fold before taking a share
  constexpr std::uint64_t all = 10000;
  const auto edge = [&](int fold) { return static_cast<std::uint64_t>(std::llround(fold * held_out.share * static_cast<double>(all))); };
  return hash % all >= edge(held_out.fold) && hash % all < edge(held_out.fold + 1);
}

}  // namespace napkin::fit
