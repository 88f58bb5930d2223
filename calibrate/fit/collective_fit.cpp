#include "calibrate/fit/collective_fit.hpp"

#include <cmath>
#include <memory>

namespace napkin {

namespace {

// A constant as a number to be tried.
struct Knob {
  double (*get)(const CollectiveTuning&);
  void (*set)(CollectiveTuning&, double);
  double least;  // step where the constant is about zero
};
#define NAPKIN_KNOB(member, type, small)                                    \
  Knob {                                                                    \
    [](const CollectiveTuning& t) { return t.member.value.si(); },          \
        [](CollectiveTuning& t, double v) { t.member.value = type; }, small \
  }
#define NAPKIN_RING(i)                                                                             \
  NAPKIN_KNOB(ring[i].base, Seconds::si(v), 1e-7), NAPKIN_KNOB(ring[i].hop, Seconds::si(v), 1e-8), \
      NAPKIN_KNOB(ring[i].ramp, Seconds::si(v), 1e-7), NAPKIN_KNOB(ring[i].ramp_size, Bytes::si(v), 100)
const std::vector<Knob>& knobs() {
  static const std::vector<Knob> all{NAPKIN_RING(0),
                                     NAPKIN_RING(1),
                                     NAPKIN_RING(2),
                                     NAPKIN_KNOB(ring[0].share, Scalar(v), 0.01),
                                     NAPKIN_KNOB(ring[1].share, Scalar(v), 0.01),
                                     NAPKIN_KNOB(gather_copy, Scalar(v), 0.01),
                                     NAPKIN_KNOB(reduce_copy, Scalar(v), 0.01),
                                     NAPKIN_KNOB(nvls.base, Seconds::si(v), 1e-7),
                                     NAPKIN_KNOB(nvls.ramp, Seconds::si(v), 1e-7),
                                     NAPKIN_KNOB(nvls.ramp_size, Bytes::si(v), 100),
                                     NAPKIN_KNOB(direct.base, Seconds::si(v), 1e-7),
                                     NAPKIN_KNOB(direct.per_peer, Seconds::si(v), 1e-8),
                                     NAPKIN_KNOB(direct.ramp, Seconds::si(v), 1e-7),
                                     NAPKIN_KNOB(direct.ramp_size, Bytes::si(v), 100),
                                     NAPKIN_KNOB(direct.share, Scalar(v), 0.01),
                                     NAPKIN_KNOB(direct.copy, Scalar(v), 0.01)};
  return all;
}
#undef NAPKIN_RING
#undef NAPKIN_KNOB

}  // namespace

CollectiveFit fit_collectives(CollectiveTuning start, const std::vector<CollectiveRecord>& records) {
  CollectivePredictor predict;
  const auto tuning = std::make_shared<CollectiveTuning>(std::move(start));
  for (const auto& r : records) predict.network(r.hardware).tuning = tuning;
  const auto error = [&] {
    double sum = 0;
    for (const auto& r : records) sum += std::abs(std::log(double(predict(r) / r.measured)));
    return sum / static_cast<double>(records.size());
  };
  CollectiveFit fit;
  double best = error();
  constexpr int most_passes = 40;
  constexpr double first_step = 0.3, last_step = 0.004, enough = 1e-5;
  double step = first_step;
  for (; fit.passes < most_passes && step > last_step; ++fit.passes) {
    const double before = best;
    for (const Knob& k : knobs()) {
      const double value = k.get(*tuning);
      double kept = value;
      for (const double direction : {1.0, -1.0}) {
        // On while it helps: a step of the value, of a floor where the value is about zero.
        for (double at = kept;;) {
          const double moved = at + direction * std::max(step * at, k.least);
          if (moved < 0) break;
          k.set(*tuning, moved);
          const double e = error();
          if (!(e < best - enough)) break;
          best = e;
          at = kept = moved;
        }
        k.set(*tuning, kept);
        if (kept != value) break;
      }
    }
    if (before - best < 1e-4) step /= 2;
  }
  fit.tuning = *tuning;
  fit.mean_error = best;
  return fit;
}

}  // namespace napkin
