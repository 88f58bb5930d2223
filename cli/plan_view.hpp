// The outcome of a search as tables and as JSON (keys: docs/json.md).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/table.hpp"
#include "model/run/run_input.hpp"
#include "model/search/advice.hpp"
#include "model/search/finalists.hpp"
#include "model/search/fixes.hpp"

namespace napkin::cli {

// `base` is the resolved job; its layout is replaced by each candidate's.
[[nodiscard]] Table ranking_table(const Run& base, const Outcome& o, const FinalistTiming& timing, OutputFormat format);
// What the best layout with a different choice on one axis would cost, and why.
[[nodiscard]] Table alternatives_table(const Run& base, const Outcome& o);
[[nodiscard]] Table dropped_table(const Job& job, const Outcome& o);
// Nothing fits: what would make it fit, each verified. Other jobs searched in full, and changes to the closest layout.
struct WayOut {
  std::vector<Remedy> remedies;
  std::vector<Fix> fixes;
};
// The closest layout, by how much, and the ways out.
[[nodiscard]] std::string infeasible_text(const Run& base, const Outcome& o, const WayOut& out, double margin);

[[nodiscard]] nlohmann::ordered_json plan_json(const RunRequest& request, const Run& base, const Outcome& o, const FinalistTiming& timing,
                                               const WayOut& out, double margin, double elapsed_s);

}  // namespace napkin::cli
