// The options that describe a job and a layout, shared by plan, predict, compare and memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "model/run/run_input.hpp"

namespace napkin::cli {

// As typed; read by request().
struct JobFlags {
  std::optional<std::string> model, gpus, hardware, sequence, batch, framework, precision, convention, task;
  std::optional<int> year, adapter_rank;
  std::vector<std::string> adapter_targets;
};
struct LayoutFlags {
  std::optional<int> tp, cp, ep, etp, pp, vpp, micro_batch, zero, offloaded_layers, recomputed_layers;
  std::optional<std::int64_t> dp, zero_group;
  std::optional<bool> sp, optimizer_offload;
  std::optional<std::string> schedule, recompute, exchange, split, order;
  std::uint8_t exposed = 0;  // ExposedBits
};

void add_job_options(CLI::App& command, JobFlags& flags);
void add_layout_options(CLI::App& command, LayoutFlags& flags);

// Overwrites in `request` what the flags say.
void apply(const JobFlags& flags, RunRequest& request);
void apply(const LayoutFlags& flags, RunRequest& request);

// A run record (empty = none) with the flags over it.
[[nodiscard]] RunRequest read_request(const std::string& record, const JobFlags& job, const LayoutFlags& layout);

// Reads "tp8 pp4 dp32 zero1 mb1 sp selective" (what describe() writes) into the layout part of `request`.
void apply_layout_words(const std::string& words, RunRequest& request);

// The flag a request's field was given by: "--tp".
[[nodiscard]] std::string flag_of(std::string_view field);

// Calls `read`, turning std::invalid_argument into an InputError that starts with `where`.
template <class Read>
auto read_flag(const std::string& where, Read read) {
  try {
    return read();
  } catch (const std::invalid_argument& e) {
    throw InputError(where + ": " + e.what());
  }
}

}  // namespace napkin::cli
