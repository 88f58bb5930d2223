// napkin plan: every layout, ranked.
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/executor.hpp"
#include "cli/plan_view.hpp"
#include "cli/run_flags.hpp"
#include "cli/space_flags.hpp"

namespace napkin::cli {
namespace {

struct Options {
  JobFlags job;
  SpaceFlags space;
  int top = 10;
  double margin = 1 - fits_below;
  unsigned threads = 0;
  bool rules = false;
  OutputFormat format = OutputFormat::table;
};

void run(const Options& o, Session& session) {
  RunRequest request;
  request.place = flag_of;
  apply(o.job, request);
  const Run base = resolve(request, false);
  const auto top = static_cast<std::size_t>(o.top);
  const Problem problem{.job = base.job, .space = read_space(o.space), .keep = finalists(top), .margin = o.margin};
  const Executor executor = threads(o.threads);
  const auto start = std::chrono::steady_clock::now();
  Outcome outcome = search(problem, executor);
  const FinalistTiming timing = time_finalists(problem, top, outcome, executor);
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::vector<Remedy> remedy;
  if (outcome.why == Outcome::Why::infeasible) {
    session.exit_code = 1;
    if (outcome.closest) remedy = remedies(problem, executor);
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
  add_format(*command, o->format);
  command->footer("Examples:\n"
                  "  napkin plan --model 100B --gpus 1024 --hw h100.json --seq 4k --batch 4M-tokens\n"
                  "  napkin plan --model deepseek-v3 --gpus 2048 --hw h100 --framework megatron-lm --require ep=64 --max-tp 8");
  command->callback([o, &session] { run(*o, session); });
}

}  // namespace napkin::cli
