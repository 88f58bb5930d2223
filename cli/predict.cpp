// napkin predict: one layout, unfolded.
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/explain.hpp"
#include "cli/launch_flags.hpp"
#include "cli/pipeline_trace.hpp"
#include "cli/prediction_view.hpp"
#include "model/search/advice.hpp"
#include "model/step/timeline.hpp"
#include "model/text.hpp"

namespace napkin::cli {
namespace {

struct Options {
  std::string record, trace;
  JobFlags job;
  LayoutFlags layout;
  LaunchFlags launch;
  bool explain = false;
  OutputFormat format = OutputFormat::table;
};

// Every figure of the answer, from the answer down.
std::vector<const Node*> roots(const Prediction<Traced>& p) {
  std::vector<const Node*> r{p.step.time.why(), p.tokens_per_gpu.why(), p.mfu.why(), p.hfu.why(), p.shortest.why(),
                             p.longest.why()};
  for (const auto& s : p.stages) r.push_back(s.device.why());
  return r;
}

void run(const Options& o) {
  const LaunchedRequest launched = read_request(o.record, o.launch, o.job, o.layout);
  const Run run = resolve(launched.request);
  note_reading(launched, run);
  const auto p = predict(Scope<Plain>(), run.job, run.layout, run.convention);
  Derivation derivation;
  Prediction<Traced> traced;
  if (o.explain) traced = predict(Scope<Traced>(derivation), run.job, run.layout, run.convention);

  const Bytes device = p.step.memory.device, capacity = run.hardware->accelerator.capacity.value;
  if (verdict(device, capacity) == Verdict::does_not_fit)
    note(fmt::format("this layout does not fit: {} of {} per GPU, most of it {}; the times are of a machine with more memory",
                     format_gib(device), format_gib(capacity), dominant_term(p.step.memory)));

  if (!o.trace.empty()) {
    if (run.layout.pp == 1) throw InputError("--trace: the layout has one pipeline stage; a timeline needs pp 2 or more");
    const StepTimeline t = step_timeline(run.job, run.layout);
    write_file(o.trace, trace_json(t.program, t.stages, t.timeline, headline(run), "bytes"));
    note(fmt::format("timeline written to {}: the pipeline takes {} by simulation", o.trace, format(t.timeline.makespan)));
  }

  if (o.format == OutputFormat::json) {
    auto j = prediction_json(run, p);
    if (o.explain) j["explanation"] = explain_json(roots(traced));
    print(j.dump(2) + "\n");
  } else {
    print(render(summary_table(run, p, o.format), o.format) + "\n" + render(breakdown_table(p, o.format), o.format) + "\n" +
          render(memory_table(run, p, o.format), o.format));
    if (in_full(o.format)) print("\n" + assumption_lines(run));
    if (o.explain) print("\n" + explain(roots(traced)));
  }
}

}  // namespace

void add_predict(CLI::App& app, Session&) {
  auto* command = app.add_subcommand("predict", "Memory, step time and MFU of one layout, unfolded to its arithmetic");
  auto o = std::make_shared<Options>();
  command->add_option("record", o->record, "Run record (JSON); flags given beside it overwrite it")->type_name("RUN.json");
  add_job_options(*command, o->job);
  add_layout_options(*command, o->layout);
  add_launch_options(*command, o->launch);
  command->add_option("--trace", o->trace, "Write the pipeline's timeline (trace-event JSON for Perfetto)")->type_name("FILE");
  command->add_flag("--explain", o->explain, "Unfold every number to formula, numbers, result and source");
  add_format(*command, o->format);
  command->footer("Examples:\n"
                  "  napkin predict --model llama3.1-70b --hw h100 --gpus 64 --tp 8 --pp 2 --seq 8k --batch 128\n"
                  "  napkin predict --model 100B --hw h100 --gpus 1024 --zero 3 --seq 4k --batch 4M-tokens --explain");
  command->callback([o] { run(*o); });
}

}  // namespace napkin::cli
