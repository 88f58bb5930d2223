#include "cli/prediction_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/cells.hpp"
#include "model/text.hpp"

namespace napkin::cli {
namespace {

std::string stage_title(const StageRanks& r, int pp) {
  if (pp == 1) return "all ranks";
  return r.count == 1 ? fmt::format("stage {}", r.first) : fmt::format("stages {}-{}", r.first, r.first + r.count - 1);
}

Bytes capacity_of(const Run& run) { return run.hardware->accelerator.capacity.value; }

Bytes largest_device(const Prediction<Plain>& p) { return p.step.memory.device; }

}  // namespace

std::string headline(const Run& run) {
  return fmt::format("{} on {} × {}: {}", run.model->name, format_count(static_cast<double>(run.job.gpus)),
                     run.hardware->accelerator.title, describe(run.layout));
}

Table summary_table(const Run& run, const Prediction<Plain>& p, OutputFormat output) {
  const Cells cell(output);
  Table t;
  t.title = headline(run);
  t.columns = {{"", false}, {"value", true}, {"note", false}};
  t.rows = {
      {cell.title("step time", "step_time_s"), cell.time(p.step.time),
       fmt::format("eight in ten runs: {} to {} ({})", format(p.shortest), format(p.longest), run.spread->time.basis)},
      {cell.title("tokens/s per GPU", "tokens_per_s_per_gpu"), fmt::format("{:.1f}", p.tokens_per_gpu.si()),
       fmt::format("{} tokens a step over {} micro-batches",
                   format_count(static_cast<double>(run.job.batch * run.job.sequence)),
                   format_count(static_cast<double>(micro_batches(run.job, run.layout))))},
      {cell.title("model TFLOP/s per GPU", "model_tflops_per_gpu"), fmt::format("{:.1f}", double(p.model_rate / (TFLOP / second))),
       fmt::format("{} a token, {}", format(p.token_flops.total), to_string(run.convention))},
      {cell.title("MFU", "mfu"), cell.share(double(p.mfu)),
       fmt::format("of {} dense {}", format(p.peak), to_string(run.job.precision.gemm))},
      {cell.title("HFU", "hfu"), cell.share(double(p.hfu)), "recomputed FLOPs included"},
      {cell.title("device memory", "device_bytes"), cell.gib(largest_device(p)),
       fmt::format("of {}: {}; eight in ten runs: {} to {} ({})", format_gib(capacity_of(run)),
                   to_string(verdict(largest_device(p), capacity_of(run))), format_gib(p.least), format_gib(p.most),
                   run.spread->memory.basis)},
  };
  if (run.layout.pp > 1)
    t.notes.push_back(p.step.simulated ? "The pipeline's time is the simulation of its own stages; this number ranks."
                                       : "The pipeline's time is the closed form, within 0.4 % of the simulation where stages differ; this number ranks.");
  return t;
}

Table breakdown_table(const Prediction<Plain>& p, OutputFormat output) {
  const Cells cell(output);
  Table t;
  t.title = "Where the step goes (the slowest stage's share; the sum is the step)";
  t.columns = {{"term", false}, {cell.title("time", "time_s"), true}, {"share", true}};
  for (std::size_t i = 0; i < term_count; ++i) {
    const Seconds v = p.step.terms[i];
    if (v == Seconds{}) continue;
    t.rows.push_back({std::string(term_names[i]), cell.time(v), cell.share(double(v / p.step.time))});
  }
  t.rows.push_back({"step", cell.time(p.step.time), cell.share(1)});
  return t;
}

Table memory_table(const Run& run, const Prediction<Plain>& p, OutputFormat output) {
  const Cells cell(output);
  Table t;
  t.title = fmt::format("Bytes per GPU at the peak, of {} usable", format_gib(capacity_of(run)));
  t.columns = {{"term", false}};
  for (const StageRanks& r : p.ranks) t.columns.push_back({stage_title(r, run.layout.pp), true});
  const auto row = [&](std::string name, auto value) {
    std::vector<std::string> cells{std::move(name)};
    for (std::size_t i = 0; i < p.stages.size(); ++i) cells.push_back(value(i));
    t.rows.push_back(std::move(cells));
  };
  const auto bytes = [&](std::string name, Bytes StageMemory<Plain>::*member) {
    row(std::move(name), [&, member](std::size_t i) { return cell.gib(p.stages[i].*member); });
  };
  bytes("parameters", &StageMemory<Plain>::parameters);
  bytes("gradients", &StageMemory<Plain>::gradients);
  bytes("optimizer", &StageMemory<Plain>::optimizer);
  row("states", [&](std::size_t i) {
    return cell.gib(p.stages[i].parameters + p.stages[i].gradients + p.stages[i].optimizer);
  });
  row("micro-batches in flight", [&](std::size_t i) { return fmt::format("{:.4g}", p.ranks[i].in_flight); });
  bytes("activations", &StageMemory<Plain>::activations);
  bytes("logits and loss", &StageMemory<Plain>::logits);
  bytes("transient", &StageMemory<Plain>::transient);
  bytes("workspaces, buffers", &StageMemory<Plain>::buffers);
  row("peak at", [&](std::size_t i) { return std::string(to_string(p.stages[i].peak)); });
  bytes("allocated", &StageMemory<Plain>::allocated);
  bytes("fragmentation", &StageMemory<Plain>::fragmentation);
  if (std::ranges::any_of(p.stages, [](const StageMemory<Plain>& m) { return m.held > Bytes{}; }))
    bytes("held blocks", &StageMemory<Plain>::held);
  bytes("reserved", &StageMemory<Plain>::reserved);
  bytes("context, communicators", &StageMemory<Plain>::overhead);
  bytes("device", &StageMemory<Plain>::device);
  row("verdict", [&](std::size_t i) { return std::string(to_string(verdict(p.stages[i].device, capacity_of(run)))); });
  return t;
}

std::string assumption_lines(const Run& run) {
  std::string s;
  for (const std::string& a : run.assumptions) s += "  " + a + "\n";
  return s.empty() ? s : "Assumed:\n" + s;
}

nlohmann::ordered_json layout_json(const Layout& l) {
  nlohmann::ordered_json j{{"tp", l.tp},   {"sp", l.sp},   {"cp", l.cp}, {"ep", l.ep},     {"etp", l.etp},
                           {"pp", l.pp},   {"vpp", l.vpp}, {"dp", l.dp}, {"zero", l.zero}};
  if (l.zero_group > 0) j["zero_group"] = l.zero_group;
  j["schedule"] = l.pp > 1 ? std::string(to_string(l.schedule)) : "none";
  if (l.exchange != ExchangeChoice::usual) j["cp_exchange"] = context_exchange_names[static_cast<std::size_t>(l.exchange) - 1];
  if (l.split != SplitChoice::usual) j["split"] = split_rule_names[static_cast<std::size_t>(l.split) - 1];
  if (l.order != RankOrder::replicas_inside) j["order"] = rank_order_names[static_cast<std::size_t>(l.order)];
  if ((l.exposed & exposed_tensor_parallel) != 0) j["exposed"].push_back("tp");
  if ((l.exposed & exposed_data_parallel) != 0) j["exposed"].push_back("dp");
  return j;
}

nlohmann::ordered_json memory_json(const StageMemory<Plain>& m, Bytes capacity) {
  return {{"allocated_bytes", m.allocated.si()},
          {"reserved_bytes", m.reserved.si()},
          {"device_bytes", m.device.si()},
          {"capacity_bytes", capacity.si()},
          {"verdict", to_string(verdict(m.device, capacity))},
          {"parameters_bytes", m.parameters.si()},
          {"gradients_bytes", m.gradients.si()},
          {"optimizer_bytes", m.optimizer.si()},
          {"states_bytes", (m.parameters + m.gradients + m.optimizer).si()},
          {"activations_bytes", m.activations.si()},
          {"logits_bytes", m.logits.si()},
          {"transient_bytes", m.transient.si()},
          {"buffers_bytes", m.buffers.si()},
          {"peak_at", to_string(m.peak)},
          {"standing_bytes", m.standing.si()},
          {"fragmentation_bytes", m.fragmentation.si()},
          {"held_bytes", m.held.si()},
          {"overhead_bytes", m.overhead.si()}};
}

nlohmann::ordered_json interval_json(const Run& run, const Prediction<Plain>& p) {
  return {{"step_time_s", {p.shortest.si(), p.longest.si()}},
          {"device_bytes", {p.least.si(), p.most.si()}},
          {"coverage", interval_coverage},
          {"basis", run.spread->time.basis},
          {"n", run.spread->time.n},
          {"memory_basis", run.spread->memory.basis},
          {"memory_n", run.spread->memory.n}};
}

nlohmann::ordered_json prediction_json(const Run& run, const Prediction<Plain>& p) {
  nlohmann::ordered_json j;
  j["schema"] = 1;
  if (!run.id.empty()) j["id"] = run.id;
  j["model"] = run.model->name;
  j["hardware"] = run.hardware->accelerator.name;
  j["framework"] = run.profile->name;
  j["gpus"] = run.job.gpus;
  j["step_time_s"] = p.step.time.si();
  j["tokens_per_s_per_gpu"] = p.tokens_per_gpu.si();
  j["model_tflops_per_gpu"] = double(p.model_rate / (TFLOP / second));
  j["mfu"] = double(p.mfu);
  j["hfu"] = double(p.hfu);
  if (run.layout.pp > 1) j["pipeline_timing"] = p.step.simulated ? "simulation" : "closed-form";
  j["mfu_convention"] = to_string(run.convention);
  j["peak_tflops"] = double(p.peak / (TFLOP / second));
  j["peak_format"] = to_string(run.job.precision.gemm);
  j["model_flops_per_token"] = p.token_flops.total.si();
  auto memory = memory_json(p.step.memory, capacity_of(run));
  memory["stages"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < p.stages.size(); ++i) {
    nlohmann::ordered_json s{{"first_rank", p.ranks[i].first},
                             {"ranks", p.ranks[i].count},
                             {"micro_batches_in_flight", p.ranks[i].in_flight}};
    s.update(memory_json(p.stages[i], capacity_of(run)));
    memory["stages"].push_back(std::move(s));
  }
  j["memory"] = std::move(memory);
  auto& breakdown = j["breakdown_s"];
  for (std::size_t i = 0; i < term_count; ++i) breakdown[std::string(term_names[i])] = p.step.terms[i].si();
  j["layout"] = layout_json(run.layout);
  j["layout"]["micro_batch"] = run.layout.micro_batch;
  j["layout"]["recompute"] = to_string(run.layout.recompute);
  j["interval"] = interval_json(run, p);
  j["assumptions"] = run.assumptions;
  return j;
}

nlohmann::ordered_json run_record_json(const RunRequest& request, const Run& run) {
  nlohmann::ordered_json j;
  if (!run.id.empty()) j["id"] = run.id;
  j["framework"] = run.profile->name;
  j["hardware"] = run.hardware->accelerator.name;
  j["gpus"] = run.job.gpus;
  j["precision"] = run.job.precision.name;
  j["seq_len"] = run.job.sequence;
  j["global_batch"] = run.job.batch;
  j["micro_batch"] = run.layout.micro_batch;
  j["recompute"] = to_string(run.layout.recompute);
  j["layout"] = layout_json(run.layout);
  if (run.layout.recompute == Recompute::selective && request.recompute_modules != 0) {
    std::uint8_t left = request.recompute_modules;
    for (const auto& [name, bit] : recompute_module_names)
      if ((left & bit) != 0) {
        j["recompute_modules"].push_back(name);
        left = static_cast<std::uint8_t>(left & ~bit);
      }
  }
  if (request.task) j["task"] = *request.task;
  if (const Adapters& a = run.job.adapters; a.any()) {
    constexpr std::array<std::pair<std::string_view, std::uint8_t>, 4> targets{
        {{"qkv", adapter_qkv}, {"o", adapter_out}, {"gate_up", adapter_gate_up}, {"down", adapter_down}}};
    j["lora"]["rank"] = a.rank;
    for (const auto& [name, bit] : targets)
      if ((a.targets & bit) != 0) j["lora"]["targets"].push_back(name);
  }
  if (run.layout.recomputed_layers > 0) j["recompute_layers"] = run.layout.recomputed_layers;
  if (run.layout.offloaded_layers > 0) j["activation_offload_layers"] = run.layout.offloaded_layers;
  if (run.layout.optimizer_offload) j["optimizer_offload"] = true;
  j["model"] = nlohmann::ordered_json::parse(request.model_json);
  j["convention"] = to_string(run.convention);
  if (request.year) j["year"] = *request.year;
  if (request.gpus_per_node) j["gpus_per_node"] = *request.gpus_per_node;
  if (request.grad_accumulation_fp32) j["grad_accumulation_fp32"] = *request.grad_accumulation_fp32;
  const auto bytes = [&](const char* name, const std::optional<double>& v) {
    if (v) j["bytes_per_param"][name] = *v;
  };
  bytes("param", request.param_bytes);
  bytes("grad", request.grad_bytes);
  bytes("master", request.master_bytes);
  bytes("moments", request.moments_bytes);
  bytes("compute_copy", request.compute_copy_bytes);
  return j;
}

std::string reason(const StepCost<Plain>& step) {
  struct Cost {
    std::string_view what;
    double share;
  };
  const auto share = [&](Term t) { return double(step.terms[static_cast<std::size_t>(t)] / step.time); };
  std::vector<Cost> costs{{"bubble", share(Term::bubble)},
                          {"TP communication", share(Term::tp_comm)},
                          {"CP communication", share(Term::cp_comm)},
                          {"EP communication", share(Term::ep_comm)},
                          {"stage messages", share(Term::pp_comm)},
                          {"gradient reduction", share(Term::dp_comm)},
                          {"parameter gathering", share(Term::param_gather)},
                          {"recomputation", share(Term::recompute)},
                          {"host", share(Term::host) + share(Term::fixed)},
                          {"optimizer", share(Term::optimizer)},
                          {"stragglers", share(Term::straggler)},
                          {"element-wise", share(Term::forward_elementwise) + share(Term::backward_elementwise)}};
  std::stable_sort(costs.begin(), costs.end(), [](const Cost& a, const Cost& b) { return a.share > b.share; });
  std::string s = fmt::format("{:.0f} % matrix work", 100 * (share(Term::forward_gemm) + share(Term::backward_gemm) +
                                                               share(Term::forward_attention) +
                                                               share(Term::backward_attention) + share(Term::ends)));
  for (std::size_t i = 0; i < 3 && costs[i].share >= 0.005; ++i)
    s += fmt::format(", {} {:.1f} %", costs[i].what, 100 * costs[i].share);
  return s;
}

}  // namespace napkin::cli
