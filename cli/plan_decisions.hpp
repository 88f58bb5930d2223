// What stands beside a plan's ranking: how robust the first place is, and the ranking by goodput.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/table.hpp"
#include "model/decision/goodput.hpp"
#include "model/decision/robustness.hpp"
#include "model/run/run.hpp"

namespace napkin::cli {

// One line. `candidates` as given to robustness().
[[nodiscard]] std::string robustness_line(const Robustness& r, const std::vector<RankedLayout>& candidates);
[[nodiscard]] nlohmann::ordered_json robustness_json(const Robustness& r, const std::vector<RankedLayout>& candidates);

// `by_time`: the ranking by step time, to show where the order differs.
[[nodiscard]] Table goodput_table(const Run& base, const EffectiveRanking& ranking, const std::vector<RankedLayout>& by_time, const Reliability& r, OutputFormat format);
[[nodiscard]] nlohmann::ordered_json goodput_json(const EffectiveRanking& ranking, const Reliability& r);

}  // namespace napkin::cli
