// napkin plan: every layout, ranked.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/emission_view.hpp"
#include "cli/executor.hpp"
#include "cli/plan_decisions.hpp"
#include "cli/plan_jobs.hpp"
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
  bool rules = false, pareto = false;
  GoodputFlags failures;
  std::optional<double> price;
  std::string emit;
  std::optional<int> rank;
  EmissionOutput output;
  OutputFormat format = OutputFormat::table;
};

Planned planned(const JobFlags& flags) {
  Planned p;
  p.request.place = flag_of;
  apply(flags, p.request);
  p.base = resolve(p.request, false);
  return p;
}

Problem problem_of(const Options& o, const Run& base) {
  return {.job = base.job,
          .space = read_space(o.space),
          .keep = finalists(static_cast<std::size_t>(o.top)),
          .margin = o.margin,
          .front = o.pareto};
}

// The configuration of one of the ranked layouts: of --rank, or the first that the target can be told. To stdout it is the
// answer; to a file the ranking is.
void emit_ranked(const Options& o, const Planned& p, const std::vector<RankedLayout>& candidates, Session& session) {
  const launch::Target target = launch::read_target(o.emit);
  const auto run_at = [&](std::size_t i) {
    Run run = p.base;
    run.layout = candidates[i].layout;
    return run;
  };
  const auto expressible = [&](std::size_t i) { return launch::emit(launch::facts_of(run_at(i)), target).expressible(); };
  std::size_t index = o.rank ? static_cast<std::size_t>(*o.rank) - 1 : 0;
  if (index >= candidates.size())
    throw InputError(fmt::format("--rank {}: only {} layouts were timed; write at most that, or more --top", *o.rank, candidates.size()));
  while (!o.rank && index < candidates.size() && !expressible(index)) ++index;
  if (index == candidates.size()) {
    index = 0;
    note(fmt::format("none of the {} fastest layouts can be told to {}: the first one's reason follows; limit the search, as --require zero=0",
                     candidates.size(), target.title));
  }
  const Run run = run_at(index);
  const launch::Facts facts = launch::facts_of(run);
  const launch::Emission emission = launch::emit(facts, target);
  note(fmt::format("rank {}: {}, {} a step predicted", index + 1, describe(run.layout), format(candidates[index].cost.time)));
  if (index > 0 && !o.rank) note(fmt::format("{} cannot be told to {}", index == 1 ? "rank 1" : fmt::format("ranks 1 to {}", index), target.title));
  if (const std::size_t simpler = recommend(candidates).index; simpler != index && !o.rank && expressible(simpler))
    note(fmt::format("the plan recommends rank {}; --rank {} emits that", simpler + 1, simpler + 1));
  if (o.format == OutputFormat::json && o.output.path.empty()) {
    print(emission_json(emission, target, facts, p.request, run).dump(2) + "\n");
    session.exit_code = emission.expressible() ? 0 : 1;
    return;
  }
  session.exit_code = give(emission, target, facts, o.output);
}

// Several jobs side by side.
void run_many(const Options& o, const std::vector<JobFlags>& jobs, Session& session) {
  const Executor executor = threads(o.threads);
  const auto start = std::chrono::steady_clock::now();
  std::vector<Planned> all;
  for (const JobFlags& flags : jobs) {
    Planned& p = all.emplace_back(planned(flags));
    const Problem problem = problem_of(o, p.base);
    p.outcome = search(problem, executor);
    p.timing = time_finalists(problem, static_cast<std::size_t>(o.top), p.outcome, executor);
  }
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (std::ranges::all_of(all, [](const Planned& p) { return p.outcome.best.empty(); })) session.exit_code = 1;
  if (o.format == OutputFormat::json) {
    // The layouts of all jobs by tokens a second; the counts are sums.
    nlohmann::ordered_json j{{"schema", 1}, {"layouts", nlohmann::ordered_json::array()}};
    std::int64_t searched = 0, feasible = 0;
    for (const Planned& p : all) {
      for (auto& layout : plan_json(p.request, p.base, p.outcome, p.timing, {}, o.margin, 0)["layouts"])
        j["layouts"].push_back(std::move(layout));
      searched += p.outcome.searched;
      feasible += p.outcome.feasible;
    }
    const auto rate = [](const nlohmann::ordered_json& l) {
      return l["tokens_per_s_per_gpu"].get<double>() * l["run"]["gpus"].get<double>();
    };
    std::stable_sort(j["layouts"].begin(), j["layouts"].end(), [&](const auto& a, const auto& b) { return rate(a) > rate(b); });
    for (std::size_t i = 0; i < j["layouts"].size(); ++i) j["layouts"][i]["rank"] = i + 1;
    j["searched"] = searched;
    j["pruned"] = 0;
    j["feasible"] = feasible;
    j["jobs"] = jobs_json(all, o.price);
    if (o.pareto) j["pareto"] = pareto_json(all, o.price);
    j["elapsed_s"] = elapsed;
    print(j.dump(2) + "\n");
    return;
  }
  print(render(jobs_table(all, o.price, o.format), o.format));
  if (o.pareto && o.format != OutputFormat::csv) print("\n" + render(pareto_table(all, o.price, o.format), o.format));
}

