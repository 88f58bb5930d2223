#include "model/decision/curve.hpp"

#include <cmath>

namespace napkin {

std::optional<std::size_t> lowest(std::span<const Curve> curves, std::size_t i) {
  std::optional<std::size_t> best;
  for (std::size_t c = 0; c < curves.size(); ++c)
    if (curves[c][i] && (!best || *curves[c][i] < *curves[*best][i])) best = c;
  return best;
}

std::vector<Crossing> crossings(std::span<const double> x, std::span<const Curve> curves, bool logarithmic,
                                double tie) {
  std::vector<Crossing> found;
  const std::size_t points = curves.empty() ? 0 : curves.front().size();
  const auto scale = [&](double v) { return logarithmic ? std::log(v) : v; };
  std::optional<std::size_t> best, at;
  for (std::size_t i = 0; i < points; ++i) {
    auto now = lowest(curves, i);
    if (!now) continue;
    if (best && curves[*best][i] && *curves[*now][i] >= (1 - tie) * *curves[*best][i]) now = best;
    if (best && *best != *now) {
      Crossing c{.before = *at, .after = i, .from = *best, .to = *now, .x = {}};
      const Curve &a = curves[c.from], &b = curves[c.to];
      if (!x.empty() && a[c.before] && a[c.after] && b[c.before] && b[c.after]) {
        // The gap closes linearly: it is zero at the share t of the way.
        const double first = scale(*b[c.before]) - scale(*a[c.before]), last = scale(*b[c.after]) - scale(*a[c.after]);
        // Within a tie the gap may have closed before: then at the first of the two.
        const double t = first > 0 && last < 0 ? first / (first - last) : 0;
        const double where = scale(x[c.before]) + t * (scale(x[c.after]) - scale(x[c.before]));
        c.x = logarithmic ? std::exp(where) : where;
      }
      found.push_back(c);
    }
    best = now;
    at = i;
  }
  return found;
}

}  // namespace napkin
