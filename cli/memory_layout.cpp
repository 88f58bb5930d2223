// napkin memory, second half: bytes per GPU of one layout, by term and stage, from the operators.
#include <fmt/format.h>

#include <algorithm>
#include <array>
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

// Only one layout has them; the rule of thumb does not ask.
constexpr std::array<std::string_view, 16> of_a_layout{"--batch", "--framework", "--year", "--precision", "--task", "--lora-rank",
                                                       "--lora-targets", "--convention", "--no-sp", "--cp", "--ep", "--etp",
                                                       "--vpp", "--schedule", "--zero-group", "--offload-layers"};
// Both have them.
constexpr std::array<std::string_view, 11> of_both{"--model", "--params", "--hw", "--gpus", "--seq", "--tp", "--sp",
                                                   "--pp", "--dp", "--zero", "--micro-batch"};

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
  return under("One layout, tensor by tensor (any of these chooses it)",
               {{"--batch", Reads::word, "Global batch: sequences (1024) or tokens (4M-tokens)"},
                {"--framework", Reads::word, "Framework profile (napkin frameworks list)"},
                {"--precision", Reads::word, "bf16, fp8, mxfp8, nvfp4 ..."},
                {"--cp", Reads::count, "Context parallelism"},
                {"--ep", Reads::count, "Expert parallelism"},
                {"--vpp", Reads::count, "Chunks of a pipeline rank"}}) +
         seldom({{"--schedule", Reads::word, "1f1b, interleaved, gpipe, zb-h1, zb-v ..."},
                 {"--task", Reads::word, "pretrain, sft, lora or qlora"},
                 {"--year", Reads::count, "Year of the framework's release"},
                 {"--lora-rank", Reads::count, "Rank of the adapters"},
                 {"--lora-targets", Reads::word, "Linears with adapters: qkv, o, gate_up, down"},
                 {"--convention", Reads::word, "How MFU counts attention"},
                 {"--no-sp", Reads::flag, "No sequence parallelism"},
                 {"--etp", Reads::count, "Tensor parallelism of experts"},
                 {"--zero-group", Reads::count, "Ranks a state is sharded over (HSDP)"},
                 {"--offload-layers", Reads::count, "Layers whose activations wait in host memory"}});
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
  std::string chosen = o.record;
  for (const auto& [flag, text] : typed)
    if (chosen.empty() && in(of_a_layout, flag)) chosen = flag;
  if (chosen.empty()) return false;
  std::vector<std::string> words;
  for (const auto& [flag, text] : typed) {
    if (!in(of_a_layout, flag) && !in(of_both, flag) && flag != "--recompute")
      throw InputError(fmt::format("{} asks for one layout, tensor by tensor; {} belongs to the rule of thumb: leave one of them out", chosen, flag));
    words.push_back(flag == "--params" ? "--model" : flag);
    if (flag != "--sp" && flag != "--no-sp") words.push_back(text);
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
