// napkin compare: layouts, hardware or models side by side.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

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

// What a layout's words may also set, as "precision=fp8": an option of the job.
using Member = std::optional<std::string> JobFlags::*;
constexpr std::array<std::pair<std::string_view, Member>, 7> axes{{{"model", &JobFlags::model},
                                                                   {"hw", &JobFlags::hardware},
                                                                   {"precision", &JobFlags::precision},
                                                                   {"framework", &JobFlags::framework},
                                                                   {"seq", &JobFlags::sequence},
                                                                   {"batch", &JobFlags::batch},
                                                                   {"gpus", &JobFlags::gpus}}};

// Takes the words KEY=VALUE out of `what` into `job`.
std::string take_job_words(const std::string& what, JobFlags& job) {
  std::istringstream in(what);
  std::string left;
  for (std::string word; in >> word;) {
    const auto equals = word.find('=');
    const auto axis = std::find_if(axes.begin(), axes.end(), [&](const auto& a) { return a.first == word.substr(0, equals); });
    if (equals != word.npos && axis != axes.end()) job.*(axis->second) = word.substr(equals + 1);
    else left += (left.empty() ? "" : " ") + word;
  }
  return left;
}

struct Variant {
  JobFlags job;
  std::string title;  // the values that differ between variants
};
// One for each combination of the values that options list ("--precision bf16,fp8").
std::vector<Variant> variants(const Options& o) {
  std::vector<Variant> all{{o.job, ""}};
  const auto cross = [&](Member member, const std::vector<std::string>& values) {
    std::vector<Variant> crossed;
    for (const Variant& v : all)
      for (const std::string& value : values) {
        crossed.push_back(v);
        crossed.back().job.*member = value;
        if (values.size() > 1) crossed.back().title += (v.title.empty() ? "" : " ") + value;
      }
    all = std::move(crossed);
  };
  for (const auto& [name, member] : axes) {
    std::vector<std::string> values;
    std::istringstream in(o.job.*member ? *(o.job.*member) : "");
    for (std::string value; std::getline(in, value, ',');)
      if (!value.empty()) values.push_back(value);
    if (name == "hw") values.insert(values.end(), o.hardware.begin(), o.hardware.end());
    if (!values.empty()) cross(member, values);
  }
  return all;
}

std::vector<Side> sides(const Options& o) {
  std::vector<Side> all;
  const std::vector<std::string> layouts = o.what.empty() ? std::vector<std::string>{""} : o.what;
  for (const std::string& what : layouts)
    for (Variant v : variants(o)) {
      std::error_code ignored;
      const bool record = std::filesystem::exists(what, ignored) || what.ends_with(".json");
      const std::string words = record ? "" : take_job_words(what, v.job);
      RunRequest request = read_request(record ? what : std::string(), v.job, o.layout);
      if (!record && !(o.what.empty() && words.empty())) apply_layout_words(words, request);
      Run run = resolve(request);
      auto p = predict(Scope<Plain>(), run.job, run.layout, run.convention);
      std::string title = record ? std::filesystem::path(what).stem().string() : "";
      if (!v.title.empty()) title += (title.empty() ? "" : " ") + v.title;
      if (!record && words.size() != what.size()) title += (title.empty() ? "" : " ") + what;
      else title += (title.empty() ? "" : ": ") + describe(run.layout);
      all.push_back({std::move(title), std::move(run), std::move(p)});
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
  bytes("buffers and context", [](const StageMemory<Plain>& m) { return m.buffers + m.fragmentation + m.overhead; });
  bytes("device", [](const StageMemory<Plain>& m) { return m.device; });
  row("capacity", [&](const Side& s) { return cell.gib(s.run.hardware->accelerator.capacity.value); });
  row("verdict", [](const Side& s) {
    return std::string(to_string(verdict(s.prediction.step.memory.device, s.run.hardware->accelerator.capacity.value)));
  });
  t.notes.push_back("Memory is of the fullest stage; `napkin predict` shows all of them and unfolds each number.");
  return t;
}

void run(const Options& o) {
  const std::vector<Side> all = sides(o);
  if (all.size() < 2)
    throw InputError("compare: needs at least two run records, layouts (\"tp8 pp4\"), or an option that lists values (--precision bf16,fp8)");
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
  auto* command = app.add_subcommand("compare", "Layouts, precisions, hardware, models or frameworks side by side, term by term");
  auto o = std::make_shared<Options>();
  command->add_option("what", o->what, "Run records (JSON files), or layouts in words: \"tp8 pp4 zb-v zero1 mb1 selective precision=fp8\"")
      ->type_name("RUN|LAYOUT");
  seldom(command->add_option("--on", o->hardware, "Hardware names to compare on, as a list of --hw")->type_name("HW"));
  add_job_options(*command, o->job);
  add_layout_options(*command, o->layout);
  command->add_flag("--explain", o->explain, "Unfold step time, MFU and device memory of each side");
  add_format(*command, o->format);
  command->footer("--model --hw --precision --framework --seq --batch --gpus take lists, and a layout's words may set them (precision=fp8).\n\nExamples:\n"
                  "  napkin compare \"zero3\" \"tp8 sp pp4 dp32\" --model 100B --gpus 1024 --hw h100 --seq 4k --batch 4M-tokens\n"
                  "  napkin compare --precision bf16,fp8,nvfp4 --hw b200 --model llama3.1-70b --gpus 64 --tp 8 --pp 2 --batch 128\n"
                  "  napkin compare --hw h100,b200 --model llama3.1-70b --gpus 64 --tp 8 --pp 2 --batch 128");
  command->callback([o] { run(*o); });
}

}  // namespace napkin::cli
