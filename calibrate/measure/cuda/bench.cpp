#include "calibrate/measure/cuda/bench.hpp"

namespace napkin::measure {

Work Bench::prepare(const Case&) { throw Unsupported("the group has no single kernel to count"); }

Outcome measured(Context& context, const Case& c, const Work& work) {
  const bool sustained = c.shape.value("regime", "burst") == "sustained";
  auto out = sustained ? context.sustain(work.launch, c.shape.at("settle_s").get<double>()) : context.sample(work.launch, is_cold(c.shape));
  out.more.update(work.more);
  if (!c.shape.contains("regime")) out.more["regime"] = "burst";
  return out;
}

}  // namespace napkin::measure
