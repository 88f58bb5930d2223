// napkin memory, second half: bytes per GPU of one layout, by term and stage, from the operators.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/explain.hpp"
#include "cli/memory.hpp"
#include "cli/prediction_view.hpp"
#include "cli/run_flags.hpp"

namespace napkin::cli {
namespace {

struct Options {
  std::string record;
  JobFlags job;
  LayoutFlags layout;
  bool explain = false;
  OutputFormat format = OutputFormat::table;
};

// The rule of thumb has them too.
constexpr std::array<std::string_view, 12> of_both{"--model", "--params", "--hw", "--gpus", "--seq", "--tp", "--sp",
                                                   "--pp", "--dp", "--zero", "--micro-batch", "--recompute"};
// Of the others, what --help shows.
constexpr std::array<std::string_view, 5> often{"--batch", "--framework", "--precision", "--cp", "--ep"};

bool in(const auto& list, std::string_view flag) { return std::find(list.begin(), list.end(), flag) != list.end(); }

// A run record names its model; a model's own configuration does not.
bool is_run_record(const std::string& path) {
  std::error_code ignored;
  if (!path.ends_with(".json") || !std::filesystem::is_regular_file(path, ignored)) return false;
  const Document file = Document::read(path);
  return file.root().is(Field::Type::object) && file.root().find("model").has_value();
}

void run(const Options& o) {
  const Run run = resolve(read_request(o.record, o.job, o.layout));
  const auto p = predict(Scope<Plain>(), run.job, run.layout, run.convention);
  std::vector<const Node*> roots;
  Derivation derivation;
  if (o.explain) {
    const auto traced = predict(Scope<Traced>(derivation), run.job, run.layout, run.convention);
    for (const auto& s : traced.stages) roots.push_back(s.device.why());
  }
  if (o.format == OutputFormat::json) {
    auto j = prediction_json(run, p)["memory"];
    j["assumptions"] = run.assumptions;
    if (o.explain) j["explanation"] = explain_json(roots);
    print(j.dump(2) + "\n");
    return;
  }
  print((o.format == OutputFormat::csv ? std::string() : headline(run) + "\n\n") + render(memory_table(run, p, o.format), o.format));
  if (in_full(o.format)) print("\n" + assumption_lines(run));
  if (o.explain) print("\n" + explain(roots));
}

}  // namespace

OptionList layout_options() {
  // As predict has them: one definition.
  static const CLI::App& predict = [] () -> const CLI::App& {
    static Options unused;
    static CLI::App app;
    add_job_options(app, unused.job);
    add_layout_options(app, unused.layout);
    return app;
  }();
  static std::deque<std::string> words;
  static const OptionList all = [] {
    OptionList out;
    for (const CLI::Option* o : predict.get_options()) {
      if (o->get_lnames().empty()) continue;
      const std::string& flag = words.emplace_back("--" + o->get_lnames().front());
      if (flag == "--help" || in(of_both, flag)) continue;
      const bool shown = in(often, flag);
      out.push_back({.flag = flag.c_str(), .reads = o->get_items_expected_max() == 0 ? Reads::flag : Reads::word,
                     .help = words.emplace_back(o->get_description()).c_str(),
                     .heading = shown ? "One layout, tensor by tensor (any of these chooses it)" : ""});
    }
    return out;
  }();
  return all;
}

bool memory_of_layout(const Asked& asked) {
  Options o;
  o.format = asked.format;
  o.explain = asked.explain.value_or(false);
  auto typed = asked.typed;
  if (const auto model = typed.find("--model"); model != typed.end() && is_run_record(model->second)) {
    o.record = model->second;
    typed.erase(model);
  }
  const OptionList own = layout_options();
  const auto of_a_layout = [&](const std::string& flag) {
    return std::find_if(own.begin(), own.end(), [&](const Parameter& p) { return p.flag == flag; });
  };
  std::string chosen = o.record;
  for (const auto& [flag, text] : typed)
    if (chosen.empty() && of_a_layout(flag) != own.end()) chosen = flag;
  if (chosen.empty()) return false;
  std::vector<std::string> words;
  for (const auto& [flag, text] : typed) {
    const auto at = of_a_layout(flag);
    if (at == own.end() && !in(of_both, flag))
      throw InputError(fmt::format("{} asks for one layout, tensor by tensor; {} belongs to the rule of thumb: leave one of them out", chosen, flag));
    words.push_back(flag == "--params" ? "--model" : flag);
    if (flag != "--sp" && (at == own.end() || at->reads != Reads::flag)) words.push_back(text);
  }
  CLI::App app("napkin memory");
  add_job_options(app, o.job);
  add_layout_options(app, o.layout);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& e) {
    throw InputError(e.what());
  }
  run(o);
  return true;
}

}  // namespace napkin::cli
