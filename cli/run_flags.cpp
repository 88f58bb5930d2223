#include "cli/run_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "model/input/number_input.hpp"
#include "model/transformer/model_input.hpp"

namespace napkin::cli {

void add_job_options(CLI::App& command, JobFlags& f) {
  command.add_option("--model", f.model, "Preset, size (100B, 7B, 1T-moe), config.json or folder holding one")
      ->type_name("MODEL");
  command.add_option("--gpus", f.gpus, "Accelerators")->type_name("N");
  command.add_option("--hw", f.hardware, "Hardware: a catalog name (h100.json, h100) or a file")->type_name("HW");
  command.add_option("--seq", f.sequence, "Sequence length in tokens (4k = 4096)")->type_name("TOKENS");
  command.add_option("--batch", f.batch, "Global batch: sequences (1024) or tokens (4M-tokens)")->type_name("BATCH");
  command.add_option("--framework", f.framework, "Framework profile (default: reference, 16 B/param)")->type_name("NAME");
  command.add_option("--year", f.year, "Year of the framework's release (default: newest)")
      ->type_name("YEAR")
      ->check(CLI::Range(1990, 2100));
  command.add_option("--precision", f.precision, "bf16 (default), fp16, fp32, tf32, fp8, fp8-block, mxfp8, nvfp4 ...")
      ->type_name("RECIPE");
  command.add_option("--task", f.task, "pretrain (default), sft, lora or qlora")->type_name("TASK");
  command.add_option("--lora-rank", f.adapter_rank, "Rank of the adapters (default 16)")->type_name("N")->check(CLI::Range(1, 65536));
  command.add_option("--lora-targets", f.adapter_targets, "Linears with adapters: qkv, o, gate_up, down (default qkv o)")
      ->type_name("NAME")
      ->delimiter(',');
  command
      .add_option("--convention", f.convention,
                  "How MFU counts attention: full-attention (default), causal-half, weights-only")
      ->type_name("NAME");
  for (const char* name : {"--year", "--lora-rank", "--lora-targets", "--convention"}) seldom(command.get_option(name));
}

void add_layout_options(CLI::App& command, LayoutFlags& f) {
  const auto degree = [&](const char* name, std::optional<int>& into, const char* what) {
    command.add_option(name, into, what)->type_name("N")->check(CLI::Range(1, 10'000'000));
  };
  degree("--tp", f.tp, "Tensor parallelism");
  command.add_flag_callback("--sp", [&f] { f.sp = true; }, "Sequence parallelism over the TP group (default with --tp)");
  command.add_flag_callback("--no-sp", [&f] { f.sp = false; }, "No sequence parallelism");
  degree("--cp", f.cp, "Context parallelism");
  degree("--ep", f.ep, "Expert parallelism");
  degree("--etp", f.etp, "Tensor parallelism of experts");
  degree("--pp", f.pp, "Pipeline parallelism");
  degree("--vpp", f.vpp, "Chunks per pipeline rank (interleaving)");
  command.add_option("--schedule", f.schedule, "Pipeline schedule: 1f1b, interleaved, gpipe, zb-h1, zb-v ...")
      ->type_name("NAME");
  command.add_option("--dp", f.dp, "Data parallelism (default: what is left of the GPUs)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000'000}));
  command.add_option("--zero", f.zero, "ZeRO stage 0-3 (3 = FSDP)")->type_name("STAGE")->check(CLI::Range(0, 3));
  command.add_option("--zero-group", f.zero_group, "Ranks a state is sharded over (HSDP; default: all replicas)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000'000}));
  degree("--micro-batch", f.micro_batch, "Sequences per micro-batch (default 1)");
  command.add_option("--recompute", f.recompute, "none, selective or full")->type_name("KIND");
  command.add_option("--offload-layers", f.offloaded_layers, "Layers of a stage whose activations wait in host memory")
      ->type_name("N")
      ->check(CLI::Range(0, 1'000'000));
  command.add_flag_callback("--offload-optimizer", [&f] { f.optimizer_offload = true; },
                            "Master weights and moments wait in host memory for the update");
  command.add_option("--recompute-layers", f.recomputed_layers, "Layers of each chunk that --recompute full is about (default all)")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000));
  command.add_option("--cp-exchange", f.exchange, "ring, all-gather or all-to-all (default: the framework's)")->type_name("KIND");
  command.add_option("--split", f.split, "Layers over stages: even, by-cost or balanced (default: the framework's)")
      ->type_name("RULE");
  command.add_option("--order", f.order, "Rank order: tp-cp-dp-pp (default) or tp-cp-pp-dp")->type_name("ORDER");
  command.add_flag_callback("--no-tp-overlap", [&f] { f.exposed |= exposed_tensor_parallel; },
                            "Tensor-parallel communication is not hidden");
  command.add_flag_callback("--no-dp-overlap", [&f] { f.exposed |= exposed_data_parallel; },
                            "Data-parallel communication is not hidden");
  for (const char* name : {"--no-sp", "--etp", "--zero-group", "--offload-layers", "--offload-optimizer", "--recompute-layers", "--cp-exchange", "--split", "--order", "--no-tp-overlap", "--no-dp-overlap"}) seldom(command.get_option(name));
}

std::string flag_of(std::string_view field) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> renamed{{
      {"hardware", "hw"}, {"seq_len", "seq"}, {"global_batch", "batch"},
      {"micro_batch", "micro-batch"}, {"zero_group", "zero-group"}, {"gpus_per_node", "gpus-per-node"}}};
  for (const auto& [name, flag] : renamed)
    if (field == name) return "--" + std::string(flag);
  return "--" + std::string(field);
}

