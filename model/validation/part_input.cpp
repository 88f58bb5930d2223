#include "model/validation/part_input.hpp"

#include <algorithm>
#include <cmath>

#include "calibrate/samples/collective_sample.hpp"
#include "hardware/hardware_input.hpp"
#include "model/collective/expert_exchange.hpp"
#include "model/collective/measures.hpp"
#include "model/collective/record_input.hpp"
#include "model/frameworks/profile_input.hpp"
#include "model/serving/forward.hpp"
#include "model/step/precision.hpp"
#include "model/transformer/model_input.hpp"
#include "model/validation/kernel_input.hpp"

namespace napkin::validation {
namespace {

double positive(const Field& f) {
  const double v = f.number();
  if (!(v > 0)) f.fail("is " + f.raw() + "; write a number above zero");
  return v;
}

// "NVIDIA H200" is in the catalog as "h200": the driver's name without the maker's.
std::string machine_name(const Field& record, const std::string& device) {
  if (const auto f = record.find("hardware")) return f->string();
  if (device.empty()) record.fail("names no hardware, and the file has no header record {\"kind\": \"device\", \"name\": ...} above it");
  std::string name = Document::parse(device, record.file()).root()["name"].string();
  const auto maker = name.find(' ');
  if (maker != std::string::npos) name.erase(0, maker + 1);
  return name;
}

Hardware machine(const Field& record, const std::string& device, Replay& r) {
  r.run.hardware = machine_name(record, device);
  try {
    Hardware h = read_hardware(r.run.hardware);
    r.run.hardware = h.accelerator.name;
    return h;
  } catch (const InputError& e) {
    if (const auto f = record.find("hardware")) f->fail(e.what());
    throw;
  }
}

// nccl-tests: time, or bus bandwidth = factor · bytes / time.
void replay_collective(const Field& record, const std::string& device, double call, Operation operation, Replay& r) {
  const Hardware h = machine(record, device, r);
  double ranks = 0;
  if (const auto f = record.find("gpus")) ranks = positive(*f);
  else if (!device.empty()) ranks = positive(Document::parse(device, record.file()).root()["world"]);
  else ranks = positive(record["gpus"]);
  if (ranks < 2) record.fail("has one rank; a collective needs two or more");
  const double bytes = positive(record["bytes"]);
  r.run.gpus = ranks;
  r.run.message = bytes;
  double seconds = 0;
  if (const auto f = record.find("t_s")) {
    seconds = positive(*f);
    check_not_hidden(*f, seconds, call);
  } else if (const auto us = record.find("time_us")) seconds = positive(*us) * 1e-6;
  else seconds = bus_factor(operation, static_cast<int>(ranks)) * bytes / (positive(record["busbw_GBps"]) * 1e9);
  CollectiveRecord c;
  c.operation = operation;
  c.ranks = static_cast<int>(ranks);
  c.bytes = Bytes::si(bytes);
  read_conditions(record, c);
  // Nothing timed from the host is shorter than an empty call.
  const double t = std::max(predicted_time(h.network, c).si(), record.has("t_s") ? call : 0);
  r.parts.push_back({.what = "", .measured = seconds, .predicted = t});
}

// One mixture-of-experts layer, forward and backward: router, dispatch, experts, combine.
void replay_moe_layer(const Field& record, Replay& r) {
  const Hardware h = machine(record, "", r);
  // The benchmark is Megatron-LM's own unless the record says otherwise.
  std::string framework = "megatron-lm";
  if (const auto f = record.find("framework")) framework = f->string();
  // Router and permutation are fused and the routing is forced to balance; the dispatcher is the record's.
  Profile profile = read_profile(framework, 2026);
  profile.expert_imbalance.value = 1;
  if (const auto f = record.find("dispatcher")) {
    const bool collective = f->string() == "a2a";
    profile.expert_exchange = collective ? ExpertExchange::all_to_all : ExpertExchange::two_level;
    // Only HybridEP leaves the experts' loads on the device.
    if (f->string() != "hybridep") profile.expert_sync = read_profile(framework, 2025).expert_sync;
  }
  const Field m = record["model"];
  const auto count = [&](const Field& of, std::string_view key) { return static_cast<int>(of[key].integer(1, 1'000'000'000)); };
  LayerKind kind;
  kind.norms = 0;
  // The benchmark leaves `swiglu` unset: its experts are not gated.
  kind.ffn.gated = false;
  kind.ffn.activation = Activation::gelu;
  kind.ffn.moe = Moe{.experts = count(m, "experts"), .top_k = count(m, "topk"), .ffn = count(m, "moe_ffn")};
  if (m.find("shared_ffn")) {
    kind.ffn.moe->shared_experts = 1;
    kind.ffn.moe->shared_ffn = count(m, "shared_ffn");
  }
  Architecture a;
  a.name = r.run.id;
  a.hidden = count(m, "hidden");
  a.vocab = 1;
  a.kinds = {kind};
  a.layers = {0};
  std::string recipe = record["precision"].string();
  std::transform(recipe.begin(), recipe.end(), recipe.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (recipe.ends_with("wise")) recipe.resize(recipe.size() - 4);
  const auto precision = precision_named(recipe);
  if (!precision) record["precision"].fail("\"" + recipe + "\" is not a precision that is known");
  r.run.precision = recipe;
  r.run.framework = profile.name;
  Job job;
  job.model = &a;
  job.hardware = &h;
  job.profile = &profile;
  job.precision = *precision;
  job.gpus = job.batch = count(record, "gpus");
  job.sequence = count(m, "seq");
  const LayerKey key{.tp = count(record, "tp"), .ep = count(record, "ep"), .micro_batch = count(m, "mbs")};
  const auto cost = layer_cost(Scope<Plain>(), job, key, kind);
  r.parts.push_back({"forward", positive(record["forward_ms"]) * 1e-3, cost.forward.total().si()});
  r.parts.push_back({"backward", positive(record["backward_ms"]) * 1e-3, cost.backward.total().si()});
}

// A prefill, or a decode step against caches of `context` tokens, of a server on `tp` ranks. Plain PyTorch unless the record
// says otherwise; the decode steps are replayed as a CUDA graph.
void replay_serving(const Field& record, Replay& r) {
  const Hardware h = machine(record, "", r);
  std::string framework = "pytorch-eager";
  if (const auto f = record.find("framework")) framework = f->string();
  const Profile profile = read_profile(framework, 0);
  const Architecture a = read_record_model(record["model"]);
  const auto precision = precision_named(record["precision"].string());
  if (!precision) record["precision"].fail(record["precision"].raw() + " is not a precision that is known");
  Job job;
  job.model = &a;
  job.hardware = &h;
  job.profile = &profile;
  job.precision = *precision;
  const auto count = [&](std::string_view key) { return record[key].integer(1, 1'000'000'000); };
  const bool decode = r.run.kind == "decode";
  ServedBatch batch{.sequences = static_cast<int>(count("batch")), .graph = decode};
  if (decode) batch.cached = count("context");
  else batch.tokens = count("seq_len");
  const auto pass = served_pass(Scope<Plain>(), job, static_cast<int>(count("tp")), batch);
  r.run.framework = profile.name;
  r.parts.push_back({"", positive(record["time_s"]), pass.time.si()});
}

void replay_measured(const Field& record, const std::string& device, double call, Replay& r) {
  if (is_kernel(r.run.kind)) return replay_kernel(record, machine(record, device, r).accelerator, call, r);
  if (const auto operation = fit::collective_operation(r.run.kind)) return replay_collective(record, device, call, *operation, r);
  if (r.run.kind == "moe_layer_fwd_bwd") return replay_moe_layer(record, r);
  if (r.run.kind == "decode" || r.run.kind == "prefill") return replay_serving(record, r);
  record[record.has("kind") ? "kind" : "collective"].fail("no formula predicts a \"" + r.run.kind + "\" by itself");
}

}  // namespace

bool is_part(const Field& record) { return record.has("kind") || record.has("collective"); }

std::optional<PartHeader> part_header(const std::string& line, const std::string& file, std::size_t number) {
  if (line.find("\"device\"") == std::string::npos && line.find("\"launch\"") == std::string::npos) return {};
  try {
    const Field f = Document::parse_line(line, file, number).root();
    const auto kind = f.is(Field::Type::object) ? f.find("kind") : std::nullopt;
    if (!kind || !kind->is(Field::Type::string)) return {};
    if (kind->string() == "device") return PartHeader{.device = true};
    if (kind->string() == "launch") return PartHeader{.call = positive(f["t_s"])};
  } catch (const InputError&) {
    // The row itself will say what is wrong with it.
  }
  return {};
}

void replay_part(const Field& record, const std::string& device, double call, Replay& r) {
  r.run.kind = (record.has("kind") ? record["kind"] : record["collective"]).string();
  replay_measured(record, device, call, r);
  for (const PartTime& p : r.parts)
    if (!std::isfinite(p.predicted) || p.predicted <= 0) record.fail("the predicted time is not a positive, finite number");
}

}  // namespace napkin::validation
