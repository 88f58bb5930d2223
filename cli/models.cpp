// napkin models list|show|check: the models that napkin knows, and files that describe others.
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/architecture_view.hpp"
#include "cli/command.hpp"
#include "model/input_error.hpp"
#include "model/text.hpp"
#include "model/transformer/model_input.hpp"

namespace napkin::cli {
namespace {

constexpr int bad_input = 2;

void list(OutputFormat format) {
  Table t{.title = {},
          .columns = {{"name", false}, {"total"}, {"active"}, {"layers"}, {"hidden"}, {"vocabulary"}},
          .rows = {},
          .notes = {"napkin models show NAME prints the file; sizes (100B, 100B-moe) and config.json files work as well."}};
  auto json = nlohmann::ordered_json{{"models", nlohmann::ordered_json::array()}};
  for (const auto& name : preset_names()) {
    const Architecture a = read_model(name);
    const Parameters p = parameters(a);
    if (format == OutputFormat::json) {
      json["models"].push_back({{"name", name},
                                {"total", p.total},
                                {"active", p.active},
                                {"layers", a.depth()},
                                {"hidden", a.hidden},
                                {"vocab", a.vocab}});
    } else {
      t.rows.push_back({name, format_count(double(p.total)), format_count(double(p.active)),
                        format_count(double(a.depth())), format_count(double(a.hidden)), format_count(double(a.vocab))});
    }
  }
  print(format == OutputFormat::json ? json.dump(2) + '\n' : render(t, format));
}

// The file as written, for a preset; the shape for everything else, and for other formats.
void show(const std::string& name, OutputFormat format) {
  if (const auto text = preset_text(name); text && format == OutputFormat::table) return print(*text);
  const Architecture a = read_model(name);
  print(format == OutputFormat::json ? architecture_json(a).dump(2) + '\n' : render(kinds_table(a), format));
}

void check(const std::vector<std::string>& models, Session& session) {
  for (const auto& model : models) {
    try {
      const Architecture a = read_model(model);
      print(model + ": good, " + format_count(double(parameters(a).total)) + " parameters\n");
      for (const auto& assumption : a.assumptions) print("  assumed: " + assumption + '\n');
    } catch (const InputError& error) {
      print(std::string(error.what()) + '\n');
      session.exit_code = bad_input;
    }
  }
}

}  // namespace

void add_models(CLI::App& app, Session& session) {
  auto* models = app.add_subcommand("models", "The models napkin knows: list, show, check");
  models->require_subcommand(1);
  struct Options {
    OutputFormat format = OutputFormat::table;
    std::string name;
    std::vector<std::string> models;
  };
  const auto o = std::make_shared<Options>();

  auto* listing = models->add_subcommand("list", "Every preset with its parameters");
  add_format(*listing, o->format);
  listing->callback([o] { list(o->format); });

  auto* showing = models->add_subcommand("show", "One model: its file as written, or with --format its shape");
  showing->add_option("name", o->name, "A preset, a size, a config.json or a folder holding one")->required();
  add_format(*showing, o->format);
  showing->callback([o] { show(o->name, o->format); });

  auto* checking = models->add_subcommand("check", "Say whether models can be read, with their count and assumptions");
  checking->add_option("model", o->models, "Config files, folders, presets or sizes")->required();
  checking->callback([o, &session] { check(o->models, session); });

  models->footer("Examples:\n  napkin models list\n  napkin models show llama3.1-8b\n"
                 "  napkin models check 100B mixtral-8x7b");
}

}  // namespace napkin::cli
