#include "model/pipeline/pipeline.hpp"

#include <algorithm>
#include <array>

namespace napkin {
namespace {

struct Name {
  std::string_view text;
  Schedule schedule;
};
// The first name of a schedule is the one printed.
constexpr std::array names{
    Name{"gpipe", Schedule::gpipe},
    Name{"afab", Schedule::gpipe},
    Name{"1f1b", Schedule::one_f_one_b},
    Name{"interleaved", Schedule::interleaved},
    Name{"interleaved-1f1b", Schedule::interleaved},
    Name{"zb-h1", Schedule::zb_h1},
    Name{"zb-h2", Schedule::zb_h2},
    Name{"zb-v", Schedule::zb_v},
    Name{"zbv", Schedule::zb_v},
    Name{"interleaved-zb", Schedule::zb_interleaved},
    Name{"zb-interleaved", Schedule::zb_interleaved},
    Name{"dualpipe", Schedule::dualpipe},
    Name{"dualpipe-v", Schedule::dualpipe_v},
    Name{"dualpipev", Schedule::dualpipe_v},
    Name{"looped-bfs", Schedule::looped_bfs},
};

}  // namespace

std::string_view to_string(Schedule s) {
  return std::ranges::find(names, s, &Name::schedule)->text;
}

std::optional<Schedule> schedule_named(std::string_view name) {
  const auto* const found = std::ranges::find(names, name, &Name::text);
  if (found == names.end()) return std::nullopt;
  return found->schedule;
}

double micro_batches_in_flight(Schedule s, int pp, int vpp, int rank, std::int64_t micro_batches) {
  const auto m = static_cast<double>(micro_batches);
  const double p = pp, v = vpp;
  switch (s) {
    case Schedule::gpipe:
    case Schedule::looped_bfs: return m;
    case Schedule::one_f_one_b: return std::min(p - rank, m);
    case Schedule::interleaved: return std::min((2 * (p - rank - 1) + (v - 1) * p + 1) / v, m);
    case Schedule::zb_h1: return std::min(p, m);
    case Schedule::zb_h2: return std::min(2 * p - 1, m);
    case Schedule::zb_v: return std::min(p, m);
    case Schedule::zb_interleaved: return std::min((2 * (p - 1) + (v - 1) * p + 1) / v, m);
    case Schedule::dualpipe: return std::min(p + 1, m);
    case Schedule::dualpipe_v: return std::min(p + 0.5, m);
  }
  return m;
}

// With t the slowest stage's forward + backward and Σ the sum over stages, every schedule is m·t plus what fills and
// drains: the other stages' share of one micro-batch, Σ − t, less what the schedule puts into the gap.
template <class K>
PipelineTime<K> pipeline_time(Schedule s, int pp, int vpp, std::int64_t micro_batches, const StageTimes<K>& t) {
  const Scalar m = static_cast<double>(micro_batches), p = pp, v = vpp;
  const SecondsT<K> slowest = let("t_stage", t.slowest_forward + t.slowest_backward);
  const SecondsT<K> work = let("T_work", m * slowest);
  if (pp == 1) return {choose("one stage: no bubble", work), SecondsT<K>{}};
  const SecondsT<K> others = let("t_others", t.sum_forward + t.sum_backward - slowest);
  const SecondsT<K> hops = let("T_p2p", 2.0 * (p - 1) * t.p2p);
  SecondsT<K> bubble{};
  switch (s) {
    case Schedule::gpipe: bubble = let("bubble", others + hops, "huang2019gpipe"); break;
    case Schedule::one_f_one_b: bubble = let("bubble", others + hops, "narayanan2021"); break;
    case Schedule::looped_bfs:
    case Schedule::interleaved: bubble = let("bubble", others / v + hops, "narayanan2021"); break;
    case Schedule::zb_h1:
    case Schedule::zb_h2:
      bubble = let("bubble", max(others - 2.0 * (p - 1) * t.slowest_weight, SecondsT<K>{}) + hops, "qi2024zerobubble");
      break;
    case Schedule::zb_v:
    case Schedule::zb_interleaved:
      bubble = let("bubble", max(others - 2.0 * (p - 1) * t.slowest_weight, SecondsT<K>{}) / v + hops, "qi2024pipeline");
      break;
    case Schedule::dualpipe:
      bubble = let("bubble", max((p / 2.0 - 1) * (2.0 * t.slowest_backward + t.slowest_forward - 4.0 * t.slowest_weight),
                                 SecondsT<K>{}) + hops, "deepseek-ai2024v3");
      break;
    case Schedule::dualpipe_v:
      bubble = let("bubble", max((p - 1) * (2.0 * t.slowest_backward + t.slowest_forward - 4.0 * t.slowest_weight) / 2.0,
                                 SecondsT<K>{}) + hops, "deepseek-ai2024v3");
      break;
  }
  return {let("T_pipeline", work + bubble), bubble};
}

template PipelineTime<Plain> pipeline_time(Schedule, int, int, std::int64_t, const StageTimes<Plain>&);
template PipelineTime<Traced> pipeline_time(Schedule, int, int, std::int64_t, const StageTimes<Traced>&);

}  // namespace napkin
