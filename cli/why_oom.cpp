// napkin why-oom: which term, at which moment, on which stage, by how much, and what makes it fit.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/executor.hpp"
#include "cli/explain.hpp"
#include "cli/launch_flags.hpp"
#include "cli/validation_record.hpp"
#include "cli/why_oom_view.hpp"
#include "model/input/document_input.hpp"
#include "model/search/finalists.hpp"

namespace napkin::cli {
namespace {

const std::string arguments_flag = "--megatron-args", arguments_target = "megatron-args";

struct Options {
  std::string record, message, arguments;
  JobFlags job;
  LayoutFlags layout;
  double margin = 1 - fits_below;
  int top = 8;
  bool explain = false;
  OutputFormat format = OutputFormat::table;
};

std::string text_of(const std::string& path) {
  if (path != "-") return read_text(path);
  return {std::istreambuf_iterator<char>(std::cin), {}};
}

RunRequest request_of(const Options& o) {
  LaunchFlags launch;
  if (!o.arguments.empty()) launch.from = {arguments_target, o.arguments};
  return read_request(o.record, launch, o.job, o.layout).request;
}

OomLayout layout_of(const Options& o, const std::optional<validation::OomMessage>& message) {
  OomLayout l;
  l.run = resolve(request_of(o));
  l.margin = o.margin;
  const Run& run = l.run;
  l.prediction = predict(Scope<Plain>(), run.job, run.layout, run.convention);
  const auto& stages = l.prediction.stages;
  l.fullest = static_cast<std::size_t>(std::max_element(stages.begin(), stages.end(), [](const auto& a, const auto& b) {
                                         return a.device < b.device;
                                       }) - stages.begin());
  const Bytes catalog = run.hardware->accelerator.capacity.value;
  l.capacity = message && message->capacity ? *message->capacity : catalog;
  if (message && message->need()) l.unexplained = std::max(Bytes{}, *message->need() - stages[l.fullest].allocated);
  const Bytes limit = (1 - o.margin) * l.capacity - l.unexplained;
  if (stages[l.fullest].device <= limit) return l;

  const auto keep = static_cast<std::size_t>(o.top);
  l.fixes = fixes({.job = run.job, .layout = run.layout, .limit = limit, .keep = keep});
  if (limit <= Bytes{}) return l;
  const Problem problem{.job = run.job, .space = {}, .keep = finalists(1), .margin = 1 - double(limit / catalog)};
  Outcome outcome = search(problem, threads(0));
  (void)time_finalists(problem, 1, outcome);
  if (!outcome.best.empty()) l.best = outcome.best.front();
  return l;
}

void run(const Options& o, Session& session) {
  OomAnswer a;
  if (!o.message.empty()) a.message = validation::read_oom(text_of(o.message), o.message == "-" ? "standard input" : o.message);
  const bool layout = !o.record.empty() || !o.arguments.empty() || given(o.job, o.layout);
  if (!a.message && !layout)
    throw InputError("why-oom: nothing to look at; write --message FILE (- for standard input), a layout as `napkin predict` takes it, or both");
  if (a.message && a.message->messages > 1)
    note(fmt::format("{} out-of-memory messages; the first, line {}, is read", a.message->messages, a.message->line));
  if (layout) a.layout = layout_of(o, a.message);

  std::vector<const Node*> roots;
  Derivation derivation;
  if (o.explain) {
    if (!a.layout) throw InputError("--explain: needs a layout; a message has no formula");
    const Run& run = a.layout->run;
    const auto traced = predict(Scope<Traced>(derivation), run.job, run.layout, run.convention);
    roots.push_back(traced.stages[a.layout->fullest].device.why());
  }
  if (a.layout && a.layout->fixes.empty() && !a.layout->best &&
      a.layout->prediction.stages[a.layout->fullest].device + a.layout->unexplained > (1 - o.margin) * a.layout->capacity)
    session.exit_code = 1;
  if (o.format == OutputFormat::json) {
    auto j = why_oom_json(a);
    if (o.explain) j["explanation"] = explain_json(roots);
    print(j.dump(2) + "\n");
    return;
  }
  print(why_oom_text(a, o.format));
  if (o.explain) print("\n" + explain(roots));
}

}  // namespace

void add_why_oom(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("why-oom", "Out of memory: which term, when, on which stage, and the cheapest changes that fit");
  auto o = std::make_shared<Options>();
  command->add_option("record", o->record, "Run record (JSON); flags given beside it overwrite it")->type_name("RUN.json");
  command->add_option("--message", o->message, "File that holds the out-of-memory message, a log too; - is standard input")->type_name("FILE");
  command->add_option(arguments_flag, o->arguments, "Launch script, or log, with Megatron-LM's arguments")->type_name("FILE");
  add_job_options(*command, o->job);
  add_layout_options(*command, o->layout);
  command->add_option("--margin", o->margin, "Share of memory a change must leave free (default 0.06)")->check(CLI::Range(0.0, 0.9));
  seldom(command->add_option("--top", o->top, "Changes to show (default 8)")->check(CLI::Range(1, 100)));
  for (const char* name : {"--schedule", "--vpp"}) seldom(command->get_option(name));
  command->add_flag("--explain", o->explain, "Unfold the fullest stage's bytes to formula, numbers, result and source");
  add_format(*command, o->format);
  command->footer("Examples:\n"
                  "  napkin why-oom --model llama3-8b --hw h100 --gpus 8 --framework torchtitan --zero 3 --seq 8k --batch 16 --micro-batch 2\n"
                  "  napkin why-oom --message - <<< \"CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 39.39 GiB total capacity; "
                  "30.10 GiB already allocated; 1.20 GiB free; 37.50 GiB reserved in total by PyTorch)\"");
  command->callback([o, &session] { run(*o, session); });
}

}  // namespace napkin::cli
