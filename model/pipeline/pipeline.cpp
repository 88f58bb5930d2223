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

double micro_batches_in_flight(Schedule s, int pp, int vpp, int rank, std::int64_t micro_batches,
                               std::int64_t group) {
  const auto m = static_cast<double>(micro_batches);
  const double p = pp, v = vpp;
  const double n = std::min(group == 0 ? p : static_cast<double>(group), m);
  const auto held = [&] {
    switch (s) {
      case Schedule::gpipe:
      case Schedule::looped_bfs: return m;
      case Schedule::one_f_one_b: return p - rank;
      case Schedule::interleaved: return v == 1 ? p - rank : (2 * (p - rank - 1) + (v - 1) * n + 1) / v;
      case Schedule::zb_interleaved: return (p + (v - 1) * n) / v;
      case Schedule::zb_h1:
      case Schedule::zb_v: return p;
      case Schedule::zb_h2: return 2 * p - 1;
      case Schedule::dualpipe: return p + 1;
      case Schedule::dualpipe_v: return p + 0.5;
    }
    return m;
  };
  return std::min(held(), m);
}

}  // namespace napkin
