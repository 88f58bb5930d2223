#include "cli/why_oom_view.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/cells.hpp"
#include "cli/prediction_view.hpp"
#include "model/search/advice.hpp"

namespace napkin::cli {
namespace {

using validation::OomCause;
using validation::OomMessage;

const StageMemory<Plain>& fullest(const OomLayout& l) { return l.prediction.stages[l.fullest]; }

std::string stage_words(const OomLayout& l) {
  const StageRanks& r = l.prediction.ranks[l.fullest];
  if (l.run.layout.pp == 1) return "every rank";
  return r.count == 1 ? fmt::format("pipeline stage {}", r.first) : fmt::format("pipeline stages {}-{}", r.first, r.first + r.count - 1);
}

// The stage a global rank belongs to: pipeline stages are the outermost blocks of ranks (Megatron-LM, TorchTitan).
std::optional<std::int64_t> stage_of_rank(const OomAnswer& a) {
  if (!a.message || !a.message->rank || !a.layout || *a.message->rank >= a.layout->run.job.gpus) return {};
  return *a.message->rank / (a.layout->run.job.gpus / a.layout->run.layout.pp);
}

std::string cause_words(const OomMessage& m) {
  const Bytes over = m.shortfall().value_or(Bytes{});
  switch (validation::cause_of(m)) {
    case OomCause::too_large:
      return fmt::format("Too large, not fragmented: live tensors and the one that failed exceed the device by {}; no allocator setting helps.", format_gib(over));
    case OomCause::fragmentation:
      return fmt::format("Fragmentation: without the holes in the allocator's blocks it would have fitted with {} to spare; {}.", format_gib(Bytes{} - over),
                         m.source == validation::OomSource::xla ? "restart, or give the pool more (XLA_PYTHON_CLIENT_MEM_FRACTION)"
                                                                : "set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
    case OomCause::other_processes:
      return fmt::format("Other processes hold {} of this device; without them it would have fitted.", format_gib(m.others().value_or(Bytes{})));
    case OomCause::host_memory:
      return "The host ran out, not the device: offloaded states, pinned buffers or the data loader; no change of the layout's device memory helps.";
    case OomCause::outside_allocator:
      return "A library beside the allocator (NCCL, cuBLAS) found no room: the allocator holds it all. Leave it some (a smaller micro-batch, "
             "torch.cuda.set_per_process_memory_fraction), and look for an earlier message of the allocator.";
    case OomCause::unknown: break;
  }
  return "The message lacks the numbers that tell fragmentation from real need; paste it whole.";
}

Table message_table(const OomMessage& m, OutputFormat format) {
  const Cells cell(format);
  Table t;
  t.title = "What the message says";
  t.columns = {{"of the device", false}, {cell.title("memory", "bytes"), true}};
  const auto row = [&](const char* words, const std::optional<Bytes>& b) {
    if (b) t.rows.push_back({words, cell.gib(*b)});
  };
  row("tried to allocate", m.tried);
  row("the compiled program", m.program);
  row("allocated (live tensors)", m.allocated);
  row("reserved, unallocated", m.cached);
  row("outside the allocator", m.outside());
  row("other processes", m.others());
  row("free", m.free);
  row("capacity", m.capacity);
  t.notes.push_back(cause_words(m));
  return t;
}

// How the message's figures and the prediction's compare.
std::vector<std::string> comparison(const OomAnswer& a) {
  std::vector<std::string> notes;
  const OomMessage& m = *a.message;
  const StageMemory<Plain>& s = fullest(*a.layout);
  if (m.need()) {
    notes.push_back(fmt::format("Allocated and tried: {} in the message, {} predicted at the peak ({:+.1f} %).", format_gib(*m.need()),
                                format_gib(s.allocated), 100 * (double(s.allocated / *m.need()) - 1)));
    if (*m.need() < s.parameters + s.optimizer)
      notes.push_back(fmt::format("It failed before parameters and optimizer states ({}) were all there: while setting up, or in the first optimizer step.",
                                  format_gib(s.parameters + s.optimizer)));
    else if (*m.need() < s.allocated)
      notes.push_back("The step would have gone on to need more: the message is from before the peak.");
    else if (a.layout->unexplained > Bytes{})
      notes.push_back(fmt::format("{} are in the message and not in the prediction; every change below is charged with them.", format_gib(a.layout->unexplained)));
  }
  if (m.outside())
    notes.push_back(fmt::format("Outside the allocator: {} in the message, {} predicted.", format_gib(*m.outside()), format_gib(s.overhead)));
  if (const auto stage = stage_of_rank(a))
    notes.push_back(fmt::format("Rank {} is on pipeline stage {}.", *m.rank, *stage));
  return notes;
}

std::string verdict_words(const OomLayout& l) {
  const StageMemory<Plain>& s = fullest(l);
  const Bytes device = s.device + l.unexplained;
  const LargestTerm term = largest_term(s);
  return fmt::format("{}\n{} needs {} of {} at its peak ({}): {} {}; the largest term is {}, {}.\n", headline(l.run), stage_words(l),
                     format_gib(device), format_gib(l.capacity), to_string(s.peak),
                     format_gib(device > l.capacity ? device - l.capacity : l.capacity - device), device > l.capacity ? "too many" : "to spare",
                     term.name, format_gib(term.bytes));
}

std::string joined(const std::vector<std::string>& words) {
  std::string s;
  for (const std::string& w : words) s += (s.empty() ? "" : " + ") + w;
  return s;
}

Table fixes_table(const OomLayout& l, OutputFormat format) {
  const Cells cell(format);
  Table t;
  t.title = fmt::format("Changes that make it fit, leaving {:.0f} % free, each predicted; cheapest first, those that change the training last", 100 * l.margin);
  t.columns = {{"change", false}, {cell.title("device", "device_bytes"), true}, {cell.title("step", "step_time_s"), true},
               {cell.title("GPU time a token", "gpu_time_change"), true}, {"", false}};
  const auto row = [&](const std::string& words, const StepCost<Plain>& cost, double slowdown, const char* caveat) {
    t.rows.push_back({words, cell.gib(cost.memory.device + l.unexplained), cell.time(cost.time),
                      format == OutputFormat::csv ? cell.share(slowdown) : fmt::format("{:+.1f} %", 100 * slowdown), caveat});
  };
  for (const Fix& f : l.fixes) row(joined(f.changes), f.cost, f.slowdown, f.same_training ? "" : "changes the training");
  if (l.best)
    row("best of all layouts: " + describe(l.best->layout), l.best->cost, double(l.best->cost.time / l.prediction.step.time) - 1, "");
  if (t.rows.empty()) t.notes.push_back("No change of one or two settings makes it fit, and no other layout of this job does.");
  return t;
}

}  // namespace

std::string why_oom_text(const OomAnswer& a, OutputFormat format) {
  std::string s;
  const auto add = [&](const std::string& part) { s += (s.empty() ? "" : "\n") + part; };
  if (a.layout && format != OutputFormat::csv) add(verdict_words(*a.layout));
  if (a.message) {
    Table t = message_table(*a.message, format);
    if (a.layout)
      for (std::string& n : comparison(a)) t.notes.push_back(std::move(n));
    add(render(t, format));
  }
  if (!a.layout) return s;
  add(render(memory_table(a.layout->run, a.layout->prediction, format), format));
  if (fullest(*a.layout).device + a.layout->unexplained > (1 - a.layout->margin) * a.layout->capacity)
    add(render(fixes_table(*a.layout, format), format));
  if (in_full(format)) add(assumption_lines(a.layout->run));
  return s;
}

nlohmann::ordered_json why_oom_json(const OomAnswer& a) {
  nlohmann::ordered_json j{{"schema", 1}};
  if (a.message) {
    const OomMessage& m = *a.message;
    auto& o = j["message"];
    const auto put = [&](const char* key, const std::optional<Bytes>& b) {
      if (b) o[key] = b->si();
    };
    put("tried_bytes", m.tried);
    put("program_bytes", m.program);
    put("allocated_bytes", m.allocated);
    put("unallocated_bytes", m.cached);
    put("outside_bytes", m.outside());
    put("other_processes_bytes", m.others());
    put("free_bytes", m.free);
    put("capacity_bytes", m.capacity);
    put("shortfall_bytes", m.shortfall());
    o["cause"] = to_string(validation::cause_of(m));
    if (m.rank) o["rank"] = *m.rank;
    if (const auto stage = stage_of_rank(a)) o["stage"] = *stage;
    o["line"] = m.line;
    o["messages"] = m.messages;
  }
  if (!a.layout) return j;
  const OomLayout& l = *a.layout;
  const StageMemory<Plain>& s = fullest(l);
  const LargestTerm term = largest_term(s);
  const StageRanks& r = l.prediction.ranks[l.fullest];
  j["peak"] = {{"stage", r.first}, {"stages", r.count}, {"moment", to_string(s.peak)}, {"term", term.name}, {"term_bytes", term.bytes.si()},
               {"device_bytes", s.device.si()}, {"unexplained_bytes", l.unexplained.si()}, {"capacity_bytes", l.capacity.si()},
               {"over_bytes", (s.device + l.unexplained - l.capacity).si()},
               {"verdict", to_string(verdict(s.device + l.unexplained, l.capacity))}};
  j["memory"] = prediction_json(l.run, l.prediction)["memory"];
  j["step_time_s"] = l.prediction.step.time.si();
  j["fixes"] = nlohmann::ordered_json::array();
  for (const Fix& f : l.fixes)
    j["fixes"].push_back({{"changes", f.changes}, {"layout", layout_json(f.layout)}, {"gpus", f.job.gpus},
                          {"device_bytes", (f.cost.memory.device + l.unexplained).si()}, {"step_time_s", f.cost.time.si()},
                          {"gpu_time_per_token_change", f.slowdown}, {"same_training", f.same_training}});
  if (l.best)
    j["best_layout"] = {{"layout", layout_json(l.best->layout)}, {"words", describe(l.best->layout)},
                        {"device_bytes", (l.best->cost.memory.device + l.unexplained).si()}, {"step_time_s", l.best->cost.time.si()}};
  j["assumptions"] = l.run.assumptions;
  return j;
}

}  // namespace napkin::cli
