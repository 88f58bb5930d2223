// What is said of a set of errors, and of two rankings. Pure functions over numbers.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "model/percentile.hpp"

namespace napkin::validation {

// Of errors predicted/measured − 1.
struct ErrorSummary {
  std::size_t n = 0;
  double median_abs = 0, p90_abs = 0;  // of |error|
  double bias = 0;                     // median of the signed error
  double worst = 0;                    // the signed error of largest magnitude
};
// n = 0 and zeros for an empty set.
[[nodiscard]] ErrorSummary summarise(const std::vector<double>& errors);

// Rank correlation: Pearson's of the ranks, ties at their mean rank. Nothing for fewer than two points, or where one side
// is constant.
[[nodiscard]] std::optional<double> spearman(std::span<const double> x, std::span<const double> y);

// Least-squares slope of y over x; nothing where x does not vary.
[[nodiscard]] std::optional<double> slope(std::span<const double> x, std::span<const double> y);

// The v that minimises Σ wᵢ|v − xᵢ| (weights ≥ 0, their sum > 0).
[[nodiscard]] double weighted_median(std::vector<std::pair<double, double>> value_and_weight);

}  // namespace napkin::validation
