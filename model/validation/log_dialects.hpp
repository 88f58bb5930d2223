// What the log formats have in common, and one reader for each.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace napkin::validation {

// What a reader has found so far.
struct LogDraft {
  std::string record;                  // JSON object: members of a run record
  bool first_stage = false;            // the memory printed is that of the first pipeline stage
  std::vector<double> step_seconds;    // of each step line, in order
  std::vector<double> tokens_per_gpu;  // tokens/s and accelerator of each step line, where printed instead
  double allocated_gib = 0, reserved_gib = 0;  // largest printed
  std::vector<std::string> notes;
};
using LogLines = std::vector<std::string>;

struct LogDialect {
  std::string_view framework;  // profile
  std::string_view step_line;  // every step line holds this
  void (*read)(const LogLines& lines, LogDraft& draft);
};
[[nodiscard]] const std::vector<LogDialect>& log_dialects();

// The number behind `key`, after blanks, ':' and '='; "5,745", "1.2K" (thousand) and "57.8GiB" read as numbers.
[[nodiscard]] std::optional<double> number_behind(std::string_view line, std::string_view key);

// Arguments printed one a line or one behind another: name → value as text.
class LogArguments {
  std::map<std::string, std::string, std::less<>> values_;

 public:
  void set(std::string name, std::string value) { values_.insert_or_assign(std::move(name), std::move(value)); }
  [[nodiscard]] std::string text(std::string_view name) const;              // "" when absent, or None
  [[nodiscard]] std::optional<std::int64_t> whole(std::string_view name) const;
  [[nodiscard]] std::optional<double> number(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name) const;                     // True, true
  [[nodiscard]] bool empty() const { return values_.empty(); }
};
// "  hidden_size ............ 4096" lines.
[[nodiscard]] LogArguments dotted_arguments(const LogLines& lines);
// A run record of them, in the spelling of Megatron-LM ("tensor_model_parallel_size"); what is absent stays absent.
[[nodiscard]] std::string record_of_arguments(const LogArguments& a);
// "Config param base_emb_dim: 4096" lines.
[[nodiscard]] LogArguments prefixed_arguments(const LogLines& lines, std::string_view prefix);
// "Args(dim=4096, n_layers=32, ...)": every name=value up to the first step line.
[[nodiscard]] LogArguments assigned_arguments(const LogLines& lines, std::string_view until);

}  // namespace napkin::validation