void apply(const JobFlags& f, RunRequest& r) {
  if (f.model) {
    r.model = std::make_shared<const Architecture>(read_model(*f.model));
    r.model_json = nlohmann::json(*f.model).dump();
  }
  if (f.gpus)
    r.gpus = read_flag("--gpus", [&] {
      const double n = parse_count(*f.gpus);
      if (n < 1 || n > 1e8 || n != static_cast<double>(static_cast<std::int64_t>(n)))
        throw std::invalid_argument(fmt::format("\"{}\" is not a number of accelerators; write a whole number from 1 to 100 million", *f.gpus));
      return static_cast<std::int64_t>(n);
    });
  if (f.hardware) r.hardware = f.hardware;
  if (f.sequence)
    r.sequence = read_flag("--seq", [&] {
      const std::int64_t n = parse_tokens(*f.sequence);
      if (n < 1) throw std::invalid_argument(fmt::format("\"{}\" is not a sequence length; write 1 or more tokens", *f.sequence));
      return n;
    });
  if (f.batch) r.batch = read_flag("--batch", [&] { return parse_batch(*f.batch); });
  if (f.framework) r.framework = f.framework;
  if (f.precision) r.precision = f.precision;
  if (f.year) r.year = f.year;
  if (f.task) {
    if (!task_known(*f.task)) throw InputError(fmt::format("--task: \"{}\" is not known; write pretrain, sft, lora or qlora", *f.task));
    r.task = f.task;
  }
  if (f.adapter_rank) r.adapter_rank = f.adapter_rank;
  if (!f.adapter_targets.empty()) r.adapter_targets = 0;
  for (const std::string& name : f.adapter_targets) {
    const auto bit = adapter_target(name);
    if (!bit) throw InputError(fmt::format("--lora-targets: \"{}\" is not known; write qkv, o, gate_up or down", name));
    r.adapter_targets |= *bit;
  }
  if (f.convention) {
    r.convention = convention_named(*f.convention);
    if (!r.convention)
      throw InputError(fmt::format("--convention: \"{}\" is not known; write full-attention, causal-half or weights-only",
                                   *f.convention));
  }
}

namespace {

Recompute recompute_named(const std::string& where, const std::string& name) {
  if (name == "none") return Recompute::none;
  if (name == "selective") return Recompute::selective;
  if (name == "full") return Recompute::full;
  throw InputError(where + ": \"" + name + "\" is not known; write none, selective or full");
}

template <std::size_t N>
std::size_t index_of(const std::string& where, std::string_view name, const std::array<std::string_view, N>& names) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) throw InputError(fmt::format("{}: \"{}\" is not known; write one of {}", where, name, fmt::join(names, ", ")));
  return static_cast<std::size_t>(at - names.begin());
}

// The words of describe() that carry no number of their own.
bool apply_choice(const std::string& where, const std::string& word, RunRequest& r) {
  const auto after = [&](std::string_view prefix) { return std::string_view(word).substr(prefix.size()); };
  if (word == "optimizer-offload") r.optimizer_offload = true;
  else if (word == "no-tp-overlap") r.exposed |= exposed_tensor_parallel;
  else if (word == "no-dp-overlap") r.exposed |= exposed_data_parallel;
  else if (word.starts_with("cp-")) r.exchange = static_cast<ExchangeChoice>(index_of(where, after("cp-"), context_exchange_names) + 1);
  else if (word.starts_with("split-")) r.split = static_cast<SplitChoice>(index_of(where, after("split-"), split_rule_names) + 1);
  else if (word.starts_with("order-")) r.order = static_cast<RankOrder>(index_of(where, after("order-"), rank_order_names));
  else return false;
  return true;
}

}  // namespace

