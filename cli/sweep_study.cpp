#include "cli/sweep_study.hpp"

#include <fmt/format.h>

#include <cmath>
#include <sstream>
#include <tuple>

#include "cli/prediction_view.hpp"
#include "model/search/advice.hpp"
#include "model/search/finalists.hpp"
#include "model/search/pareto.hpp"
#include "model/step/constants.hpp"
#include "model/step/prediction.hpp"
#include "model/text.hpp"

namespace napkin::cli {
namespace {

using Json = nlohmann::ordered_json;
using Of = SweepAxis::Of;

std::int64_t whole(const std::string& flag, const std::string& text, std::int64_t low, std::int64_t high) {
  const auto v = static_cast<std::int64_t>(std::stod(text));  // read_axis has checked that it is a whole number
  if (v < low || v > high)
    throw InputError(fmt::format("--{}: {} is out of range; write {} to {}", flag, v, low, high));
  return v;
}

void set_layout(LayoutFlags& f, const std::string& name, const std::string& text) {
  const auto degree = [&](std::optional<int>& into, int low, int high) {
    into = static_cast<int>(whole(name, text, low, high));
  };
  constexpr int many = 10'000'000;
  if (name == "tp")
    degree(f.tp, 1, many);
  else if (name == "cp")
    degree(f.cp, 1, many);
  else if (name == "ep")
    degree(f.ep, 1, many);
  else if (name == "etp")
    degree(f.etp, 1, many);
  else if (name == "pp")
    degree(f.pp, 1, many);
  else if (name == "vpp")
    degree(f.vpp, 1, many);
  else if (name == "micro-batch")
    degree(f.micro_batch, 1, many);
  else if (name == "zero")
    degree(f.zero, 0, 3);
  else if (name == "offload-layers")
    degree(f.offloaded_layers, 0, 1'000'000);
  else if (name == "recompute-layers")
    degree(f.recomputed_layers, 1, 1'000'000);
  else if (name == "cp-exchange")
    f.exchange = text;
  else if (name == "split")
    f.split = text;
  else if (name == "order")
    f.order = text;
  else if (name == "dp")
    f.dp = whole(name, text, 1, 100'000'000);
  else if (name == "zero-group")
    f.zero_group = whole(name, text, 1, 100'000'000);
  else if (name == "schedule")
    f.schedule = text;
  else if (name == "recompute")
    f.recompute = text;
  else if (text != "on" && text != "off")
    throw InputError("--sp: \"" + text + "\" is not known; write on or off");
  else
    f.sp = text == "on";
}

void set_job(JobFlags& f, const std::string& name, const std::string& text) {
  if (name == "gpus")
    f.gpus = text;
  else if (name == "seq")
    f.sequence = text;
  else if (name == "batch")
    f.batch = text;
  else if (name == "hw")
    f.hardware = text;
  else if (name == "model")
    f.model = text;
  else if (name == "framework")
    f.framework = text;
  else if (name == "precision")
    f.precision = text;
  else
    throw std::logic_error("no job option " + name);
}

// The constants that a factor of a sweep multiplies.
void add_scaling(const Job& job, const SweepAxis& axis, double factor, std::vector<Scaling>& into) {
  const auto found = constants_named(job, axis.name);
  if (found.empty()) {
    std::vector<std::string> paths;
    for (const ConstantInfo& c : constants_of(job))
      if (std::string p = c.label.substr(1); !p.empty()) {
        for (char& ch : p) ch = ch == '/' ? '.' : ch;
        paths.push_back(std::move(p));
      }
    const std::string close = did_you_mean(axis.name, {paths.begin(), paths.end()});
    throw InputError(fmt::format("--scale: \"{}\" names no constant of {}{}; `napkin hw show {}` lists them", axis.name,
                                 job.hardware->accelerator.name,
                                 close.empty() ? "" : ", did you mean \"" + close + "\"?",
                                 job.hardware->accelerator.name));
  }
  for (const ConstantInfo& c : found) into.push_back({c.path, factor});
}

// The layout in words but for dp, which follows from the number of accelerators.
std::string shape_of(const Layout& l) {
  std::string words = describe(l);
  const std::string dp = fmt::format("dp{}", l.dp);
  std::istringstream in(words);
  words.clear();
  for (std::string word; in >> word;)
    if (word != dp) words += (words.empty() ? "" : " ") + word;
  return words.empty() ? "zero0" : words;
}

std::string does_not_fit(const StageMemory<Plain>& m, Bytes capacity) {
  return fmt::format("does not fit: {} of {} per GPU, most of it {}", format_gib(m.device), format_gib(capacity),
                     dominant_term(m));
}

// The figures of a layout that was evaluated.
void add_figures(Json& row, const RunRequest& request, const Run& run, const StepCost<Plain>& step) {
  Prediction<Plain> p;
  p.step = step;
  quote(Scope<Plain>(), run.job, run.layout, run.convention, p);
  const Bytes capacity = run.job.hardware->accelerator.capacity.value;
  row["step_time_s"] = step.time.si();
  row["tokens_per_s_per_gpu"] = p.tokens_per_gpu.si();
  row["tokens_per_s"] = p.tokens_per_gpu.si() * static_cast<double>(run.job.gpus);
  row["mfu"] = double(p.mfu);
  const Expense e = expense(run.job, step, {});
  const double billions = 1e-9 * e.tokens;
  row["gpu_hours_per_billion_tokens"] = e.gpu_hours / billions;
  if (e.dollars) row["usd_per_billion_tokens"] = *e.dollars / billions;
  if (e.joules) row["joules_per_token"] = *e.joules / e.tokens;
  row["memory"] = {{"device_bytes", step.memory.device.si()},
                   {"capacity_bytes", capacity.si()},
                   {"verdict", to_string(verdict(step.memory.device, capacity))},
                   {"dominant_term", dominant_term(step.memory)}};
  auto& breakdown = row["breakdown_s"];
  for (std::size_t t = 0; t < term_count; ++t) breakdown[std::string(term_names[t])] = step.terms[t].si();
  row["reason"] = reason(step);
  row["words"] = describe(run.layout);
  row["shape"] = shape_of(run.layout);
  row["run"] = run_record_json(request, run);
}

void add_fixed(Json& row, const PointJob& at, const Job& job) {
  Run run = at.run;
  run.job = job;
  const auto p = predict(Scope<Plain>(), run.job, run.layout, run.convention);
  add_figures(row, at.request, run, p.step);
  const Bytes capacity = job.hardware->accelerator.capacity.value;
  if (verdict(p.step.memory.device, capacity) == Verdict::does_not_fit) {
    row["status"] = "does-not-fit";
    row["why"] = does_not_fit(p.step.memory, capacity);
  }
}

void add_best(Json& row, const PointJob& at, const Job& job, double margin, const Executor& executor) {
  const Problem problem{.job = job, .space = at.space, .keep = finalists(1), .margin = margin};
  Outcome outcome = search(problem, executor);
  (void)time_finalists(problem, 1, outcome, executor);
  row["searched"] = outcome.searched;
  row["feasible"] = outcome.feasible;
  if (!outcome.best.empty()) {
    Run run = at.run;
    run.job = job;
    run.layout = outcome.best.front().layout;
    add_figures(row, at.request, run, outcome.best.front().cost);
    return;
  }
  if (outcome.closest) {
    row["status"] = "does-not-fit";
    const Bytes device = outcome.closest->cost.memory.device, capacity = job.hardware->accelerator.capacity.value;
    row["why"] = device > capacity
                     ? "no layout fits; the smallest, " + describe(outcome.closest->layout) + ", " +
                           does_not_fit(outcome.closest->cost.memory, capacity)
                     : fmt::format("no layout leaves {:.0f} % free; the smallest, {}, needs {} of {}", 100 * margin,
                                   describe(outcome.closest->layout), format_gib(device), format_gib(capacity));
    return;
  }
  const RuleSet set(job);
  std::size_t most = outcome.dropped.size();
  for (std::size_t i = 0; i < outcome.dropped.size(); ++i)
    if (outcome.dropped[i] > 0 && (most == outcome.dropped.size() || set.needs(i) >= set.needs(most))) most = i;
  row["status"] = "invalid";
  row["why"] = most == outcome.dropped.size()
                   ? std::string("no layout is left: the limits given exclude every one")
                   : fmt::format("no layout is valid: the last rule to drop any was \"{}\"", set.name(most));
}

Json place_of(const Study& study, std::size_t point) {
  Json at = Json::object();
  const auto position = study.position(point);
  for (const std::size_t a : study.swept()) {
    const SweepAxis& axis = study.axes[a];
    at[axis.name] = axis.numbers.empty() ? Json(axis.values[position[a]]) : Json(axis.numbers[position[a]]);
  }
  return at;
}

template <class Evaluate>
Json row_of(const Study& study, std::size_t point, Evaluate evaluate) {
  Json row{{"at", place_of(study, point)}, {"status", "ok"}};
  try {
    evaluate(row);
  } catch (const InputError& e) {
    row["status"] = "invalid";
    row["why"] = one_line(e.what(), 400);
  }
  return row;
}

}  // namespace

const std::vector<SweepOption>& sweep_options() {
  // x is the first of these that has several values.
  static const std::vector<SweepOption> all{
      {"gpus", Of::job, AxisKind::gpus, "Accelerators"},
      {"seq", Of::job, AxisKind::tokens, "Sequence length in tokens"},
      {"batch", Of::job, AxisKind::batch, "Global batch: sequences (1024) or tokens (4M-tokens)"},
      {"tp", Of::layout, AxisKind::degree, "Tensor parallelism"},
      {"cp", Of::layout, AxisKind::degree, "Context parallelism"},
      {"ep", Of::layout, AxisKind::degree, "Expert parallelism"},
      {"etp", Of::layout, AxisKind::degree, "Tensor parallelism of experts"},
      {"pp", Of::layout, AxisKind::degree, "Pipeline parallelism"},
      {"vpp", Of::layout, AxisKind::degree, "Chunks per pipeline rank"},
      {"dp", Of::layout, AxisKind::degree, "Data parallelism (default: what is left of the GPUs)"},
      {"zero", Of::layout, AxisKind::degree, "ZeRO stage 0-3 (3 = FSDP)"},
      {"zero-group", Of::layout, AxisKind::degree, "Ranks a state is sharded over (HSDP)"},
      {"offload-layers", Of::layout, AxisKind::degree, "Layers of a stage whose activations wait in host memory"},
      {"recompute-layers", Of::layout, AxisKind::degree, "Layers of each chunk that --recompute full is about"},
      {"micro-batch", Of::layout, AxisKind::degree,
       "Sequences per micro-batch; alone it limits the search, it fixes no layout"},
      {"sp", Of::layout, AxisKind::words, "Sequence parallelism: on, off"},
      {"schedule", Of::layout, AxisKind::words, "Pipeline schedule"},
      {"recompute", Of::layout, AxisKind::words, "none, selective, full"},
      {"cp-exchange", Of::layout, AxisKind::words, "ring, all-gather, all-to-all"},
      {"split", Of::layout, AxisKind::words, "Layers over stages: even, by-cost, balanced"},
      {"order", Of::layout, AxisKind::words, "Rank order: tp-cp-dp-pp, tp-cp-pp-dp"},
      {"precision", Of::job, AxisKind::words, "bf16, fp8, mxfp8, nvfp4 ..."},
      {"hw", Of::job, AxisKind::words, "Hardware: catalog names or files"},
      {"framework", Of::job, AxisKind::words, "Framework profiles"},
      {"model", Of::job, AxisKind::words, "Presets, sizes (100B), config.json files"},
  };
  return all;
}

void check_layout_axes(const Study& study) {
  if (study.layout_words.empty()) return;
  const auto stated = [](const RunRequest& r) {
    return std::tie(r.tp, r.cp, r.ep, r.etp, r.pp, r.vpp, r.dp, r.zero, r.zero_group, r.micro_batch, r.sp, r.schedule, r.recompute,
                    r.recomputed_layers, r.offloaded_layers, r.exchange, r.split, r.order);
  };
  for (const SweepAxis& axis : study.axes)
    for (const std::string& value : axis.values) {
      if (axis.of != Of::layout) continue;
      // The words stand over the flag: what it says again must change nothing.
      LayoutFlags flag;
      set_layout(flag, axis.name, value);
      RunRequest words;
      apply(flag, words);
      apply_layout_words(study.layout_words, words);
      RunRequest both = words;
      apply(flag, both);
      if (stated(words) != stated(both))
        throw InputError(fmt::format("--{}: {} contradicts --layout \"{}\"; write one of them", axis.name, value, study.layout_words));
    }
}

std::size_t Study::points() const {
  std::size_t n = 1;
  for (const SweepAxis& a : axes) {
    n *= a.values.size();
    if (n > max_values)
      throw InputError(fmt::format("the axes make more than {} points; write fewer values",
                                   format_count(static_cast<double>(max_values))));
  }
  return n;
}

std::vector<std::size_t> Study::position(std::size_t point) const {
  std::vector<std::size_t> at(axes.size());
  for (std::size_t a = axes.size(); a-- > 0;) {
    at[a] = point % axes[a].values.size();
    point /= axes[a].values.size();
  }
  return at;
}

std::vector<std::size_t> Study::swept() const {
  std::vector<std::size_t> many;
  for (std::size_t a = 0; a < axes.size(); ++a)
    if (axes[a].values.size() > 1) many.push_back(a);
  return many;
}

PointJob resolve_point(const Study& study, std::size_t point, const std::string& words) {
  const auto position = study.position(point);
  JobFlags job;
  LayoutFlags layout;
  SpaceFlags space = study.space;
  const bool fixed = study.fixed || !words.empty();
  for (std::size_t a = 0; a < study.axes.size(); ++a) {
    const SweepAxis& axis = study.axes[a];
    const std::string& value = axis.values[position[a]];
    if (axis.of == Of::job) set_job(job, axis.name, value);
    // Words of a whole layout stand over the study's own.
    if (axis.of == Of::layout && words.empty()) set_layout(layout, axis.name, value);
    if (axis.of == Of::space) space.require.push_back(axis.name + "=" + value);
  }
  PointJob at{.request = study.base, .run = {}, .space = fixed ? Space{} : read_space(space), .scaled = {}};
  apply(job, at.request);
  apply(layout, at.request);
  if (const std::string& w = words.empty() ? study.layout_words : words; !w.empty()) apply_layout_words(w, at.request);
  at.run = resolve(at.request, fixed);
  for (std::size_t a = 0; a < study.axes.size(); ++a)
    if (study.axes[a].of == Of::constant)
      add_scaling(at.run.job, study.axes[a], study.axes[a].numbers[position[a]], at.scaled);
  return at;
}

nlohmann::ordered_json evaluate_point(const Study& study, std::size_t point, const Executor& executor) {
  return row_of(study, point, [&](Json& row) {
    const PointJob at = resolve_point(study, point);
    const ScaledJob scaled(at.run.job, at.scaled);
    row["gpus"] = at.run.job.gpus;
    row["seq_len"] = at.run.job.sequence;
    row["global_batch"] = at.run.job.batch;
    for (const Scaling& s : at.scaled) row["scaled"][s.path] = s.factor;
    if (study.fixed)
      add_fixed(row, at, scaled.job());
    else
      add_best(row, at, scaled.job(), study.margin, executor);
  });
}

nlohmann::ordered_json evaluate_layout(const Study& study, std::size_t point, const std::string& words) {
  return row_of(study, point, [&](Json& row) {
    const PointJob at = resolve_point(study, point, words);
    const ScaledJob scaled(at.run.job, at.scaled);
    add_fixed(row, at, scaled.job());
    const auto& memory = row.at("memory");
    // As strict as the search: it leaves the margin free.
    if (row.at("status") == "ok" &&
        memory.at("device_bytes").get<double>() > (1 - study.margin) * memory.at("capacity_bytes").get<double>()) {
      row["status"] = "does-not-fit";
      row["why"] = fmt::format("leaves less than {:.0f} % of memory free", 100 * study.margin);
    }
  });
}

}  // namespace napkin::cli
