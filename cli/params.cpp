// napkin params: parameters of a model, by block, total and active.
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/architecture_view.hpp"
#include "cli/command.hpp"
#include "cli/explain.hpp"
#include "model/input_error.hpp"
#include "model/transformer/model_input.hpp"
#include "model/transformer/parameters.hpp"

namespace napkin::cli {
namespace {

struct Options {
  std::string model, flag;
  bool explain = false;
  OutputFormat format = OutputFormat::table;
};

const std::string& chosen(const Options& o) {
  if (!o.model.empty() && !o.flag.empty() && o.model != o.flag) {
    throw InputError("params: two models are given, \"" + o.model + "\" and --model \"" + o.flag + "\"; write one");
  }
  if (o.model.empty() && o.flag.empty()) {
    throw InputError("params: no model is given; write a preset, a size like 100B, or a config.json");
  }
  return o.model.empty() ? o.flag : o.model;
}

void run(const Options& o) {
  const Architecture a = read_model(chosen(o));
  const Parameters p = parameters(a);
  Derivation derivation;
  std::vector<const Node*> roots;
  if (o.explain) {
    const auto n = count_parameters(Scope<Traced>(derivation), a);
    roots = {n.total.why(), n.active.why(), n.mtp.why()};
  }
  if (o.format == OutputFormat::json) {
    auto j = parameters_json(a, p);
    if (o.explain) j["explanation"] = explain_json(roots);
    return print(j.dump(2) + '\n');
  }
  Table blocks = blocks_table(a, p);
  if (o.format == OutputFormat::csv) return print(render(blocks, o.format));
  for (const auto& assumption : a.assumptions) blocks.notes.push_back("assumed: " + assumption);
  print(render(kinds_table(a), o.format) + '\n' + render(blocks, o.format));
  if (o.explain) print('\n' + explain(roots));
}

}  // namespace

void add_params(CLI::App& app, Session&) {
  auto* command = app.add_subcommand("params", "Parameters of a model: by block, total, active");
  const auto o = std::make_shared<Options>();
  command->add_option("model", o->model, "A preset, a size (100B, 100B-moe), a config.json or a folder holding one")
      ->type_name("MODEL");
  command->add_option("--model", o->flag, "The same")->type_name("MODEL");
  command->add_flag("--explain", o->explain, "Unfold the count to formulas and numbers");
  add_format(*command, o->format);
  command->footer("Examples:\n  napkin params deepseek-v3\n  napkin params --model 100B --explain\n"
                  "  napkin params meta-llama/Llama-3.1-8B --format json");
  command->callback([o] { run(*o); });
}

}  // namespace napkin::cli
