// What a set of replays says together: errors by metric and class, the verdict's confusion matrix, rankings by group.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/validation/replay.hpp"
#include "model/validation/statistics.hpp"

namespace napkin::validation {

// Scaling one term of the step by a constant: what is left of the error.
struct TermScale {
  Term term{};
  double scale = 1;        // 0 to 4; minimises Σ|error| over the class
  double median_abs = 0;   // of |error| with the term scaled
};

struct ClassSummary {
  std::size_t rows = 0, refused = 0;
  std::array<ErrorSummary, metric_count> metrics{};
  ErrorSummary allocated_by_rank;
  std::optional<double> per_doubling;  // slope of the step-time error over log2(GPUs); needs 3 rows over a factor of four
  std::vector<TermScale> explained;  // the terms whose scaling leaves least, best first; empty below 3 timed rows
};

// Runs out of memory or not. Predicted: central device bytes above capacity.
struct FitSummary {
  std::size_t n = 0, measured_out = 0, caught = 0;
  std::size_t false_fits = 0;  // ran out of memory, predicted to fit
  std::size_t false_ooms = 0;  // ran, predicted not to fit
  std::size_t band = 0, band_right = 0;  // rows predicted near capacity
  [[nodiscard]] double accuracy() const { return 1 - static_cast<double>(false_fits + false_ooms) / static_cast<double>(n); }
};
inline constexpr double band_from = 0.63, band_to = 1.38;  // of capacity

// Runs of one job under different layouts.
struct GroupSummary {
  std::string name, cluster_state;
  std::size_t n = 0, ran = 0;
  std::optional<double> spearman;  // of predicted and measured throughput
  std::optional<double> regret;    // 1 − throughput of our pick / best measured; 1 if the pick ran out of memory
  std::string picked, best;        // ids; picked empty: none predicted to fit with the margin
  bool picked_out_of_memory = false;
};
inline constexpr std::size_t smallest_group = 8;

// Collectives of one operation on one machine, by ranks and size.
struct CollectiveClass {
  std::string hardware, operation, sizes;  // "to 4 KiB", ...: fit::size_class
  int ranks = 0;
  ErrorSummary errors;
};

struct Summary {
  std::size_t rows = 0, refused = 0;
  std::map<std::string, std::size_t> reasons;
  ClassSummary all, suspect;
  // By what a row may be classed by, in the order of `dimensions`: {value: rows of it}.
  std::vector<std::map<std::string, ClassSummary>> by;
  std::map<std::string, ErrorSummary> by_kind;  // runs by step time; kernels, collectives and layers by their own time
  FitSummary fit;
  std::vector<GroupSummary> groups;
  std::vector<CollectiveClass> collectives;
};

// What the runs are broken down by. A value that a row does not state is the empty string.
struct Dimension {
  std::string_view name;  // "framework"
  std::string (*value)(const Replay&);
};
[[nodiscard]] const std::vector<Dimension>& dimensions();
[[nodiscard]] const std::map<std::string, ClassSummary>& by(const Summary& s, std::string_view dimension);

[[nodiscard]] Summary summarise(const std::vector<Replay>& rows);

// A reason without what differs from row to row: numbers become N.
[[nodiscard]] std::string reason_class(const std::string& reason);

// The class of a row: framework, hardware, precision.
[[nodiscard]] std::string class_of(const Description& d);

}  // namespace napkin::validation
