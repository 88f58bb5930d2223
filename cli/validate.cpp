// napkin validate: measured runs against their predictions.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "cli/choices.hpp"
#include "cli/command.hpp"
#include "cli/executor.hpp"
#include "cli/pipeline_trace.hpp"
#include "cli/run_flags.hpp"
#include "cli/validation_record.hpp"
#include "cli/validation_study.hpp"
#include "cli/validation_view.hpp"
#include "model/validation/embedded_runs.hpp"
#include "model/validation/ledger.hpp"
#include "model/validation/log_input.hpp"

namespace napkin::cli {
namespace {

using namespace validation;

struct Options {
  std::vector<std::string> files;
  std::string log, record, leave_out, intervals;
  bool constants = false, unfitted = false;
  JobFlags job;
  LayoutFlags layout;
  std::size_t worst = 10;
  double tolerance = 0;
  unsigned threads = 0;
  bool choices = false;
  std::int64_t min_gpus = 1;
  OutputFormat format = OutputFormat::table;
};

std::vector<Replay> replay_all(const std::vector<SourceText>& sources, const Edits& edits, unsigned count) {
  // Each block has its own library: enough blocks to share the work, few enough to read each file a few times only.
  const std::size_t blocks = 4 * std::max<std::size_t>(1, count > 0 ? count : std::thread::hardware_concurrency());
  std::vector<Replay> rows(sources.size());
  threads(count)(blocks, [&](std::size_t b) {
    const auto library = std::make_shared<Library>(edits);
    for (std::size_t i = b; i < sources.size(); i += blocks) rows[i] = replay(sources[i], library);
  });
  return rows;
}

// What there is to replay: the log as a record, the files, or what is compiled in.
std::vector<SourceText> sources_of(const Options& o) {
  std::vector<SourceText> sources;
  if (!o.log.empty()) {
    const LogRun run = read_log(read_text(o.log), o.log);
    const std::string record = record_of_log(run, o.log, o.job, o.layout);
    if (!o.record.empty()) write_file(o.record, record + "\n");
    for (const std::string& missing : run.notes) note(o.log + ": " + missing);
    sources.push_back({record, o.log, 1});
  }
  for (const std::string& file : o.files) {
    auto more = read_sources(file);
    std::move(more.begin(), more.end(), std::back_inserter(sources));
  }
  return o.log.empty() && o.files.empty() ? embedded_sources() : sources;
}

std::string heading(const Options& o, const Summary& s) {
  std::string text = "# Predicted against measured\n\n`napkin validate";
  for (const std::string& file : o.files) text += " " + file.substr(file.rfind('/') + 1);
  text += fmt::format(" --format md` over {} records. An error is predicted / measured − 1; median and nine-in-ten are of its "
                      "magnitude, by linear interpolation; bias is its signed median. One set of constants serves a machine and a "
                      "framework; no constant belongs to a row. Rows that cannot be predicted are refused and counted below.\n\n",
                      s.rows);
  return text;
}

void run(const Options& o, Session& session) {
  if (!o.record.empty() && o.log.empty()) throw InputError("--record: writes the record made from a log; give --log FILE too");
  if (o.log.empty() && given(o.job, o.layout))
    throw InputError("the options of a job and a layout complete a log; give --log FILE too, or write them into the record");
  const std::vector<SourceText> sources = sources_of(o);
  if (o.choices) return print_choices(sources, o.min_gpus, o.worst, threads(o.threads), o.format);
  if (o.constants || !o.leave_out.empty()) {
    print(o.constants ? constants_report(sources, threads(o.threads), o.format)
                      : leave_out_report(sources, o.leave_out, threads(o.threads), o.format));
    return;
  }
  const Edits edits = o.unfitted ? edits_of(ledger(), neutral_values(ledger())) : Edits();
  const std::vector<Replay> rows = replay_all(sources, edits, o.threads);
  if (!o.intervals.empty()) {
    std::string files;
    for (const std::string& f : o.files) files += (files.empty() ? "" : ", ") + f.substr(f.rfind('/') + 1);
    const auto embedded = o.files.empty() ? rows : replay_all(embedded_sources(), Edits(), o.threads);
    write_file(o.intervals, residuals_file(rows, files.empty() ? "what is compiled in" : files, embedded));
    return;
  }
  if (!o.log.empty() && !rows[0].refused.empty())
    throw InputError(fmt::format("{}: {} (what a log does not say is given by options, as --hw, --model, --seq)", o.log, rows[0].refused));
  if (rows.empty()) throw InputError("no records: the files are empty");
  const Summary s = summarise(rows);
  switch (o.format) {
    case OutputFormat::json: print(validation_json(rows, s).dump(2) + "\n"); break;
    case OutputFormat::csv: print(render(row_table(rows), o.format)); break;
    case OutputFormat::md: print(heading(o, s)); [[fallthrough]];
    case OutputFormat::html:
    case OutputFormat::latex:
    case OutputFormat::table:
      print(rows.size() == 1 && rows[0].refused.empty() && rows[0].run.kind == "run" ? render(comparison_table(rows[0]), o.format)
                                                                                    : validation_report(rows, s, o.worst, o.format));
  }
  const ErrorSummary& time = s.all.metrics[static_cast<std::size_t>(Metric::step_time)];
  if (o.tolerance > 0 && 100 * time.median_abs > o.tolerance) {
    session.exit_code = 1;
    note(fmt::format("the median step-time error is {:.1f} %, above --tolerance {:g} %", 100 * time.median_abs, o.tolerance));
  }
}

}  // namespace

#ifndef NAPKIN_HAS_FIT
std::string constants_report(const std::vector<SourceText>&, const Executor&, OutputFormat) {
  throw InputError("--constants needs Eigen, which this napkin was built without; install libeigen3-dev and build again");
}
std::string leave_out_report(const std::vector<SourceText>&, const std::string&, const Executor&, OutputFormat) {
  throw InputError("--leave-out needs Eigen, which this napkin was built without; install libeigen3-dev and build again");
}
#endif

void add_validate(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("validate", "Predicted against measured: errors, bias, verdicts, regret");
  auto o = std::make_shared<Options>();
  command
      ->add_option("records", o->files,
                   "Run records with a `measured` member, kernel, collective and layer records (JSON lines, or one JSON "
                   "document). None: what is compiled in, our own measurements and published tables")
      ->type_name("RUNS.jsonl...");
  command
      ->add_option("--log", o->log, "Make the record from a training log (Megatron-LM, TorchTitan, nanotron, DeepSpeed, MaxText)")
      ->type_name("FILE");
  command->add_option("--record", o->record, "With --log: also write the record, to predict or validate again")->type_name("FILE");
  auto* constants = command->add_flag("--constants", o->constants,
                                      "The constants fitted to runs instead: standard error, correlation, what dropping each costs");
  auto* leave_out = command
      ->add_option("--leave-out", o->leave_out,
                   "Refit those constants without each model, scale, framework or hardware in turn, and predict it")
      ->type_name("model|scale|framework|hardware");
  auto* unfitted = command->add_flag("--unfitted", o->unfitted, "Predict before any fit to runs: every such constant at its neutral value");
  command
      ->add_option("--write-intervals", o->intervals,
                   "Write the residuals by class that prediction intervals are made of (model/run/residuals.json)")
      ->type_name("FILE");
  constants->excludes(leave_out)->excludes(unfitted);
  leave_out->excludes(unfitted);
  command->add_option("--worst", o->worst, "Rows shown of each worst-first list (default 10)")->check(CLI::Range(1, 100'000));
  command
      ->add_option("--tolerance", o->tolerance, "Exit with 1 when the median |error| of the step time is above this, in per cent")
      ->type_name("PCT")
      ->check(CLI::Range(0.0, 1e6));
  command->add_flag("--choices", o->choices, "Instead: each run's layout in the list of all layouts, and what our best would gain");
  command->add_option("--min-gpus", o->min_gpus, "With --choices: runs of at least so many accelerators")->type_name("N")->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000'000}));
  command->add_option("--threads", o->threads, "Threads (default: one per core)")->check(CLI::Range(1U, 4096U));
  const auto before = command->get_options().size();
  add_job_options(*command, o->job);
  add_layout_options(*command, o->layout);
  const auto options = command->get_options([](CLI::Option*) { return true; });
  for (std::size_t i = before; i < options.size(); ++i) seldom(options[i]);
  add_format(*command, o->format);
  command->footer("What a log does not say, options do: --model --gpus --hw --seq --batch --tp ... (--help-all).\n\n"
                  "Examples:\n"
                  "  napkin validate --worst 3\n"
                  "  napkin validate examples/runs/measured.jsonl --format json --tolerance 25\n"
                  "  napkin validate examples/runs/measured.jsonl --choices\n"
                  "  napkin validate --log examples/logs/torchtitan.log --hw h100 --gpus 8");
  command->callback([o, &session] { run(*o, session); });
}

}  // namespace napkin::cli
