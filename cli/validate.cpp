// napkin validate: measured runs against their predictions.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/executor.hpp"
#include "cli/validation_view.hpp"
#include "model/validation/replay_input.hpp"

namespace napkin::cli {
namespace {

using namespace validation;

struct Options {
  std::vector<std::string> files;
  std::size_t worst = 10;
  double tolerance = 0;
  unsigned threads = 0;
  OutputFormat format = OutputFormat::table;
};

std::vector<Replay> replay_all(const std::vector<SourceText>& sources, unsigned count) {
  constexpr std::size_t block = 16;
  std::vector<Replay> rows(sources.size());
  threads(count)((sources.size() + block - 1) / block, [&](std::size_t b) {
    for (std::size_t i = b * block; i < std::min(sources.size(), (b + 1) * block); ++i) rows[i] = replay(sources[i]);
  });
  return rows;
}

std::string report(const std::vector<Replay>& rows, const Summary& s, const Options& o) {
  std::vector<Table> tables{worst_table(rows, o.worst), worst_memory_table(rows, o.worst), metric_table(s),
                            class_table("By framework, hardware and precision", "class", s.by_class)};
  if (s.by_source.size() > 1) tables.push_back(class_table("By source", "source", s.by_source));
  tables.push_back(residual_table(s));
  tables.push_back(fit_table(s));
  tables.push_back(group_table(s, o.worst));
  tables.push_back(refused_table(s));
  std::string text;
  for (const Table& t : tables)
    if (!t.rows.empty()) text += (text.empty() ? "" : "\n") + render(t, o.format);
  return text;
}

void run(const Options& o, Session& session) {
  std::vector<SourceText> sources;
  for (const std::string& file : o.files) {
    auto more = read_sources(file);
    std::move(more.begin(), more.end(), std::back_inserter(sources));
  }
  const std::vector<Replay> rows = replay_all(sources, o.threads);
  const Summary s = summarise(rows);
  if (o.format == OutputFormat::json) print(validation_json(rows, s).dump(2) + "\n");
  else if (o.format == OutputFormat::csv) print(render(row_table(rows), o.format));
  else print(report(rows, s, o));

  const ErrorSummary& time = s.all.metrics[static_cast<std::size_t>(Metric::step_time)];
  if (o.tolerance > 0 && 100 * time.median_abs > o.tolerance) {
    session.exit_code = 1;
    note(fmt::format("the median step-time error is {:.1f} %, above --tolerance {:g} %", 100 * time.median_abs, o.tolerance));
  }
}

}  // namespace

void add_validate(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("validate", "Predicted against measured: errors, bias, verdicts, regret");
  auto o = std::make_shared<Options>();
  command->add_option("runs", o->files, "Run records with a `measured` member (JSON lines, or one JSON document)")
      ->type_name("RUNS.jsonl...")
      ->required();
  command->add_option("--worst", o->worst, "Rows shown of each worst-first list (default 10)")->check(CLI::Range(1, 100'000));
  command
      ->add_option("--tolerance", o->tolerance, "Exit with 1 when the median |error| of the step time is above this, in per cent")
      ->type_name("PCT")
      ->check(CLI::Range(0.0, 1e6));
  command->add_option("--threads", o->threads, "Threads (default: one per core)")->check(CLI::Range(1U, 4096U));
  add_format(*command, o->format);
  command->footer("Examples:\n"
                  "  napkin validate examples/runs/measured.jsonl\n"
                  "  napkin validate examples/runs/measured.jsonl --format json --tolerance 15");
  command->callback([o, &session] { run(*o, session); });
}

}  // namespace napkin::cli
