// A measured run beside what the model says of it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/run/run.hpp"
#include "model/step/prediction.hpp"

namespace napkin::validation {

enum class Metric : std::uint8_t {
  step_time, tokens_per_s_per_gpu, tflops_per_gpu, mfu, allocated, reserved, static_states, forward, backward, optimizer
};
inline constexpr std::size_t metric_count = 10;
// As the summary calls them, and with their unit.
inline constexpr std::array<std::string_view, metric_count> metric_names{
    "step_time", "tokens_per_s_per_gpu", "tflops_per_gpu", "mfu",      "allocated",
    "reserved",  "static",               "forward",        "backward", "optimizer"};
inline constexpr std::array<std::string_view, metric_count> metric_keys{
    "step_time_s",    "tokens_per_s_per_gpu", "tflops_per_gpu", "mfu",        "allocated_bytes",
    "reserved_bytes", "static_bytes",         "forward_s",      "backward_s", "optimizer_s"};
// One number a metric where there is one: seconds, tokens/s, 10¹² FLOP/s, a fraction, bytes.
using Figures = std::array<std::optional<double>, metric_count>;
[[nodiscard]] inline std::optional<double>& at(Figures& f, Metric m) { return f[static_cast<std::size_t>(m)]; }
[[nodiscard]] inline const std::optional<double>& at(const Figures& f, Metric m) { return f[static_cast<std::size_t>(m)]; }

// Of which rank the measured memory is.
enum class MemoryOf : std::uint8_t { max, first_stage, last_stage };
[[nodiscard]] std::string_view to_string(MemoryOf m);

// What was measured of a run.
struct Measurement {
  Figures figures{};
  std::array<bool, metric_count> derived{};  // follows from another figure
  bool convention_given = false;             // TFLOP/s and MFU say what they count
  std::optional<bool> out_of_memory;
  MemoryOf memory_of = MemoryOf::max;
  std::vector<double> allocated_by_rank;     // bytes, by pipeline rank
};

// Who ran what; what a run is classed and grouped by.
struct Description {
  std::string id, place;                // "runs.jsonl:12"
  std::string kind = "run";             // a measurement's own word: "gemm", "all_reduce", "moe_layer_fwd_bwd", "decode"
  std::string family;                   // "dense", "moe", "hybrid"; empty when the model was not read
  std::string workload;                 // the same, or "lora"
  double gpus = 0;
  double message = 0;                   // bytes of a collective; 0 = not one
  std::string source, framework, hardware, precision, task, model;
  std::string configuration;            // model fields, GPUs, sequence, global batch and source as one text
  std::string title;                    // the same for people, without the source
  std::string cluster_state;
  std::string suspect_reason;
  bool suspect = false;
};

// A timed part of a step: a kernel, a collective, one pass of a layer.
struct PartTime {
  std::string what;
  double measured = 0, predicted = 0;  // seconds
  [[nodiscard]] double error() const { return predicted / measured - 1; }
};

struct Replay {
  Description run;
  Measurement measured;
  std::string refused;                  // why it cannot be predicted; empty = predicted
  Figures predicted{}, error{};         // error = predicted / measured − 1
  std::vector<double> predicted_by_rank, error_by_rank;
  Verdict verdict{};
  double usage = 0;                     // predicted device bytes / capacity
  std::array<double, term_count> terms{};  // seconds of the predicted step
  std::string layout;
  std::vector<PartTime> parts;          // of a record that is not a run
  [[nodiscard]] bool predicts_out_of_memory() const { return usage > 1; }
};

// Completes the time figures from each other: step time ↔ tokens/s, and from TFLOP/s or MFU where their convention is given.
void derive(Measurement& m, const Job& job, const Prediction<Plain>& p);

// Puts the prediction beside the measurement. Throws std::domain_error where a figure is not a finite, positive number.
void compare(Replay& r, const Run& run, const Prediction<Plain>& p);

}  // namespace napkin::validation
