// What stands beside a plan's ranking: how robust the first place is, and the ranking by goodput.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "model/decision/goodput.hpp"
#include "model/decision/robustness.hpp"
#include "model/run/run.hpp"

namespace napkin::cli {

// One line; empty where no interval is known. `candidates` as given to robustness().
[[nodiscard]] std::string robustness_line(const Robustness& r, const std::vector<RankedLayout>& candidates);
[[nodiscard]] nlohmann::ordered_json robustness_json(const Robustness& r, const std::vector<RankedLayout>& candidates);

struct GoodputFlags {
  bool on = false;
  std::string gpu_mttf, restart, node_bandwidth;  // empty: as usual
};
void add_goodput_options(CLI::App& command, GoodputFlags& flags);
// None without --goodput. InputError on a value that is no time or bandwidth above zero, or one given without
// --goodput.
[[nodiscard]] std::optional<Reliability> read_reliability(const GoodputFlags& flags);
// The `top` layouts by effective step time, of as many of the fastest as it takes to know that none is missing.
[[nodiscard]] EffectiveRanking goodput_ranking(Problem problem, std::size_t top, const Reliability& r,
                                               const Executor& executor);
// `by_time`: the ranking by step time, to show where the order differs.
[[nodiscard]] Table goodput_table(const Run& base, const EffectiveRanking& ranking,
                                  const std::vector<RankedLayout>& by_time, const Reliability& r, OutputFormat format);
[[nodiscard]] nlohmann::ordered_json goodput_json(const EffectiveRanking& ranking, const Reliability& r);

}  // namespace napkin::cli
