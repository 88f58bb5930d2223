#include "calibrate/measure/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "model/percentile.hpp"

namespace napkin::measure {

Summary summarise(std::vector<double> seconds) {
  if (seconds.empty()) throw std::invalid_argument("no sample was taken");
  std::sort(seconds.begin(), seconds.end());
  return {percentile(seconds, 0.5), seconds.front(), percentile(seconds, 0.9),
          percentile(seconds, 0.75) - percentile(seconds, 0.25), seconds.size()};
}

double Summary::spread() const {
  constexpr double median_error = 1.253, iqr_of_normal = 1.349;
  if (!(median > 0)) return 0;
  return median_error * iqr / iqr_of_normal / std::sqrt(static_cast<double>(n)) / median;
}

bool StopRule::enough(const std::vector<double>& samples) const {
  if (samples.size() >= most) return true;
  if (samples.empty()) return false;
  const double spent = std::accumulate(samples.begin(), samples.end(), 0.0);
  // One slow launch is worth more than none, but a few are needed to see a spread.
  constexpr std::size_t few = 3;
  if (samples.size() >= few && spent >= seconds) return true;
  return samples.size() >= least && summarise(samples).spread() <= spread;
}

std::size_t StopRule::next_batch(const std::vector<double>& samples, double each) const {
  constexpr std::size_t first = 3;
  constexpr double share = 0.25, shortest = 1e-7;
  if (!samples.empty()) each = summarise(samples).median;
  const auto fitting = static_cast<std::size_t>(std::min(std::min(share * seconds, burst) / std::max(each, shortest), 1e9));
  if (samples.empty()) return std::clamp<std::size_t>(fitting, 1, std::min(first, most));
  const std::size_t left = most > samples.size() ? most - samples.size() : 1;
  return std::clamp<std::size_t>(fitting, 1, std::min<std::size_t>(left, std::max<std::size_t>(least, samples.size())));
}

}  // namespace napkin::measure