void apply(const LayoutFlags& f, RunRequest& r) {
  const auto take = [](const auto& from, auto& into) {
    if (from) into = from;
  };
  take(f.tp, r.tp);
  take(f.cp, r.cp);
  take(f.ep, r.ep);
  take(f.etp, r.etp);
  take(f.pp, r.pp);
  take(f.vpp, r.vpp);
  take(f.micro_batch, r.micro_batch);
  take(f.zero, r.zero);
  take(f.dp, r.dp);
  take(f.zero_group, r.zero_group);
  take(f.offloaded_layers, r.offloaded_layers);
  take(f.sp, r.sp);
  if (f.schedule) {
    if (*f.schedule != "none" && !schedule_named(*f.schedule))
      throw InputError("--schedule: \"" + *f.schedule +
                       "\" is not known; write 1f1b, interleaved, gpipe, zb-h1, zb-h2, zb-v, interleaved-zb or dualpipe");
    r.schedule = f.schedule;
  }
  if (f.recompute) r.recompute = recompute_named("--recompute", *f.recompute);
  take(f.recomputed_layers, r.recomputed_layers);
  take(f.optimizer_offload, r.optimizer_offload);
  if (f.exchange) r.exchange = static_cast<ExchangeChoice>(index_of("--cp-exchange", *f.exchange, context_exchange_names) + 1);
  if (f.split) r.split = static_cast<SplitChoice>(index_of("--split", *f.split, split_rule_names) + 1);
  if (f.order) r.order = static_cast<RankOrder>(index_of("--order", *f.order, rank_order_names));
  r.exposed |= f.exposed;
}

RunRequest read_request(const std::string& record, const JobFlags& job, const LayoutFlags& layout) {
  RunRequest r;
  if (record.empty()) r.place = flag_of;
  else r = read_run_record(Document::read(record).root());
  apply(job, r);
  apply(layout, r);
  return r;
}

void apply_layout_words(const std::string& words, RunRequest& r) {
  if (words.find_first_not_of(" \t") == words.npos) throw InputError("a layout in words is empty; write, say, \"tp8 pp4 zero1\"");
  // What describe() leaves out is off, so that its words mean the same layout everywhere.
  r.sp = false;
  if (!r.zero) r.zero = 0;
  std::istringstream in(words);
  std::set<std::string> said;
  for (std::string word; in >> word;) {
    if (const auto name = word.substr(0, word.find_first_of("0123456789")); !schedule_named(word) && !said.insert(name).second)
      throw InputError("layout \"" + words + "\": \"" + name + "\" stands twice; write it once");
    if (schedule_named(word)) {
      r.schedule = word;
      continue;
    }
    const auto digits = word.find_first_of("0123456789");
    const std::string name = word.substr(0, digits);
    if (digits == std::string::npos) {
      if (word == "sp") r.sp = true;
      else if (apply_choice("layout \"" + words + "\"", word, r)) continue;
      else r.recompute = recompute_named("layout \"" + words + "\"", word);
      continue;
    }
    int value = 0;
    const auto [end, error] = std::from_chars(word.data() + digits, word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size() || value < 0 || (value == 0 && name != "zero")) {
      throw InputError("layout \"" + words + "\": \"" + word + "\" is not a degree; write a name and a number, as tp8");
    }
    if (name == "tp") r.tp = value;
    else if (name == "cp") r.cp = value;
    else if (name == "ep") r.ep = value;
    else if (name == "etp") r.etp = value;
    else if (name == "pp") r.pp = value;
    else if (name == "vpp") r.vpp = value;
    else if (name == "dp") r.dp = value;
    else if (name == "zero") r.zero = value;
    else if (name == "shard") r.zero_group = value;
    else if (name == "mb") r.micro_batch = value;
    else if (name == "layers") r.recomputed_layers = value;
    else if (name == "offload") r.offloaded_layers = value;
    else
      throw InputError("layout \"" + words + "\": \"" + name +
                       "\" is not an axis; write tp, cp, ep, etp, pp, vpp, dp, zero, shard, mb, layers, offload, sp, a schedule or a kind of recomputation");
  }
}

}  // namespace napkin::cli
