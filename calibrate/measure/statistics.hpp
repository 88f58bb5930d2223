// The samples of one measured case, what is reported of them, and when there are enough.
#pragma once

#include <cstddef>
#include <vector>

namespace napkin::measure {

// Seconds. Percentiles by linear interpolation.
struct Summary {
  double median = 0, min = 0, p90 = 0, iqr = 0;
  std::size_t n = 0;
  // Standard error of the median over the median: 1.253 σ / √n, with σ = IQR / 1.349, which outliers do not move.
  [[nodiscard]] double spread() const;
};

// Throws std::invalid_argument when there is no sample.
[[nodiscard]] Summary summarise(std::vector<double> seconds);

// Stop when the median is known to `spread`, or when time or samples run out.
struct StopRule {
  double spread = 0.002;
  std::size_t least = 15, most = 500;
  double seconds = 0.15;  // of measured time in all
  double burst = 0.01;    // of measured time in one go, between two rests

  [[nodiscard]] bool enough(const std::vector<double>& samples) const;
  // How many more to take in one go: a batch lasts no longer than a burst or a quarter of the time, and never exceeds
  // what is left. `each`: the seconds one is expected to take while none is known.
  [[nodiscard]] std::size_t next_batch(const std::vector<double>& samples, double each = 0) const;
};

}  // namespace napkin::measure