void run(Options o, Session& session) {
  if (o.emit.empty() && !o.output.path.empty()) throw InputError("-o: writes the configuration of --emit; write --emit TARGET too");
  if (!o.emit.empty() && !o.job.framework) o.job.framework = launch::read_target(o.emit).profile;
  const std::vector<JobFlags> jobs = each_job(o.job);
  if (jobs.size() > 1 && !o.emit.empty()) throw InputError("--emit: writes a layout of one job; give one number of accelerators");
  const std::optional<Reliability> failures = read_reliability(o.failures);
  if (jobs.size() > 1 && failures) throw InputError("--goodput: ranks the layouts of one job; give one number of accelerators");
  if (jobs.size() > 1) return run_many(o, jobs, session);
  std::vector<Planned> one{planned(jobs.front())};
  const RunRequest& request = one.front().request;
  const Run& base = one.front().base;
  const auto top = static_cast<std::size_t>(o.top);
  const Problem problem = problem_of(o, base);
  const Executor executor = threads(o.threads);
  const auto start = std::chrono::steady_clock::now();
  Outcome& outcome = one.front().outcome = search(problem, executor);
  const FinalistTiming timing = time_finalists(problem, problem.keep, outcome, executor);
  const std::vector<RankedLayout> candidates = outcome.best;
  if (outcome.best.size() > top) outcome.best.resize(top);
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const Robustness robust = robustness(candidates, base.spread->time.nine_in_ten);
  EffectiveRanking effective;
  if (failures && !candidates.empty()) effective = goodput_ranking(problem, top, *failures, executor);
  WayOut out;
  if (outcome.why == Outcome::Why::infeasible) {
    session.exit_code = 1;
    if (outcome.closest) {
      out.remedies = remedies(problem, executor);
      out.fixes = fixes({.job = base.job,
                         .layout = outcome.closest->layout,
                         .limit = (1 - o.margin) * base.hardware->accelerator.capacity.value,
                         .keep = 4});
    }
  }

  if (!o.emit.empty() && !candidates.empty()) {
    emit_ranked(o, one.front(), candidates, session);
    if (o.output.path.empty()) return;
  }
  if (o.format == OutputFormat::json) {
    auto j = plan_json(request, base, outcome, timing, out, o.margin, elapsed);
    if (!candidates.empty()) j["recommended"] = recommendation_json(candidates, recommend(candidates));
    if (!candidates.empty()) j["robustness"] = robustness_json(robust, candidates);
    if (!effective.best.empty()) j["goodput"] = goodput_json(effective, *failures);
    if (o.pareto && !candidates.empty()) j["pareto"] = pareto_json(one, o.price);
    print(j.dump(2) + "\n");
    return;
  }
  if (outcome.best.empty()) {
    print(infeasible_text(base, outcome, out, o.margin));
  } else {
    if (o.pareto) print(render(pareto_table(one, o.price, o.format), o.format));
    if (failures) print((o.pareto ? "\n" : "") + render(goodput_table(base, effective, candidates, *failures, o.format), o.format));
    if ((o.pareto || failures) && o.format == OutputFormat::csv) return;
    if (o.pareto || failures) print("\n");
    Table ranking = ranking_table(base, outcome, timing, o.format);
    if (std::string line = recommendation_line(candidates, recommend(candidates)); !line.empty()) ranking.notes.push_back(std::move(line));
    if (std::string line = robustness_line(robust, candidates); !line.empty()) ranking.notes.push_back(std::move(line));
    print(render(ranking, o.format));
    if (o.format != OutputFormat::csv) print("\n" + render(alternatives_table(base, outcome), o.format));
  }
  if (o.rules && o.format != OutputFormat::csv) print("\n" + render(dropped_table(base.job, outcome), o.format));
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
  command->add_flag("--pareto", o->pareto, "Also what no layout beats in step time, memory left, GPU-hours, dollars and energy");
  command->add_option("--price", o->price, "US dollars an accelerator and hour (default: the catalog's, where it has one)")
      ->type_name("DOLLARS")
      ->check(CLI::Range(0.0, 1e6));
  add_goodput_options(*command, o->failures);
  seldom(command->get_option("--price"));
  command->add_flag("--rules", o->rules, "Also show how many layouts each rule dropped");
  command->add_option("--emit", o->emit, "Launch configuration of the best layout instead: megatron-lm, torchtitan ... (napkin emit --list)")->type_name("TARGET");
  command->add_option("--rank", o->rank, "With --emit: of this layout of the ranking (default: the first it can be told)")->check(CLI::Range(1, 1'000));
  command->add_option("-o,--output", o->output.path, "With --emit: write it to a file, and rank as usual")->type_name("FILE");
  add_format(*command, o->format);
  for (const char* name : {"--max-tp", "--max-cp", "--max-pp", "--max-ep", "--max-micro-batch", "--threads", "--gpu-mttf", "--restart", "--node-bandwidth"})
    seldom(command->get_option(name));
  command->footer("Examples:\n"
                  "  napkin plan --model 100B --gpus 1024 --hw h100.json --seq 4k --batch 4M-tokens\n"
                  "  napkin plan --model deepseek-v3 --gpus 2048 --hw h100 --framework megatron-lm --require ep=64 --max-tp 8");
  command->callback([o, &session] { run(*o, session); });
}

}  // namespace napkin::cli
