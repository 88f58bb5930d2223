#include "calibrate/samples/residual.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace napkin::fit {

double percentile(std::vector<double> values, double fraction) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = fraction * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const auto above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

Residual residual_of(std::vector<double> relative_errors) {
  Residual out{.n = relative_errors.size(), .bias = percentile(relative_errors, 0.5)};
  for (double& e : relative_errors) e = std::abs(e);
  out.median = percentile(relative_errors, 0.5);
  out.p90 = percentile(std::move(relative_errors), 0.9);
  return out;
}

bool is_held_out(const std::string& shape, double share) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : shape) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  hash ^= hash >> 29;  // the low bits of FNV are weak: fold before taking a share
  return static_cast<double>(hash % 10000) < share * 10000;
}

}  // namespace napkin::fit
