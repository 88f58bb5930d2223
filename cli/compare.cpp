// napkin compare: layouts, hardware or models side by side.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/cells.hpp"
#include "cli/explain.hpp"
#include "cli/prediction_view.hpp"
#include "cli/run_flags.hpp"
#include "model/text.hpp"

namespace napkin::cli {
namespace {

struct Options {
  std::vector<std::string> what;
  std::vector<std::string> hardware;
  JobFlags job;
  LayoutFlags layout;
  bool explain = false;
  OutputFormat format = OutputFormat::table;
};

struct Side {
  std::string title;
  Run run;
  Prediction<Plain> prediction;
};

// A run record's path, or layout words ("tp8 pp4 zero1").
RunRequest read_side(const std::string& what, const Options& o) {
  std::error_code ignored;
  const bool file = std::filesystem::exists(what, ignored) || what.ends_with(".json");
  RunRequest request = read_request(file ? what : std::string(), o.job, o.layout);
  if (!file) apply_layout_words(what, request);
  return request;
}

std::vector<Side> sides(const Options& o) {
  std::vector<Side> all;
  const auto add = [&](const std::string& title, const RunRequest& request) {
    Run run = resolve(request);
    auto p = predict(Scope<Plain>(), run.job, run.layout, run.convention);
    all.push_back({title.empty() ? describe(run.layout) : title + ": " + describe(run.layout), std::move(run), std::move(p)});
  };
  const std::vector<std::string> layouts = o.what.empty() ? std::vector<std::string>{""} : o.what;
  for (const std::string& layout : layouts) {
    if (o.hardware.empty()) {
      const bool record = layout.ends_with(".json");
      add(record ? std::filesystem::path(layout).stem().string() : std::string(), read_side(layout, o));
      continue;
    }
    for (const std::string& hw : o.hardware) {
      RunRequest request = read_side(layout, o);
      request.hardware = hw;
      add(hw, request);
    }
  }
  return all;
}

Table comparison(const std::vector<Side>& all, OutputFormat output) {
  const Cells cell(output);
  Table t;
  t.title = fmt::format("{} against the others", all.front().title);
  t.columns = {{"", false}};
  for (const Side& s : all) t.columns.push_back({s.title, true});
  const auto row = [&](std::string name, auto value) {
    std::vector<std::string> cells{std::move(name)};
    for (const Side& s : all) cells.push_back(value(s));
    t.rows.push_back(std::move(cells));
  };
  row("step time", [&](const Side& s) { return cell.time(s.prediction.step.time); });
  row("relative to the first", [&](const Side& s) {
    return fmt::format("{:.3f}", double(s.prediction.step.time / all.front().prediction.step.time));
  });
  row("tokens/s per GPU", [](const Side& s) { return fmt::format("{:.1f}", s.prediction.tokens_per_gpu.si()); });
  row("MFU", [&](const Side& s) { return cell.share(double(s.prediction.mfu)); });
  for (std::size_t i = 0; i < term_count; ++i) {
    if (std::none_of(all.begin(), all.end(), [i](const Side& s) { return s.prediction.step.terms[i] > Seconds{}; })) continue;
    row(std::string(term_names[i]), [&, i](const Side& s) { return cell.time(s.prediction.step.terms[i]); });
  }
  const auto bytes = [&](const char* name, auto value) {
    row(name, [&](const Side& s) { return cell.gib(value(s.prediction.step.memory)); });
  };
  bytes("states", [](const StageMemory<Plain>& m) { return m.parameters + m.gradients + m.optimizer; });
  bytes("activations", [](const StageMemory<Plain>& m) { return m.activations; });
  bytes("logits and loss", [](const StageMemory<Plain>& m) { return m.logits; });
  bytes("transient", [](const StageMemory<Plain>& m) { return m.transient; });
  bytes("buffers and context", [](const StageMemory<Plain>& m) { return m.buffers + m.fragmentation + m.held + m.overhead; });
  bytes("device", [](const StageMemory<Plain>& m) { return m.device; });
  row("capacity", [&](const Side& s) { return cell.gib(s.run.hardware->accelerator.capacity.value); });
  row("verdict", [](const Side& s) {
    return std::string(to_string(verdict(s.prediction.step.memory.device, s.run.hardware->accelerator.capacity.value)));
  });
  t.notes.push_back("Memory is of the fullest stage; `napkin predict` shows all of them and unfolds each number.");
  return t;
}

void run(const Options& o) {
  if (o.what.size() + o.hardware.size() < 2)
    throw InputError("compare: needs at least two run records, layouts (\"tp8 pp4\") or --on hardware names");
  const std::vector<Side> all = sides(o);
  if (o.format == OutputFormat::json) {
    nlohmann::ordered_json j;
    j["schema"] = 1;
    for (const Side& s : all) {
      j["sides"].push_back(prediction_json(s.run, s.prediction));
      j["sides"].back()["title"] = s.title;
    }
    print(j.dump(2) + "\n");
    return;
  }
  print(render(comparison(all, o.format), o.format));
  if (!o.explain) return;
  for (const Side& s : all) {
    Derivation derivation;
    const auto p = predict(Scope<Traced>(derivation), s.run.job, s.run.layout, s.run.convention);
    const std::array roots{p.step.time.why(), p.mfu.why(), p.step.memory.device.why()};
    print("\n" + s.title + "\n\n" + explain(roots));
  }
}

}  // namespace

void add_compare(CLI::App& app, Session&) {
  auto* command = app.add_subcommand("compare", "Layouts, hardware or models side by side, term by term");
  auto o = std::make_shared<Options>();
  command->add_option("what", o->what, "Run records (JSON files), or layouts in words: \"tp8 pp4 zero1 mb1 selective\"")
      ->type_name("RUN|LAYOUT");
  command->add_option("--on", o->hardware, "Hardware names to compare on")->type_name("HW");
  add_job_options(*command, o->job);
  add_layout_options(*command, o->layout);
  command->add_flag("--explain", o->explain, "Unfold step time, MFU and device memory of each side");
  add_format(*command, o->format);
  command->footer("Examples:\n"
                  "  napkin compare \"zero3\" \"tp8 sp pp4 dp32\" --model 100B --gpus 1024 --hw h100 --seq 4k --batch 4M-tokens\n"
                  "  napkin compare --on h100 --on b200 --model llama3.1-70b --gpus 64 --tp 8 --pp 2 --batch 128");
  command->callback([o] { run(*o); });
}

}  // namespace napkin::cli
