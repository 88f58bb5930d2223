#include "model/validation/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace napkin::validation {
namespace {

double mean(const std::vector<double>& v) {
  return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

// From 1; equal values share the mean of the ranks they take.
std::vector<double> ranks(std::span<const double> v) {
  std::vector<std::size_t> order(v.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return v[a] < v[b]; });
  std::vector<double> rank(v.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t j = i;
    while (j < order.size() && v[order[j]] == v[order[i]]) ++j;
    for (std::size_t k = i; k < j; ++k) rank[order[k]] = 0.5 * static_cast<double>(i + 1 + j);
    i = j;
  }
  return rank;
}

}  // namespace

ErrorSummary summarise(const std::vector<double>& errors) {
  ErrorSummary s{.n = errors.size()};
  if (errors.empty()) return s;
  std::vector<double> magnitude(errors.size());
  std::transform(errors.begin(), errors.end(), magnitude.begin(), [](double e) { return std::abs(e); });
  s.median_abs = percentile(magnitude, 0.5);
  s.p90_abs = percentile(magnitude, 0.9);
  s.bias = percentile(errors, 0.5);
  s.worst = *std::max_element(errors.begin(), errors.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
  return s;
}

std::optional<double> spearman(std::span<const double> x, std::span<const double> y) {
  if (x.size() != y.size()) throw std::logic_error("rank correlation of sets of unequal size");
  if (x.size() < 2) return {};
  const std::vector<double> a = ranks(x), b = ranks(y);
  const double ma = mean(a), mb = mean(b);
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - ma) * (b[i] - mb);
    aa += (a[i] - ma) * (a[i] - ma);
    bb += (b[i] - mb) * (b[i] - mb);
  }
  if (aa == 0 || bb == 0) return {};
  return ab / std::sqrt(aa * bb);
}

std::optional<double> slope(std::span<const double> x, std::span<const double> y) {
  if (x.size() != y.size()) throw std::logic_error("slope over sets of unequal size");
  if (x.empty()) return {};
  const double mx = mean({x.begin(), x.end()}), my = mean({y.begin(), y.end()});
  double xx = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mx) * (x[i] - mx);
    xy += (x[i] - mx) * (y[i] - my);
  }
  if (xx == 0) return {};
  return xy / xx;
}

double weighted_median(std::vector<std::pair<double, double>> v) {
  std::sort(v.begin(), v.end());
  double total = 0, sum = 0;
  for (const auto& [value, weight] : v) total += weight;
  if (!(total > 0)) throw std::logic_error("weighted median without weight");
  for (const auto& [value, weight] : v)
    if ((sum += weight) >= total / 2) return value;
  return v.back().first;
}

}  // namespace napkin::validation
