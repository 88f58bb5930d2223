// napkin compare: layouts, hardware or models side by side.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/command.hpp"
#include "cli/cells.hpp"
#include "cli/explain.hpp"
#include "cli/prediction_view.hpp"
#include "cli/run_flags.hpp"
#include "model/decision/difference.hpp"
#include "model/text.hpp"

namespace napkin::cli {
namespace {

struct Options {
  std::vector<std::string> what;
  std::vector<std::string> hardware;
  JobFlags job;
  LayoutFlags layout;
  bool explain = false, why = false;
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
  row("eight in ten runs", [&](const Side& s) { return cell.time(s.prediction.shortest) + " - " + cell.time(s.prediction.longest); });
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
  std::vector<std::string> bases;
  for (const Side& s : all)
    if (const std::string& b = s.run.spread->time.basis; std::find(bases.begin(), bases.end(), b) == bases.end()) bases.push_back(b);
  for (const std::string& b : bases) t.notes.push_back("Eight in ten runs: by " + b + ".");
  t.notes.push_back("Memory is of the fullest stage; `napkin predict` shows all of them and unfolds each number.");
  return t;
}

// The terms of one kind, the largest change first, and their sum.
template <class Q, class Cell>
Table changes(const std::string& title, std::vector<TermDifference<Q>> terms, Q sum, const std::vector<Side>& all, const char* column, Cell cell) {
  Table t;
  t.title = title;
  t.columns = {{column, false}, {all[0].title, true}, {all[1].title, true}, {"change", true}};
  std::stable_sort(terms.begin(), terms.end(), [](const auto& a, const auto& b) { return max(a.change(), -1 * a.change()) > max(b.change(), -1 * b.change()); });
  const auto change = [&](Q v) { return (v > Q{} ? "+" : v < Q{} ? "-" : "") + cell(max(v, -1 * v)); };
  Q first{}, second{};
  for (const auto& d : terms) {
    first += d.first, second += d.second;
    if (d.change() != Q{}) t.rows.push_back({std::string(d.name), cell(d.first), cell(d.second), change(d.change())});
  }
  t.rows.push_back({"all terms", cell(first), cell(second), change(sum)});
  return t;
}

// One sentence: what the second costs, and what it saves.
std::string verdict_line(const std::vector<Side>& all, const Difference& d) {
  const Seconds first = all[0].prediction.step.time, second = all[1].prediction.step.time;
  const TermDifference<Seconds>*worse = nullptr, *better = nullptr;
  for (const auto& t : d.time) {
    if (t.change() > Seconds{} && (worse == nullptr || t.change() > worse->change())) worse = &t;
    if (t.change() < Seconds{} && (better == nullptr || t.change() < better->change())) better = &t;
  }
  const double ratio = double(second / first) - 1;
  std::string s = fmt::format("The second takes {:.1f} % {}", 100 * std::abs(ratio), ratio > 0 ? "longer" : "less");
  if (worse != nullptr) s += fmt::format("; it pays {} more for {}", format(worse->change()), worse->name);
  if (better != nullptr) s += fmt::format("{} {} less for {}", worse != nullptr ? " and" : "; it pays", format(-1 * better->change()), better->name);
  return s + ".";
}

void print_why(const std::vector<Side>& all, OutputFormat output) {
  const Cells cell(output);
  const Difference d = difference(all[0].prediction.step, all[1].prediction.step);
  Table time = changes<Seconds>("Why: the step, term by term", d.time, d.time_change(), all, "term", [&](Seconds v) { return cell.time(v); });
  time.notes.push_back(verdict_line(all, d));
  print(render(time, output));
  if (output == OutputFormat::csv) return;
  print("\n" + render(changes<Bytes>("Memory of each one's fullest stage", d.memory, d.memory_change(), all, "bytes", [&](Bytes v) { return cell.gib(v); }), output));
}

void run(const Options& o) {
  const std::vector<Side> all = sides(o);
  if (all.size() < 2)
    throw InputError("compare: needs at least two run records, layouts (\"tp8 pp4\"), or an option that lists values (--precision bf16,fp8)");
  if (o.why && all.size() != 2) throw InputError(fmt::format("compare: --why takes two sides, but there are {}", all.size()));
  if (o.format == OutputFormat::json) {
    nlohmann::ordered_json j;
    j["schema"] = 1;
    for (const Side& s : all) {
      j["sides"].push_back(prediction_json(s.run, s.prediction));
      j["sides"].back()["title"] = s.title;
    }
    if (all.size() == 2) {
      const Difference d = difference(all[0].prediction.step, all[1].prediction.step);
      auto& why = j["why"] = {{"step_time_s", d.time_change().si()}, {"device_bytes", d.memory_change().si()}};
      for (const auto& t : d.time) why["breakdown_s"][std::string(t.name)] = t.change().si();
      for (const auto& t : d.memory) why["memory_bytes"][std::string(t.name)] = t.change().si();
    }
    print(j.dump(2) + "\n");
    return;
  }
  if (o.why) return print_why(all, o.format);
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
  command->add_flag("--why", o->why, "Of two: the changes from the first to the second, largest first, which add up");
  command->add_flag("--explain", o->explain, "Unfold step time, MFU and device memory of each side");
  add_format(*command, o->format);
  command->footer("--model --hw --precision --framework --seq --batch --gpus take lists, and a layout's words may set them (precision=fp8).\n\nExamples:\n"
                  "  napkin compare \"zero3\" \"tp8 sp pp4 dp32\" --model 100B --gpus 1024 --hw h100 --seq 4k --batch 4M-tokens\n"
                  "  napkin compare --why \"cp2 dp512 zero3\" \"tp2 cp4 pp4 vpp6 zero1\" --model 100B --gpus 1024 --hw h100 --batch 4M-tokens\n"
                  "  napkin compare --precision bf16,fp8,nvfp4 --hw b200 --model llama3.1-70b --gpus 64 --tp 8 --pp 2 --batch 128");
  command->callback([o] { run(*o); });
}

}  // namespace napkin::cli
