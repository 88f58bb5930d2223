// napkin memory: bytes per GPU of one layout, by term and stage.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/explain.hpp"
#include "cli/prediction_view.hpp"
#include "cli/run_flags.hpp"

namespace napkin::cli {
namespace {

struct Options {
  std::string record;
  JobFlags job;
  LayoutFlags layout;
  bool explain = false;
  OutputFormat format = OutputFormat::table;
};

void run(const Options& o) {
  const Run run = resolve(read_request(o.record, o.job, o.layout));
  const auto p = predict(Scope<Plain>(), run.job, run.layout, run.convention);
  std::vector<const Node*> roots;
  Derivation derivation;
  if (o.explain) {
    const auto traced = predict(Scope<Traced>(derivation), run.job, run.layout, run.convention);
    for (const auto& s : traced.stages) roots.push_back(s.device.why());
  }
  if (o.format == OutputFormat::json) {
    auto j = prediction_json(run, p)["memory"];
    j["assumptions"] = run.assumptions;
    if (o.explain) j["explanation"] = explain_json(roots);
    print(j.dump(2) + "\n");
    return;
  }
  print((o.format == OutputFormat::csv ? std::string() : headline(run) + "\n\n") + render(memory_table(run, p, o.format), o.format));
  if (o.format == OutputFormat::table) print("\n" + assumption_lines(run));
  if (o.explain) print("\n" + explain(roots));
}

}  // namespace

void add_memory(CLI::App& app, Session&) {
  auto* command = app.add_subcommand("memory", "Bytes per GPU of one layout, by term and pipeline stage");
  auto o = std::make_shared<Options>();
  command->add_option("record", o->record, "Run record (JSON); flags given beside it overwrite it")->type_name("RUN.json");
  add_job_options(*command, o->job);
  add_layout_options(*command, o->layout);
  command->add_flag("--explain", o->explain, "Unfold every number to formula, numbers, result and source");
  add_format(*command, o->format);
  command->footer("Examples:\n"
                  "  napkin memory --model llama3-8b --hw h100 --gpus 8 --zero 3 --seq 8k --batch 8\n"
                  "  napkin memory --model gpt3-175b --hw a100 --gpus 64 --tp 8 --pp 8 --batch 64 --seq 2k --explain");
  command->callback([o] { run(*o); });
}

}  // namespace napkin::cli
