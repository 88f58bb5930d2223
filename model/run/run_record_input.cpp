// One run record → RunRequest.
#include <algorithm>
#include <array>

#include "model/step/precision.hpp"
#include "model/run/run_input.hpp"
#include "model/frameworks/lack_input.hpp"
#include "model/frameworks/recompute_input.hpp"
#include "model/transformer/model_input.hpp"

namespace napkin {
namespace {

constexpr std::int64_t max_gpus = 100'000'000, max_tokens = 1'000'000'000'000, max_degree = 10'000'000;

// DESIGN §4: used, then carried for people and for `validate`.
constexpr std::array<std::string_view, 38> members{
    "id", "framework", "hardware", "gpus", "gpus_per_node", "precision", "seq_len", "global_batch",
    "micro_batch", "recompute", "recompute_modules", "recompute_layers", "activation_offload_layers", "optimizer_offload", "task", "lora",
    "grad_accumulation_fp32", "deterministic", "bytes_per_param", "network", "year", "release", "layout", "model", "convention", "routing",
    "source", "locator", "quality", "settings", "notes", "params_b", "active_params_b", "suspect_reason", "model_note",
    "measured", "suspect", "cluster_state"};

template <class T = int>
std::optional<T> whole(const Field& object, std::string_view key, std::int64_t at_least, std::int64_t at_most) {
  if (const auto f = object.find(key)) return static_cast<T>(f->integer(at_least, at_most));
  return {};
}
std::optional<bool> flag(const Field& object, std::string_view key) {
  if (const auto f = object.find(key)) return f->boolean();
  return {};
}
std::optional<std::string> word(const Field& object, std::string_view key) {
  if (const auto f = object.find(key)) return f->string();
  return {};
}

// The index of a named choice.
template <std::size_t N>
std::optional<std::size_t> one_of(const Field& object, std::string_view key, const std::array<std::string_view, N>& names) {
  const auto f = object.find(key);
  if (!f) return {};
  const std::string name = f->string();
  const auto at = std::find(names.begin(), names.end(), name);
  if (at != names.end()) return static_cast<std::size_t>(at - names.begin());
  std::string list;
  for (const std::string_view n : names) list += (list.empty() ? "" : ", ") + std::string(n);
  f->fail("\"" + name + "\" is not known; write one of " + list);
}

void read_layout(const Field& l, RunRequest& r) {
  l.only({"tp", "sp", "cp", "ep", "etp", "pp", "vpp", "dp", "zero", "zero_group", "schedule", "cp_exchange", "split",
          "order", "exposed"});
  r.tp = whole(l, "tp", 1, max_degree);
  r.sp = flag(l, "sp");
  r.cp = whole(l, "cp", 1, max_degree);
  r.ep = whole(l, "ep", 1, max_degree);
  r.etp = whole(l, "etp", 1, max_degree);
  r.pp = whole(l, "pp", 1, max_degree);
  r.vpp = whole(l, "vpp", 1, max_degree);
  r.dp = whole<std::int64_t>(l, "dp", 1, max_gpus);
  r.zero = whole(l, "zero", 0, 3);
  r.zero_group = whole<std::int64_t>(l, "zero_group", 1, max_gpus);
  r.schedule = word(l, "schedule");
  if (const auto i = one_of(l, "cp_exchange", context_exchange_names)) r.exchange = static_cast<ExchangeChoice>(*i + 1);
  if (const auto i = one_of(l, "split", split_rule_names)) r.split = static_cast<SplitChoice>(*i + 1);
  if (const auto i = one_of(l, "order", rank_order_names)) r.order = static_cast<RankOrder>(*i);
  if (const auto f = l.find("exposed"))
    for (const Field& part : f->elements()) {
      const std::string name = part.string();
      if (name == "tp") r.exposed |= exposed_tensor_parallel;
      else if (name == "dp") r.exposed |= exposed_data_parallel;
      else part.fail("\"" + name + "\" is not known; write \"tp\", \"dp\" or both");
    }
  if (r.schedule && *r.schedule != "none" && !schedule_named(*r.schedule))
    l["schedule"].fail("\"" + *r.schedule + "\" is not a schedule; write 1f1b, interleaved, gpipe, zb-h1, zb-h2, zb-v, interleaved-zb, dualpipe or none");
}

// The modules that a table prints in brackets, "selective (mlp, moe_act)"; 0 where it does not, or names another.
std::uint8_t printed_modules(const Field& record) {
  const auto settings = record.find("settings");
  if (!settings || !settings->is(Field::Type::object)) return 0;
  const auto printed = settings->find("recompute_as_printed");
  if (!printed || !printed->is(Field::Type::string)) return 0;
  const std::string text = printed->string();
  std::uint8_t modules = 0;
  for (auto at = text.find('('); at != std::string::npos && text[at] != ')';) {
    const auto begin = text.find_first_not_of(" ,(", at), end = text.find_first_of(",)", begin);
    if (begin == std::string::npos || end == std::string::npos) return 0;
    const std::string_view name = std::string_view(text).substr(begin, end - begin);
    const auto known = std::find_if(recompute_module_names.begin(), recompute_module_names.end(), [&](const auto& m) { return m.first == name; });
    if (known == recompute_module_names.end()) return 0;
    modules |= known->second;
    at = end;
  }
  return modules;
}

void read_recompute(const Field& record, RunRequest& r) {
  constexpr std::array<std::string_view, 3> names{"none", "selective", "full"};
  if (const auto f = record.find("recompute")) {
    const std::string name = f->string();
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) f->fail("\"" + name + "\" is not known; write none, selective or full");
    r.recompute = static_cast<Recompute>(at - names.begin());
  }
  if (const auto f = record.find("recompute_modules"); f && !f->elements().empty()) {
    for (const Field& m : f->elements()) r.recompute_modules |= read_recompute_module(m);
    if (r.recompute && *r.recompute != Recompute::selective)
      f->conflict(record["recompute"], "recompute_modules need recompute \"selective\"");
    r.recompute = Recompute::selective;
  } else if (r.recompute == Recompute::selective) {
    r.recompute_modules = printed_modules(record);
  }
}

void read_bytes(const Field& record, RunRequest& r) {
  const auto f = record.find("bytes_per_param");
  if (!f) return;
  f->only({"param", "grad", "master", "moments", "compute_copy"});
  const auto bytes = [&](std::string_view key) -> std::optional<double> {
    const auto v = f->find(key);
    if (!v) return {};
    const double n = v->number();
    if (n < 0 || n > 64) v->fail("is " + v->raw() + "; write bytes per parameter, 0 to 64");
    return n;
  };
  r.param_bytes = bytes("param");
  r.grad_bytes = bytes("grad");
  r.master_bytes = bytes("master");
  r.moments_bytes = bytes("moments");
  r.compute_copy_bytes = bytes("compute_copy");
}

void read_adapters(const Field& record, RunRequest& r) {
  if (const auto f = record.find("task")) {
    r.task = f->string();
    if (!task_known(*r.task)) f->fail("\"" + *r.task + "\" is not a task; write pretrain, sft, lora or qlora");
  }
  if (const auto f = record.find("lora")) {
    f->only({"rank", "targets"});
    r.adapter_rank = whole(*f, "rank", 1, 65536);
    if (const auto targets = f->find("targets"))
      for (const Field& t : targets->elements()) {
        const auto bit = adapter_target(t.string());
        if (!bit) t.fail("\"" + t.string() + "\" is not a linear; write qkv, o, gate_up or down");
        r.adapter_targets |= *bit;
      }
  }
}

}  // namespace

