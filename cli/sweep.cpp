// napkin sweep: a curve over one axis or more, the best layout or one layout at each point.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <thread>

#include "calibrate/measure/world.hpp"
#include "cli/command.hpp"
#include "cli/executor.hpp"
#include "cli/sensitivity.hpp"
#include "cli/sweep_view.hpp"
#include "hardware/hardware_input.hpp"
#include "model/frameworks/profile_input.hpp"
#include "model/step/precision.hpp"
#include "model/transformer/model_input.hpp"

namespace napkin::cli {
namespace {

using Json = nlohmann::ordered_json;
using Of = SweepAxis::Of;

struct Options {
  std::string record, layout, x, y = "step";
  std::map<std::string, std::string> lists;  // by flag
  std::vector<std::string> each, scale;
  JobFlags job;  // what has no list
  SpaceFlags space;
  double margin = 1 - fits_below;
  unsigned threads = 0;
  int top = 15;
  bool sensitivity = false, plot = false, no_plot = false;
  OutputFormat format = OutputFormat::table;
};

// "pp=1,4" → name and values.
std::pair<std::string, std::string> named_list(const std::string& flag, const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw InputError(fmt::format("{}: \"{}\" names no values; write a name and its values, as {}", flag, text,
                                 flag == "--each" ? "--each pp=1,4,8" : "--scale network.bandwidth=0.5..4"));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

void read_axes(const Options& o, Study& study) {
  const auto given = [&](const SweepOption& s) { return o.lists.contains(s.flag); };
  const auto& options = sweep_options();
  // A micro-batch alone limits the search.
  study.fixed = !o.layout.empty() || states_a_layout(study.base) ||
                std::any_of(options.begin(), options.end(), [&](const SweepOption& s) {
                  return s.of == Of::layout && std::string_view(s.flag) != "micro-batch" && given(s);
                });
  const auto add_lists = [&](auto wanted) {
    for (const SweepOption& s : options)
      if (given(s) && wanted(s))
        study.axes.push_back(read_axis(std::string("--") + s.flag,
                                       s.of == Of::layout && !study.fixed ? Of::space : s.of, s.flag, s.kind,
                                       o.lists.at(s.flag)));
  };
  add_lists([](const SweepOption& s) { return s.of == Of::job && s.kind != AxisKind::words; });
  for (const std::string& text : o.scale) {
    const auto [name, values] = named_list("--scale", text);
    study.axes.push_back(read_axis("--scale " + name, Of::constant, name, AxisKind::factor, values));
  }
  add_lists([](const SweepOption& s) { return s.of == Of::layout; });
  check_layout_axes(study);
  for (const std::string& text : o.each) {
    const auto [name, values] = named_list("--each", text);
    if (study.fixed) throw InputError("--each: limits a search, but a layout is given; write --" + name + " " + values);
    const bool words = values.find_first_not_of("0123456789.,*+") != std::string::npos;
    study.axes.push_back(
        read_axis("--each " + name, Of::space, name, words ? AxisKind::words : AxisKind::degree, values));
    SpaceFlags known;
    for (const std::string& v : study.axes.back().values) known.require.push_back(name + "=" + v);
    try {
      (void)read_space(known);
    } catch (const InputError& e) {  // bad input, not a bad point
      const std::string what = e.what();
      throw InputError("--each" + what.substr(what.find(':')));
    }
  }
  add_lists([](const SweepOption& s) { return s.of == Of::job && s.kind == AxisKind::words; });
  for (std::size_t i = 0; i < study.axes.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (study.axes[i].name == study.axes[k].name && study.axes[i].of == study.axes[k].of)
        throw InputError("\"" + study.axes[i].name + "\" is given twice");
  if (o.x.empty()) return;
  const auto x = std::find_if(study.axes.begin(), study.axes.end(),
                              [&](const SweepAxis& a) { return a.name == o.x && a.values.size() > 1; });
  if (x == study.axes.end()) throw InputError("--x: \"" + o.x + "\" is not an axis with several values");
  std::rotate(study.axes.begin(), x, x + 1);
}

// A name that nothing knows is bad input, even where other values are good.
void check_names(const Study& study) {
  for (const SweepAxis& a : study.axes) {
    if (a.of != Of::job) continue;
    for (const std::string& v : a.values)
      read_flag("--" + a.name, [&] {
        try {
          if (a.name == "hw") (void)read_hardware(v);
          if (a.name == "framework") (void)read_profile(v);
          if (a.name == "model") (void)read_model(v);
        } catch (const InputError& e) {
          throw std::invalid_argument(e.what());
        }
        if (a.name == "precision" && !precision_named(v))
          throw std::invalid_argument(
              fmt::format("\"{}\" is not known; write one of {}", v, fmt::join(precision_names(), ", ")));
      });
  }
}

// All points, in order: over the ranks of mpirun, and over threads.
std::vector<Json> evaluate(const Study& study, unsigned threads_wanted, const measure::World* world) {
  const std::size_t n = study.points();
  std::vector<Json> rows(n);
  if (world == nullptr) {
    const Executor all = threads(threads_wanted);
    // Few points: the threads share each search.
    const std::size_t cores = threads_wanted > 0 ? threads_wanted : std::max(1U, std::thread::hardware_concurrency());
    if (n >= cores)
      all(n, [&](std::size_t i) { rows[i] = evaluate_point(study, i, run_in_order); });
    else
      for (std::size_t i = 0; i < n; ++i) rows[i] = evaluate_point(study, i, all);
    return rows;
  }
  const Executor executor = threads_wanted > 1 ? threads(threads_wanted) : Executor(run_in_order);
  Json mine = Json::array();
  for (std::size_t i = world->next(); i < n; i = world->next()) mine.push_back({i, evaluate_point(study, i, executor)});
  for (const std::string& text : world->texts(mine.dump()))
    for (Json& entry : Json::parse(text)) rows[entry[0].get<std::size_t>()] = std::move(entry[1]);
  return rows;
}

// Exit codes: no point valid is bad input, none feasible 1.
void conclude(const std::vector<Json>& rows, Session& session) {
  const auto has = [&](const char* status) {
    return std::any_of(rows.begin(), rows.end(), [&](const Json& r) { return r.at("status") == status; });
  };
  if (has("ok")) return;
  if (!has("does-not-fit")) throw InputError(rows.front().at("why").get<std::string>());
  session.exit_code = 1;
}

void show(const Options& o, const SweepResult& r) {
  if (o.format == OutputFormat::json) return print(sweep_json(r).dump(2) + "\n");
  print(render(sweep_table(r, o.format), o.format));
  if (o.format == OutputFormat::csv || r.study.swept().empty()) return;
  if (!r.changes.empty()) print("\n" + render(changes_table(r), o.format));
  if (!r.crossovers.empty()) print("\n" + render(crossovers_table(r), o.format));
  if (o.no_plot ||
      !(o.plot || (prints_to_terminal() && !measure::started_by_mpirun() && o.format == OutputFormat::table)))
    return;
  const std::string plot = sweep_plot(r, o.y);
  if (!plot.empty()) print(o.format == OutputFormat::md ? "\n```\n" + plot + "```\n" : "\n" + plot);
}

void sweep(const Options& o, Session& session) {
  if (y_key(o.y).empty())
    throw InputError(fmt::format(
        "--y: \"{}\" is not known; write step, tokens, tokens-per-gpu, mfu, memory, gpu-hours, cost or energy", o.y));
  Study study{.base = read_request(o.record, o.job, {}),
              .layout_words = o.layout,
              .space = o.space,
              .margin = o.margin,
              .axes = {}};
  (void)read_space(o.space);
  read_axes(o, study);
  check_names(study);
  if (o.sensitivity)
    return print_sensitivity(study, static_cast<std::size_t>(o.top), threads(o.threads), o.format, session);
  const std::size_t points = study.points();
  std::unique_ptr<measure::World> world;
  if (measure::started_by_mpirun()) world = std::make_unique<measure::World>("sweep");
  SweepResult result{.study = study, .rows = evaluate(study, o.threads, world.get()), .changes = {}, .crossovers = {}};
  if (world && !world->first()) return;
  conclude(result.rows, session);
  find_changes(result);
  show(o, result);
  const auto count = [&](const char* status) {
    return std::count_if(result.rows.begin(), result.rows.end(),
                         [&](const Json& r) { return r.at("status") == status; });
  };
  if (const auto out = count("does-not-fit"), bad = count("invalid"); out + bad > 0)
    note(fmt::format("{} of {} points do not fit, {} are not valid; the last column says why", out, points, bad));
}

void run(const Options& o, Session& session) {
  try {
    sweep(o, session);
  } catch (const InputError&) {
    // Every rank finds the same fault; rank 0 says so and gives the status. The others end well: mpirun would kill it before
    // it has spoken.
    if (measure::mpirun_rank() == 0) throw;
    session.exit_code = 0;
  }
}

}  // namespace

void add_sweep(CLI::App& app, Session& session) {
  auto* command =
      app.add_subcommand("sweep", "A curve over GPUs, batch, hardware, layouts or any constant; what a step hangs on");
  auto o = std::make_shared<Options>();
  command->add_option("record", o->record, "Run record (JSON): the job, and its layout at every point")
      ->type_name("RUN.json");
  for (const SweepOption& s : sweep_options())
    command
        ->add_option_function<std::string>(
            std::string("--") + s.flag,
            [o, flag = std::string(s.flag)](const std::string& text) { o->lists[flag] = text; }, s.help)
        ->type_name("VALUES");
  command
      ->add_option(
          "--scale", o->scale,
          "Multiply constants of the hardware or profile: network.bandwidth=0.5..4 (napkin hw show lists them)")
      ->type_name("CONSTANT=FACTORS")
      ->expected(1)
      ->take_all();
  command
      ->add_option("--layout", o->layout,
                   "One layout at every point: \"tp8 sp pp4 zero1\" (default: the best one at each)")
      ->type_name("WORDS");
  command->add_option("--each", o->each, "A curve for each value of an axis: the best layout that has it (pp=1,4,8)")
      ->type_name("AXIS=VALUES")
      ->expected(1)
      ->take_all();
  add_space_options(*command, o->space);
  command->add_option("--margin", o->margin, "Share of memory the best layout must leave free (default 0.06)")
      ->check(CLI::Range(0.0, 0.9));
  command->add_option("--task", o->job.task, "pretrain (default), sft, lora or qlora")->type_name("TASK");
  command->add_option("--year", o->job.year, "Year of the framework's release (default: newest)")
      ->type_name("YEAR")
      ->check(CLI::Range(1990, 2100));
  command
      ->add_option("--convention", o->job.convention,
                   "How MFU counts attention: full-attention (default), causal-half, weights-only")
      ->type_name("NAME");
  command->add_flag("--sensitivity", o->sensitivity,
                    "Of one point: elasticities to every constant, and which upgrade buys most");
  command->add_option("--top", o->top, "Constants that --sensitivity shows and searches again (default 15)")
      ->check(CLI::Range(1, 1000));
  command->add_option("--x", o->x, "The axis to plot over (default: the first)")->type_name("AXIS");
  command
      ->add_option("--y", o->y,
                   "What to plot: step (default), tokens, tokens-per-gpu, mfu, memory, gpu-hours, cost, energy")
      ->type_name("WHAT");
  command->add_flag("--plot", o->plot, "Plot also when the answer goes to no terminal");
  command->add_flag("--no-plot", o->no_plot, "No plot");
  command->add_option("--threads", o->threads, "Threads (default: one per core; under mpirun one per rank)")
      ->check(CLI::Range(1U, 4096U));
  add_format(*command, o->format);
  for (const char* name : {"--task", "--year", "--convention", "--x", "--no-plot", "--threads", "--etp", "--zero-group",
                           "--margin", "--max-micro-batch",
                           "--offload-layers", "--recompute-layers", "--cp-exchange", "--split", "--order", "--forbid", "--limit", "--max-tp", "--max-cp",
                           "--max-pp", "--max-ep", "--vary", "--top"})
    if (CLI::Option* option = command->get_option_no_throw(name)) seldom(option);
  command->footer(
      "VALUES: a list (1,2,4), a range that doubles (256..16384) or takes other steps (1..81*3, 8..64+8), or several "
      "of these.\n"
      "mpirun -n N napkin sweep ... shares the points among N processes.\n\n"
      "Examples:\n"
      "  napkin sweep --model llama3.1-70b --hw h100 --gpus 64..1024 --seq 8k --batch 1024\n"
      "  napkin sweep --model 100B --hw h100 --gpus 256..2048 --batch 4M-tokens --each pp=1,4 --plot\n"
      "  napkin sweep --model llama3.1-70b --hw h100 --gpus 64 --layout \"tp8 sp pp2 zero1\" --scale "
      "network.bandwidth=0.5..4\n"
      "  napkin sweep --model llama3.1-70b --hw h100 --gpus 64 --tp 8 --pp 2 --sensitivity");
  command->callback([o, &session] { run(*o, session); });
}

}  // namespace napkin::cli
