// napkin plan: every layout, ranked.
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/emission_view.hpp"
#include "cli/executor.hpp"
#include "cli/plan_view.hpp"
#include "cli/run_flags.hpp"
#include "cli/space_flags.hpp"
#include "model/launch/target_input.hpp"
#include "model/text.hpp"

namespace napkin::cli {
namespace {

struct Options {
  JobFlags job;
  SpaceFlags space;
  int top = 10;
  double margin = 1 - fits_below;
  unsigned threads = 0;
  bool rules = false;
  std::string emit;
  int rank = 1;
  EmissionOutput output;
  OutputFormat format = OutputFormat::table;
};

// The configuration of one of the ranked layouts. To stdout it is the answer; to a file the ranking is.
void emit_ranked(const Options& o, const Run& base, const Outcome& outcome, Session& session) {
  const launch::Target target = launch::read_target(o.emit);
  const auto index = static_cast<std::size_t>(o.rank) - 1;
  if (index >= outcome.best.size())
    throw InputError(fmt::format("--rank {}: only {} layouts are ranked; write at most that, or more --top", o.rank, outcome.best.size()));
  const auto facts_at = [&](std::size_t i) {
    Run run = base;
    run.layout = outcome.best[i].layout;
    return launch::facts_of(run);
  };
  const launch::Facts facts = facts_at(index);
  const launch::Emission emission = launch::emit(facts, target);
  note(fmt::format("rank {}: {}, {} a step predicted", o.rank, describe(outcome.best[index].layout), format(outcome.best[index].cost.time)));
  session.exit_code = give(emission, target, facts, o.output);
  if (emission.expressible()) return;
  for (std::size_t i = 0; i < outcome.best.size(); ++i)
    if (launch::emit(facts_at(i), target).expressible())
      return note(fmt::format("--rank {} can be told to it: {}", i + 1, describe(outcome.best[i].layout)));
}

void run(const Options& o, Session& session) {
  RunRequest request;
  request.place = flag_of;
  apply(o.job, request);
  if (!o.emit.empty() && !request.framework) request.framework = launch::read_target(o.emit).profile;
  const Run base = resolve(request, false);
  const auto top = static_cast<std::size_t>(o.top);
  const Problem problem{.job = base.job, .space = read_space(o.space), .keep = finalists(top), .margin = o.margin};
  const Executor executor = threads(o.threads);
  const auto start = std::chrono::steady_clock::now();
  Outcome outcome = search(problem, executor);
  const FinalistTiming timing = time_finalists(problem, top, outcome);
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::vector<Remedy> remedy;
  if (outcome.why == Outcome::Why::infeasible) {
    session.exit_code = 1;
    if (outcome.closest) remedy = remedies(problem, executor);
  }

  if (!o.emit.empty() && !outcome.best.empty()) {
    emit_ranked(o, base, outcome, session);
    if (o.output.path.empty()) return;
  }
  if (o.format == OutputFormat::json) {
    print(plan_json(request, base, outcome, timing, remedy, o.margin, elapsed).dump(2) + "\n");
    return;
  }
  if (outcome.best.empty()) {
    print(infeasible_text(base, outcome, remedy, o.margin));
  } else {
    print(render(ranking_table(base, outcome, timing, o.format), o.format));
    if (o.format != OutputFormat::csv) print("\n" + render(alternatives_table(base, outcome), o.format));
  }
  if (o.rules && o.format != OutputFormat::csv) print("\n" + render(dropped_table(outcome), o.format));
  note(fmt::format("{} layouts evaluated, {} fit; {:.0f} ms", outcome.searched, outcome.feasible, 1e3 * elapsed));
}

}  // namespace

void add_plan(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("plan", "Rank every parallel layout of a model on a cluster, with the reason");
  auto o = std::make_shared<Options>();
  add_job_options(*command, o->job);
  add_space_options(*command, o->space);
  command->add_option("--top", o->top, "Layouts to show (default 10)")->check(CLI::Range(1, 1'000));
  command
      ->add_option("--margin", o->margin,
                   "Share of memory a layout must leave free (default 0.06: runs nearer to the limit often fail)")
      ->check(CLI::Range(0.0, 0.9));
  command->add_option("--threads", o->threads, "Threads of the search (default: one per core)")
      ->check(CLI::Range(1U, 4096U));
  command->add_flag("--rules", o->rules, "Also show how many layouts each rule dropped");
  command->add_option("--emit", o->emit, "Launch configuration of the best layout instead: megatron-lm, torchtitan ... (napkin emit --list)")->type_name("TARGET");
  command->add_option("--rank", o->rank, "With --emit: of this layout of the ranking (default 1)")->check(CLI::Range(1, 1'000));
  command->add_option("-o,--output", o->output.path, "With --emit: write it to a file, and rank as usual")->type_name("FILE");
  add_format(*command, o->format);
  command->footer("Examples:\n"
                  "  napkin plan --model 100B --gpus 1024 --hw h100.json --seq 4k --batch 4M-tokens\n"
                  "  napkin plan --model deepseek-v3 --gpus 2048 --hw h100 --framework megatron-lm --require ep=64 --max-tp 8");
  command->callback([o, &session] { run(*o, session); });
}

}  // namespace napkin::cli