RunRequest read_run_record(const Field& record) {
  record.only(std::vector<std::string_view>(members.begin(), members.end()));
  RunRequest r;
  r.place = [record](std::string_view field) {
    // "tp" stands in the layout, the rest at the top.
    const auto layout = record.find("layout");
    if (layout && layout->has(field)) return (*layout)[field].place();
    if (record.has(field)) return record[field].place();
    return record.file() + ": /" + std::string(field);
  };
  if (const auto f = record.find("id")) r.id = f->string();
  r.hardware = word(record, "hardware");
  r.framework = word(record, "framework");
  r.precision = word(record, "precision");
  r.year = whole(record, "year", 1990, 2100);
  if (const auto f = record.find("release")) {
    r.release = month_of(f->string());
    if (!r.release) f->fail("is " + f->raw() + "; write the month of the framework's release, \"2025-07\"");
    if (r.year && *r.year != *r.release / 12) f->fail("is " + f->raw() + ", but year is " + std::to_string(*r.year) + "; write one of them");
    if (!r.year) r.year = *r.release / 12;
  }
  r.gpus = whole<std::int64_t>(record, "gpus", 1, max_gpus);
  r.gpus_per_node = whole<std::int64_t>(record, "gpus_per_node", 1, max_gpus);
  r.sequence = whole<std::int64_t>(record, "seq_len", 1, max_tokens);
  if (const auto f = record.find("global_batch")) r.batch = Batch{.sequences = f->integer(1, max_tokens), .tokens = 0};
  r.micro_batch = whole(record, "micro_batch", 1, max_degree);
  try {
    r.model = std::make_shared<const Architecture>(read_record_model(record["model"], r.sequence.value_or(0)));
  } catch (const InputError& e) {
    // A name that is not known is an error of this record; a bad config file speaks for itself.
    if (std::string_view(e.what()).starts_with("model \"")) record["model"].fail(e.what());
    throw;
  }
  r.model_json = record["model"].raw();
  if (const auto f = record.find("layout")) read_layout(*f, r);
  read_recompute(record, r);
  read_adapters(record, r);
  r.recomputed_layers = whole(record, "recompute_layers", 0, 1'000'000);
  r.optimizer_offload = flag(record, "optimizer_offload");
  r.offloaded_layers = whole(record, "activation_offload_layers", 0, 1'000'000);
  read_bytes(record, r);
  if (const auto f = record.find("network")) {
    f->only({"all_reduce_GBps", "all_gather_GBps", "reduce_scatter_GBps", "all_reduce_intra_GBps"});
    const auto rate = [&](std::string_view key) -> BytesPerSecond {
      const auto v = f->find(key);
      if (!v) return {};
      if (!(v->number() > 0)) v->fail("is " + v->raw() + "; write a bus bandwidth in GB/s above 0");
      return v->number() * GB / second;
    };
    r.network = {.world = rate("all_reduce_GBps"), .intra_node = rate("all_reduce_intra_GBps")};
  }
  r.grad_accumulation_fp32 = flag(record, "grad_accumulation_fp32");
  constexpr std::array<std::string_view, 2> routings{"balanced", "learned"};
  if (const auto i = one_of(record, "routing", routings)) r.learned_routing = *i == 1;
  r.deterministic = flag(record, "deterministic");
  if (const auto f = record.find("convention")) {
    const std::string name = f->string();
    r.convention = convention_named(name);
    if (!r.convention) f->fail("\"" + name + "\" is not known; write full-attention, causal-half or weights-only");
  }
  return r;
}

}  // namespace napkin
