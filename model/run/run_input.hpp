// Run records (DESIGN §4) and command-line flags → Run. What is missing and can be inferred is, and listed among the
// assumptions; contradictions are errors that show both values.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "model/input/document_input.hpp"
#include "model/input/edits_input.hpp"
#include "model/input/number_input.hpp"
#include "model/run/library_input.hpp"
#include "model/run/run.hpp"

namespace napkin {

// A run as it was written down, before anything is inferred.
struct RunRequest {
  std::string id;
  std::shared_ptr<const Architecture> model;
  std::string model_json;  // how the model was named: JSON text of a string or an object
  std::optional<std::string> hardware, framework, precision;
  std::optional<int> year;
  std::optional<int> release;  // month of the framework's release, 12·year + month − 1; year alone = its December
  std::optional<std::int64_t> gpus, gpus_per_node, sequence;
  std::optional<Batch> batch;
  std::optional<FlopConvention> convention;
  std::optional<bool> learned_routing;  // of a mixture of experts: the router learns, or is forced to balance

  std::optional<int> tp, cp, ep, etp, pp, vpp, micro_batch, zero;
  std::optional<bool> sp;
  std::optional<std::int64_t> dp, zero_group;
  std::optional<std::string> schedule;
  std::optional<Recompute> recompute;
  std::uint8_t recompute_modules = 0;

  std::optional<std::string> task;   // pretrain, sft, lora or qlora
  std::optional<int> adapter_rank;
  std::uint8_t adapter_targets = 0;  // AdapterTarget bits; 0: not said
  std::optional<int> recomputed_layers, offloaded_layers;
  std::optional<bool> optimizer_offload;
  ExchangeChoice exchange = ExchangeChoice::usual;
  SplitChoice split = SplitChoice::usual;
  RankOrder order = RankOrder::replicas_inside;
  std::uint8_t exposed = 0;          // ExposedBits
  std::optional<bool> grad_accumulation_fp32;
  std::optional<bool> deterministic;  // sums keep their order from run to run (Megatron-LM --deterministic-mode)
  MeasuredNetwork network;
  // Byte policy of the record, over the profile's: parameter, gradient, master, moments, compute copy.
  std::optional<double> param_bytes, grad_bytes, master_bytes, moments_bytes, compute_copy_bytes;

  Edits edits;  // of constants of the hardware and the framework: fits, sensitivities
  std::shared_ptr<Library> library;  // where many runs share what they refer to; its edits then count instead

  // Where a field stands, for messages: "run.json:4: /layout/tp", or "--tp".
  std::function<std::string(std::string_view field)> place = [](std::string_view f) { return std::string(f); };
};

// Whether it says anything of a layout. A micro-batch alone does not: it limits a search.
[[nodiscard]] bool states_a_layout(const RunRequest& request);

// The names of tasks, and of the linears adapters may sit beside.
[[nodiscard]] bool task_known(std::string_view name);
[[nodiscard]] std::optional<std::uint8_t> adapter_target(std::string_view name);

// One record. Members that DESIGN §4 does not list are errors; mechanisms that are not modelled are refused by name.
[[nodiscard]] RunRequest read_run_record(const Field& record);

// Fills in what follows from the rest and checks it. `with_layout` false: a plan, no layout yet.
[[nodiscard]] Run resolve(const RunRequest& request, bool with_layout = true);

}  // namespace napkin
