// A plan over several jobs (lists of GPU counts, batches, precisions), and what nothing beats among their layouts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "cli/run_flags.hpp"
#include "cli/table.hpp"
#include "model/search/finalists.hpp"
#include "model/search/recommend.hpp"

namespace napkin::cli {

// One job and what the search found for it.
struct Planned {
  RunRequest request;
  Run base;
  Outcome outcome;
  FinalistTiming timing;
};

// --gpus, --batch and --precision as lists or ranges: one job each, in that order.
[[nodiscard]] std::vector<JobFlags> each_job(const JobFlags& flags);

// The best layout of each job.
[[nodiscard]] Table jobs_table(const std::vector<Planned>& all, std::optional<double> price, OutputFormat format);
[[nodiscard]] nlohmann::ordered_json jobs_json(const std::vector<Planned>& all, std::optional<double> price);

// The Pareto front over all jobs (model/search/pareto.hpp). The table leaves out points that free less than 1 % of the memory.
[[nodiscard]] Table pareto_table(const std::vector<Planned>& all, std::optional<double> price, OutputFormat format);
[[nodiscard]] nlohmann::ordered_json pareto_json(const std::vector<Planned>& all, std::optional<double> price);

// Which of the near-tied layouts to take, as a line below the ranking and as JSON.
[[nodiscard]] std::string recommendation_line(const std::vector<RankedLayout>& ranked, const Recommendation& r);
[[nodiscard]] nlohmann::ordered_json recommendation_json(const std::vector<RankedLayout>& ranked, const Recommendation& r);

}  // namespace napkin::cli
