// napkin emit: the launch configuration of a layout.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/emission_view.hpp"
#include "cli/launch_flags.hpp"
#include "model/launch/target_input.hpp"

namespace napkin::cli {
namespace {

struct Options {
  std::string record;
  JobFlags job;
  LayoutFlags layout;
  LaunchFlags launch;
  EmissionOutput output;
  bool list = false;
  OutputFormat format = OutputFormat::table;
};

void run(Options o, Session& session) {
  if (o.list) {
    if (o.format != OutputFormat::json) return print(render(targets_table(), o.format));
    return print(nlohmann::ordered_json(launch::target_names()).dump(2) + "\n");
  }
  if (o.format != OutputFormat::table && o.format != OutputFormat::json)
    throw InputError("--format: a configuration has its target's own format; write json for files, rules and notes together");
  if (!o.job.framework) throw InputError("--framework: is missing; write a launch target (napkin emit --list names them)");
  const launch::Target target = launch::read_target(*o.job.framework);
  o.job.framework.reset();
  LaunchedRequest launched = read_request(o.record, o.launch, o.job, o.layout);
  RunRequest& request = launched.request;
  if (!request.framework) request.framework = target.profile;
  const Run run = resolve(request);
  if (run.profile->name != target.profile)
    note(fmt::format("the layout is of {}; {} would be predicted with --framework {}", run.profile->name, target.name, target.profile));
  note_reading(launched, run);
  const launch::Facts facts = launch::facts_of(run);
  const launch::Emission emission = launch::emit(facts, target);
  if (o.format == OutputFormat::json) {
    print(emission_json(emission, target, facts, request, run).dump(2) + "\n");
    session.exit_code = emission.expressible() ? 0 : 1;
    if (o.output.path.empty() || !emission.expressible()) return;
    const Capture quiet;  // the notes stand in the answer
    session.exit_code = give(emission, target, facts, o.output);
    return;
  }
  session.exit_code = give(emission, target, facts, o.output);
}

}  // namespace

void add_emit(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("emit", "Launch configuration of a layout for a training framework, its constraints checked");
  auto o = std::make_shared<Options>();
  command->add_option("record", o->record, "Run record (JSON); flags given beside it overwrite it")->type_name("RUN.json");
  add_job_options(*command, o->job);
  command->get_option("--framework")->description("What to write for: megatron-lm, megatron-bridge, torchtitan, nanotron ... (--list)");
  add_layout_options(*command, o->layout);
  add_launch_options(*command, o->launch);
  command->add_option("-o,--output", o->output.path, "Write to a file; a target's further files beside it")->type_name("FILE");
  command->add_option("--part", o->output.part, "Only this file of the target")->type_name("NAME");
  command->add_flag("--list", o->list, "List the targets");
  add_format(*command, o->format);
  command->footer("Examples:\n"
                  "  napkin emit --framework megatron-lm --model llama3-70b --hw h100 --gpus 64 --tp 8 --pp 4 --vpp 5 --zero 1 --batch 128\n"
                  "  napkin emit --framework nanotron --model llama3-8b --hw h100 --gpus 64 --tp 4 --zero 1 --batch 256 --format json");
  command->callback([o, &session] { run(*o, session); });
}

}  // namespace napkin::cli
