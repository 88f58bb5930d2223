#include "model/frameworks/profile_input.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "model/frameworks/constants.hpp"
#include "model/frameworks/lack_input.hpp"
#include "model/frameworks/recompute_input.hpp"
#include "model/input/constant_input.hpp"
#include "model/input/embedded.hpp"

namespace napkin {
namespace {

constexpr std::string_view members[] = {"schema", "name",  "title",  "extends",       "notes",   "bytes",
                                        "data_parallel", "recompute", "saved", "elementwise", "low_precision", "overlap", "host",
                                        "memory", "compute", "moe", "attention", "rules", "eras", "where", "context_parallel", "lacks"};
constexpr std::size_t max_ancestors = 8;

Scalar number(const Field& f) {
  const double v = f.number();
  if (v < 0) f.fail("is " + f.raw() + "; write a number that is not negative");
  return v;
}
Scalar share(const Field& f) {
  const double v = f.number();
  if (v < 0 || v > 1) f.fail("is " + f.raw() + "; write a share between 0 and 1");
  return v;
}

// Overwrites what the group mentions and leaves the rest as it was.
template <class Q, class Read>
void take(const Group& g, std::string_view key, Read read, Constant<Q>& into) {
  if (auto c = g.optional(key, read)) into = std::move(*c);
}
void take(const Field& f, std::string_view key, bool& into) {
  if (const auto v = f.find(key)) into = v->boolean();
}

void apply_bytes(const Field& f, BytePolicy& b) {
  const Group g(f, {"parameter", "gradient", "master", "moments", "compute_copy", "bucket", "working_gradient", "gather_copies",
                    "gradients_stand"});
  take(g, "parameter", number, b.parameter);
  take(g, "gradient", number, b.gradient);
  take(g, "master", number, b.master);
  take(g, "moments", number, b.moments);
  take(g, "compute_copy", number, b.compute_copy);
  take(g, "bucket", number, b.bucket);
  take(g, "working_gradient", number, b.working_gradient);
  take(g, "gather_copies", number, b.gather_copies);
  take(f, "gradients_stand", b.gradients_stand);
}

void apply_data_parallel(const Field& f, DataParallel& d) {
  const Group g(f, {"gradient_bytes", "parameter_bytes", "usable_window", "contention", "overlap_gradient",
                    "overlap_gather", "shard_unit_is_layer", "whole_reduction", "unit_copies", "prefetch_backward",
                    "by_owner", "overlap_replicas", "shard_within_torus", "bucket", "gather_by_tensor", "group"});
  take(g, "gradient_bytes", number, d.gradient_bytes);
  take(g, "parameter_bytes", number, d.parameter_bytes);
  take(g, "usable_window", share, d.usable_window);
  take(g, "contention", share, d.contention);
  take(f, "overlap_gradient", d.overlap_gradient);
  take(f, "overlap_gather", d.overlap_gather);
  take(f, "shard_unit_is_layer", d.shard_unit_is_layer);
  take(f, "whole_reduction", d.whole_reduction);
  take(f, "gather_by_tensor", d.gather_by_tensor);
  take(g, "bucket", [](const Field& v) { return v.bytes(); }, d.bucket);
  take(f, "unit_copies", d.unit_copies);
  take(f, "prefetch_backward", d.prefetch_backward);
  take(f, "by_owner", d.by_owner);
  take(f, "overlap_replicas", d.overlap_replicas);
  take(f, "shard_within_torus", d.shard_within_torus);
  if (const auto v = f.find("group")) d.group = v->integer(0, 1 << 20);
}

void apply_recompute(const Field& f, RecomputePolicy& r) {
  f.only({"selective", "early_stop", "source", "kind"});
  take(f, "early_stop", r.early_stop);
  if (const auto v = f.find("selective")) {
    r.selective = 0;
    for (const Field& m : v->elements()) r.selective |= read_recompute_module(m);
    if (r.selective == 0) v->fail("is empty; name what selective recomputation runs again");
  }
}

void apply_saved(const Field& f, SavedTensors& s) {
  const Group g(f, {"norm_output", "norm_output_sharded", "gate_activation", "attention_output_copy", "rotary_copy",
                    "norm_statistics", "logits", "logits_kept", "pipeline_outputs", "autocast"});
  take(f, "norm_output", s.norm_output);
  take(f, "norm_output_sharded", s.norm_output_sharded);
  take(f, "gate_activation", s.gate_activation);
  take(f, "attention_output_copy", s.attention_output_copy);
  take(f, "rotary_copy", s.rotary_copy);
  take(g, "norm_statistics", number, s.norm_statistics);
  take(g, "logits", number, s.logits);
  take(g, "logits_kept", number, s.logits_kept);
  take(g, "pipeline_outputs", number, s.pipeline_outputs);
  take(g, "autocast", number, s.autocast);
}

void apply_rules(const Field& f, Profile& p) {
  f.only({"vocab_multiple", "vocab_parallel", "loss_parallel", "split", "max_zero", "default_zero", "zero_with_pipeline", "micro_batches_in_rounds", "uneven_split", "kv_replication", "sequence_parallel", "source", "kind"});
  if (const auto v = f.find("vocab_multiple")) p.vocab_multiple = v->integer(1, 1 << 20);
  take(f, "vocab_parallel", p.vocab_parallel);
  take(f, "loss_parallel", p.loss_parallel);
  if (const auto v = f.find("split")) {
    const std::string rule = v->string();
    if (rule == "even") p.split = SplitRule::even;
    else if (rule == "by-cost") p.split = SplitRule::by_cost;
    else if (rule == "balanced") p.split = SplitRule::balanced;
    else v->fail("is " + v->raw() + "; write \"even\", \"by-cost\" or \"balanced\"");
  }
  if (const auto v = f.find("max_zero")) p.max_zero = static_cast<int>(v->integer(0, 3));
  if (const auto v = f.find("default_zero")) p.default_zero = static_cast<int>(v->integer(0, 3));
  take(f, "zero_with_pipeline", p.zero_with_pipeline);
  take(f, "micro_batches_in_rounds", p.micro_batches_in_rounds);
  take(f, "uneven_split", p.uneven_split);
  take(f, "kv_replication", p.kv_replication);
  take(f, "sequence_parallel", p.sequence_parallel);
}

// One file (or era) over what its ancestors said.
void apply(const Field& root, Profile& p) {
  if (const auto f = root.find("bytes")) apply_bytes(*f, p.bytes);
  if (const auto f = root.find("data_parallel")) apply_data_parallel(*f, p.data_parallel);
  if (const auto f = root.find("recompute")) apply_recompute(*f, p.recompute);
  if (const auto f = root.find("saved")) apply_saved(*f, p.saved);
  if (const auto f = root.find("elementwise")) {
    const Group g(*f, {"traffic", "rope", "gate", "clamp_forward", "clamp_backward", "scan_forward", "scan_backward", "kernels", "loss_passes"});
    take(g, "rope", number, p.elementwise.rope);
    take(g, "gate", number, p.elementwise.gate);
    take(g, "clamp_forward", number, p.elementwise.clamp_forward);
    take(g, "clamp_backward", number, p.elementwise.clamp_backward);
    take(g, "scan_forward", number, p.elementwise.scan_forward);
    take(g, "scan_backward", number, p.elementwise.scan_backward);
    take(g, "kernels", number, p.elementwise.kernels);
    take(g, "traffic", number, p.elementwise.traffic);
    take(g, "loss_passes", number, p.elementwise.loss_passes);
  }
  if (const auto f = root.find("low_precision")) {
    f->only({"weights_once_a_step", "norm_quantises", "gathers_quantised", "saves_quantised", "primary", "source", "kind"});
    take(*f, "weights_once_a_step", p.low_precision.weights_once_a_step);
    take(*f, "norm_quantises", p.low_precision.norm_quantises);
    take(*f, "gathers_quantised", p.low_precision.gathers_quantised);
    take(*f, "saves_quantised", p.low_precision.saves_quantised);
    take(*f, "primary", p.low_precision.primary);
  }
  if (const auto f = root.find("overlap")) {
    const Group g(*f, {"tensor_parallel", "expert_parallel", "expert_parallel_chunks", "context_parallel", "pipeline"});
    take(g, "tensor_parallel", share, p.overlap.tensor_parallel);
    take(g, "expert_parallel", share, p.overlap.expert_parallel);
    take(g, "expert_parallel_chunks", share, p.overlap.expert_parallel_chunks);
    take(g, "context_parallel", share, p.overlap.context_parallel);
    take(g, "pipeline", share, p.overlap.pipeline);
  }
  if (const auto f = root.find("host")) {
    const Group g(*f, {"step", "launch", "tp_forward", "tp_backward", "tp_step", "probe", "slow_hop", "slow_below", "sharded_update"});
    take(g, "tp_step", [](const Field& v) { return v.seconds(); }, p.host.tp_step);
    take(g, "probe", [](const Field& v) { return v.bytes(); }, p.host.probe);
    take(g, "slow_hop", [](const Field& v) { return v.seconds(); }, p.host.slow_hop);
    take(g, "slow_below", [](const Field& v) { return v.bandwidth(); }, p.host.slow_below);
    take(g, "sharded_update", [](const Field& v) { return v.seconds(); }, p.host.sharded_update);
    take(g, "tp_forward", [](const Field& v) { return v.seconds(); }, p.host.tp_forward);
    take(g, "tp_backward", [](const Field& v) { return v.seconds(); }, p.host.tp_backward);
    take(g, "step", [](const Field& v) { return v.seconds(); }, p.host.step);
    take(g, "launch", number, p.host.launch);
  }
  if (const auto f = root.find("memory")) {
    const Group g(*f, {"context", "communicator", "fragmentation", "workspace", "gather_buffers", "held_whole", "held_shards", "pinned", "remap",
                       "boundary_tensors"});
    take(g, "context", [](const Field& v) { return v.bytes(); }, p.memory.context);
    take(g, "communicator", [](const Field& v) { return v.bytes(); }, p.memory.communicator);
    take(g, "fragmentation", number, p.memory.fragmentation);
    take(g, "workspace", [](const Field& v) { return v.bytes(); }, p.memory.workspace);
    take(g, "gather_buffers", number, p.memory.gather_buffers);
    take(g, "held_whole", number, p.memory.held_whole);
    take(g, "held_shards", number, p.memory.held_shards);
    take(g, "pinned", share, p.memory.pinned);
    take(g, "remap", [](const Field& v) { return v.bandwidth(); }, p.memory.remap);
    take(g, "boundary_tensors", number, p.memory.boundary_tensors);
  }
  if (const auto f = root.find("compute")) {
    const Group g(*f, {"gemm_share", "straggler"});
    take(g, "gemm_share", number, p.gemm_share);
    take(g, "straggler", number, p.straggler);
  }
  if (const auto f = root.find("moe")) {
    const Group g(*f, {"imbalance", "learned_imbalance", "permute_passes", "exchange", "gemm_share", "weight_fill", "sync", "launches", "quantised_launches", "tensor_parallel", "weights_early"});
    take(g, "imbalance", number, p.expert_imbalance);
    take(g, "learned_imbalance", number, p.learned_imbalance);
    take(g, "permute_passes", number, p.permute_passes);
    take(g, "gemm_share", share, p.expert_gemm_share);
    take(g, "weight_fill", number, p.expert_fill);
    take(g, "sync", [](const Field& v) { return v.seconds(); }, p.expert_sync);
    take(g, "launches", number, p.expert_launches);
    take(g, "quantised_launches", number, p.expert_quantised);
    take(*f, "tensor_parallel", p.expert_tensor_parallel);
    take(*f, "weights_early", p.expert_weights_early);
    if (const auto v = f->find("exchange"))
      p.expert_exchange = static_cast<ExpertExchange>(one_of(*v, expert_exchange_names));
  }
  if (const auto f = root.find("context_parallel")) {
    const Group g(*f, {"exchange"});
    p.context_exchange = static_cast<ContextExchange>(one_of((*f)["exchange"], context_exchange_names));
  }
  if (const auto f = root.find("attention"))
    for (const auto& [generation, kernel] : f->members())
      if (generation != "source" && generation != "kind")
        p.attention.insert_or_assign(generation == "default" ? std::string() : generation, kernel.string());
  if (const auto f = root.find("rules")) apply_rules(*f, p);
  if (const auto f = root.find("lacks")) {
    p.lacks.clear();  // as every list: a file's own instead of its ancestors'
    for (const Field& lack : f->elements()) p.lacks.push_back(read_lack(lack));
  }
}

// Whether what a recipe's entry asks of the job holds.
bool holds(const Field& when, int year, const Situation& job) {
  when.only({"moe", "quantised", "generation", "from", "before"});
  bool all = true;  // every member is read, whether or not one before it holds: a wrong one is said for every job
  if (const auto f = when.find("moe")) all &= f->boolean() == job.moe;
  if (const auto f = when.find("quantised")) all &= f->boolean() == job.quantised;
  if (const auto f = when.find("generation")) all &= f->string() == job.generation;
  // No year is the newest release.
  if (const auto f = when.find("from")) all &= f->integer(1990, 2100) <= year || year <= 0;
  if (const auto f = when.find("before")) all &= f->integer(1990, 2100) > year && year > 0;
  return all;
}

// The same word for "Megatron-LM", "megatron_lm" and "megatron-lm".
std::string canonical(std::string_view name) {
  std::string s;
  for (const char c : name) s += c == '_' || c == ' ' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (s.ends_with(".json")) s.resize(s.size() - 5);
  return s;
}

Document open_profile(const std::string& what) {
  if (std::error_code e; std::filesystem::is_regular_file(what, e)) return Document::read(what);
  if (const auto text = profile_text(what)) return Document::parse(*text, canonical(what) + ".json");
  std::string list;
  std::vector<std::string_view> known;
  for (const auto& f : embedded::framework_profiles()) {
    known.push_back(f.name);
    list += (list.empty() ? "" : ", ") + std::string(f.name);
  }
  const std::string hint = did_you_mean(canonical(what), known);
  throw InputError("framework \"" + what + "\" is not known" +
                   (hint.empty() ? "" : "; did you mean \"" + hint + "\"?") + " (known: " + list +
                   "; or the path of a profile)");
}

// A shipped profile is complete; one of the user's may not be: every constant must have come from somewhere.
void check_complete(const Document& d, const Profile& p) {
  const auto need = [&](const auto& c, std::string_view name) {
    if (c.place.empty())
      d.root().fail("\"" + std::string(name) + "\" is missing here and in what it extends; add it, or \"extends\": \"reference\"");
  };
  for_each_constant(p, [&](std::string_view path, const auto& c) { need(c, path.substr(1)); });
  if (p.gemm_share.value <= 0) d.root().fail("\"compute/gemm_share\" is 0; write a share above 0");
  if (p.expert_gemm_share.value <= 0) d.root().fail("\"moe/gemm_share\" is 0; write a share above 0");
  if (p.expert_imbalance.value < 1) d.root().fail("\"moe/imbalance\" is below 1; the busiest rank is at least the mean");
}

}  // namespace

Profile read_profile(const std::string& what, int year, const Edits& edits, const Situation& job) {
  std::vector<Document> chain{edits.apply(open_profile(what))};
  while (const auto parent = chain.back().root().find("extends")) {
    const auto name = parent->string();
    const auto text = profile_text(name);
    if (!text) parent->fail("\"" + name + "\" is not a shipped profile; extends names one of them");
    if (chain.size() > max_ancestors) parent->fail("extends itself, or more than 8 others in a row");
    chain.push_back(edits.apply(Document::parse(*text, name + ".json")));
  }
  Profile p;
  for (auto d = chain.rbegin(); d != chain.rend(); ++d) {
    const Field root = d->root();
    root.only(std::vector<std::string_view>(std::begin(members), std::end(members)));
    if (root["schema"].integer(0, 1 << 30) != 1) root["schema"].fail("is not 1, the version this napkin reads");
    apply(root, p);
    // The first era that the year lies in wins: below `before`, or `from` on. Outside the eras is the newest release.
    if (root.find("eras") && year <= 0) p.newest = true;
    if (const auto eras = root.find("eras"); eras && year > 0)
      for (const Field& era : eras->elements()) {
        const auto from = era.find("from");
        if (from ? year >= from->integer(1990, 2100) : year < era["before"].integer(1990, 2100)) {
          apply(era, p);
          break;
        }
      }
    // Every entry that holds, in turn; the others are read all the same, so that a wrong one is found.
    if (const auto entries = root.find("where"))
      for (const Field& entry : entries->elements()) {
        Profile aside;
        apply(entry, holds(entry["when"], year, job) ? p : aside);
      }
  }
  const Field own = chain.front().root();
  p.name = own["name"].string();
  p.title = own["title"].string();
  check_complete(chain.front(), p);
  return p;
}

std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  for (const auto& f : embedded::framework_profiles()) names.emplace_back(f.name);
  return names;
}

std::optional<std::string> profile_text(std::string_view name) {
  const std::string wanted = canonical(name);
  for (const auto& f : embedded::framework_profiles())
    if (f.name == wanted) return std::string(f.text);
  return {};
}

}  // namespace napkin
