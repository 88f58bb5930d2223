#include "model/decision/robustness.hpp"

#include <algorithm>
#include <array>

namespace napkin {
namespace {

struct Cause {
  std::string_view name;
  std::vector<Term> terms;
};

const std::vector<Cause>& causes() {
  static const std::vector<Cause> all{
      {"arithmetic",
       {Term::forward_gemm, Term::forward_attention, Term::backward_gemm, Term::backward_attention, Term::ends}},
      {"memory traffic", {Term::forward_elementwise, Term::backward_elementwise, Term::optimizer}},
      {"recomputation", {Term::recompute}},
      {"communication",
       {Term::tp_comm, Term::cp_comm, Term::ep_comm, Term::pp_comm, Term::dp_comm, Term::param_gather, Term::offload}},
      {"pipeline bubble", {Term::bubble}},
      {"host", {Term::host, Term::fixed}},
      {"stragglers", {Term::straggler}}};
  return all;
}

// T(e) = time + e · part.
struct Line {
  double time = 0, part = 0;
  [[nodiscard]] double at(double e) const { return time + e * part; }
};

Hold hold_of(std::string_view cause, std::span<const Line> lines, double interval) {
  Hold h{.cause = cause, .from = -interval, .to = interval, .below = {}, .above = {}};
  const Line& first = lines.front();
  for (std::size_t i = 1; i < lines.size(); ++i) {
    // first.at(e) ≤ lines[i].at(e)  ⟺  gap ≥ e · steeper
    const double gap = lines[i].time - first.time, steeper = first.part - lines[i].part;
    if (steeper > 0 && gap / steeper < h.to) h.to = gap / steeper, h.above = i;
    if (steeper < 0 && gap / steeper > h.from) h.from = gap / steeper, h.below = i;
  }
  for (const double e : {-interval, interval})
    for (const Line& other : lines) h.regret = std::max(h.regret, first.at(e) / other.at(e) - 1);
  h.share = interval > 0 ? (h.to - h.from) / (2 * interval) : 1;
  return h;
}

}  // namespace

const Hold& Robustness::weakest() const {
  return *std::min_element(holds.begin(), holds.end(), [](const Hold& a, const Hold& b) {
    return a.share != b.share ? a.share < b.share : a.regret > b.regret;
  });
}

Robustness robustness(std::span<const RankedLayout> candidates, double interval) {
  Robustness r{.interval = interval, .holds = {}};
  if (candidates.empty()) return r;
  for (const Cause& cause : causes()) {
    std::vector<Line> lines;
    for (const RankedLayout& c : candidates) {
      Line line{.time = c.cost.time.si()};
      for (const Term t : cause.terms) line.part += c.cost.terms[static_cast<std::size_t>(t)].si();
      // A candidate listed before its time was simulated may be ahead by a hair: it starts level.
      line.time = lines.empty() ? line.time : std::max(line.time, lines.front().time);
      lines.push_back(line);
    }
    r.holds.push_back(hold_of(cause.name, lines, interval));
  }
  return r;
}

}  // namespace napkin
