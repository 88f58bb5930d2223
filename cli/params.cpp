// napkin params: parameters of a model, by block, total and active.
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/architecture_view.hpp"
#include "cli/command.hpp"
#include "cli/explain.hpp"
#include "cli/option_value.hpp"
#include "cli/spelling.hpp"
#include "model/input/number_input.hpp"
#include "model/input_error.hpp"
#include "model/transformer/model_input.hpp"
#include "model/transformer/parameters.hpp"

namespace napkin::cli {
namespace {

const std::string convention = "convention: a tied tensor counts once; active = of one token, embedding included; multi-token-prediction modules apart";

struct Options {
  std::string model, flag;
  std::map<std::string, std::string, std::less<>> shape;  // --layers ... as typed
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

Architecture given_shape(const Options& o) {
  if (!o.model.empty() || !o.flag.empty()) throw InputError("params: a model and a shape are given; write one");
  for (const char* needed : {"--layers", "--hidden"})
    if (!o.shape.contains(needed)) throw InputError(std::string("params: a shape needs ") + needed);
  return shape_of([&](std::string_view flag) -> std::optional<std::int64_t> {
    const auto at = o.shape.find(flag);
    if (at == o.shape.end()) return std::nullopt;
    const double v = option_value(at->first.c_str(), at->second, parse_count);
    if (v != std::floor(v) || v > 1e15) throw InputError(at->first + ": \"" + at->second + "\" is not a whole number");
    return static_cast<std::int64_t>(v);
  });
}

void run(const Options& o) {
  const Architecture a = o.shape.empty() ? read_model(chosen(o)) : given_shape(o);
  const Parameters p = parameters(a);
  Derivation derivation;
  std::vector<const Node*> roots;
  if (o.explain) {
    const auto n = count_parameters(Scope<Traced>(derivation), a);
    roots = {n.total.why(), n.active.why(), n.mtp.why()};
  }
  if (o.format == OutputFormat::json) {
    auto j = parameters_json(a, p);
    j["counting"] = nlohmann::ordered_json::array({convention});
    if (o.explain) j["explanation"] = explain_json(roots);
    return print(j.dump(2) + '\n');
  }
  Table blocks = blocks_table(a, p);
  if (o.format == OutputFormat::csv) return print(render(blocks, o.format));
  blocks.notes.push_back(convention);
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
  const auto size = [&](const char* flag, const char* what) {
    command->add_option_function<std::string>(flag, [o, flag](const std::string& text) { o->shape[flag] = text; }, what)->type_name("N");
  };
  size("--layers", "Or the shape: layers");
  size("--hidden", "Model width");
  size("--ffn", "Feed-forward width");
  size("--heads", "Query heads");
  size("--kv-heads", "Key-value heads (default: as many)");
  size("--head-dim", "Width of a head (default: hidden / heads)");
  size("--vocab", "Vocabulary");
  size("--experts", "Routed experts");
  size("--top-k", "Experts of a token");
  size("--expert-ffn", "Width of an expert");
  size("--shared-experts", "Shared experts");
  size("--dense-layers", "First layers without experts");
  command->add_flag_callback("--ungated", [o] { o->shape["--ungated"] = "1"; }, "The feed-forward has no gate");
  command->add_flag_callback("--tied", [o] { o->shape["--tied"] = "1"; }, "Embedding and head are one tensor");
  command->add_flag("--explain", o->explain, "Unfold the count to formulas and numbers");
  add_format(*command, o->format);
  command->footer("Examples:\n  napkin params deepseek-v3\n  napkin params --model 100B --explain\n"
                  "  napkin params meta-llama/Llama-3.1-8B --format json\n"
                  "  napkin params --layers 80 --hidden 8192 --ffn 28672 --heads 64 --kv-heads 8 --vocab 128256");
  command->callback([o] { run(*o); });
}

}  // namespace napkin::cli
