#include "cli/commands.hpp"

#include <vector>

#include "cli/calibrate.hpp"

namespace napkin::cli {

namespace {

struct Group {
  const char* title;
  std::vector<void (*)(CLI::App&, Session&)> commands;
};

// The question that a reader has, and the commands that answer it.
const std::vector<Group>& groups() {
  static const std::vector<Group> all{
      {"Which layout? How fast is it, does it fit, and why", {add_plan, add_predict, add_compare, add_sweep, add_emit, add_steptime}},
      {"How many bytes on each GPU", {add_memory, add_why_oom, add_finetune, add_quant}},
      {"The model, the run: parameters, FLOPs, MFU, days and dollars", {add_params, add_flops, add_traintime}},
      {"One kernel, one chip: which bound", {add_roofline, add_attention, add_chip}},
      {"Communication: what it takes, and whether it hides", {add_collective, add_network, add_shard, add_limits, add_overlap, add_moe, add_select}},
      {"Pipelines and failures", {add_pipeline, add_goodput}},
      {"Serving", {add_kv, add_prefill, add_decode, add_serve}},
      {"How far to trust it", {add_validate, add_calibrate}},
      {"What napkin knows", {add_questions, add_hw, add_models, add_frameworks}}};
  return all;
}

}  // namespace

void add_commands(CLI::App& app, Session& session) {
  for (const Group& g : groups()) {
    const auto before = app.get_subcommands([](CLI::App*) { return true; }).size();
    for (const auto add : g.commands) add(app, session);
    const auto after = app.get_subcommands([](CLI::App*) { return true; });
    for (std::size_t i = before; i < after.size(); ++i) after[i]->group(g.title);
  }
}

}  // namespace napkin::cli
