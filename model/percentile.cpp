#include "model/percentile.hpp"

#include <algorithm>
#include <stdexcept>

namespace napkin {

double percentile(std::vector<double> v, double q) {
  if (v.empty()) throw std::logic_error("percentile of an empty set");
  std::sort(v.begin(), v.end());
  const double at = q * static_cast<double>(v.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, v.size() - 1);
  return v[below] + (at - static_cast<double>(below)) * (v[above] - v[below]);
}

}  // namespace napkin
