#include "cli/emission_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/pipeline_trace.hpp"
#include "cli/prediction_view.hpp"
#include "model/input_error.hpp"
#include "model/launch/target_input.hpp"
#include "model/launch/write.hpp"

namespace napkin::cli {
namespace {

constexpr std::string_view format_words[] = {"arguments", "yaml", "toml", "json", "python", "text"};
std::string_view word(launch::Format f) { return format_words[static_cast<std::size_t>(f)]; }

nlohmann::ordered_json json_of(const launch::Value& v) {
  using Kind = launch::Value::Kind;
  switch (v.kind) {
    case Kind::none: return nullptr;
    case Kind::truth: return v.truth;
    case Kind::whole: return v.whole;
    case Kind::real: return v.real;
    case Kind::text:
    case Kind::code: return v.text;
    case Kind::list: break;
  }
  auto list = nlohmann::ordered_json::array();
  for (const launch::Value& e : v.list) list.push_back(json_of(e));
  return list;
}

std::size_t part_named(const launch::Target& target, const std::string& name) {
  std::string list;
  for (std::size_t i = 0; i < target.files.size(); ++i) {
    if (target.files[i].name == name) return i;
    list += (list.empty() ? "" : ", ") + target.files[i].name;
  }
  throw InputError(fmt::format("--part: \"{}\" is not a file of {}; write one of {}", name, target.name, list));
}

}  // namespace

int give(const launch::Emission& e, const launch::Target& target, const launch::Facts& facts, const EmissionOutput& output) {
  for (const std::string& r : e.refusals) note(fmt::format("{} {}", target.title, r));
  for (const std::string& n : e.notes) note(fmt::format("{}: {}", target.name, n));
  if (!e.expressible()) {
    note(fmt::format("{} cannot be told this layout; nothing is written", target.title));
    return 1;
  }
  note(fmt::format("{} rules of {} hold", e.rules.size(), target.title));
  std::vector<std::size_t> parts;
  if (!output.part.empty()) parts.push_back(part_named(target, output.part));
  else for (std::size_t i = 0; i < target.files.size(); ++i) parts.push_back(i);
  for (std::size_t n = 0; n < parts.size(); ++n) {
    const launch::File& file = target.files[parts[n]];
    const std::string text = launch::file_text(e, target, parts[n], facts);
    if (output.path.empty()) {
      if (parts.size() > 1) print(fmt::format("{}# ---- {}\n", n == 0 ? "" : "\n", file.name));
      print(text);
      continue;
    }
    const auto folder = output.path.rfind('/');
    const std::string path = n == 0 ? output.path : output.path.substr(0, folder == std::string::npos ? 0 : folder + 1) + file.name;
    if (n > 0 && path == output.path) throw InputError(fmt::format("-o: \"{}\" is the name of the second file; write another", path));
    write_file(path, text);
    note(fmt::format("written to {}", path));
  }
  return 0;
}

nlohmann::ordered_json emission_json(const launch::Emission& e, const launch::Target& target, const launch::Facts& facts,
                                     const RunRequest& request, const Run& run) {
  nlohmann::ordered_json j{{"schema", 1}, {"target", target.name}, {"title", target.title}, {"source", target.source},
                           {"expressible", e.expressible()}};
  j["files"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; e.expressible() && i < target.files.size(); ++i)
    j["files"].push_back({{"name", target.files[i].name}, {"format", word(target.files[i].format)}, {"text", launch::file_text(e, target, i, facts)}});
  j["settings"] = nlohmann::ordered_json::array();
  for (const launch::Written& w : e.settings) {
    auto& s = j["settings"].emplace_back(nlohmann::ordered_json{{"file", target.files[w.file].name}, {"key", w.key}, {"value", json_of(w.value)}});
    if (!w.fact.empty()) s["fact"] = w.fact;
  }
  j["rules"] = nlohmann::ordered_json::array();
  for (const launch::Verdict& v : e.rules)
    j["rules"].push_back({{"name", v.rule->name}, {"source", v.rule->source}, {"kept", v.kept}, {"numbers", v.numbers}});
  j["notes"] = e.notes;
  j["refusals"] = e.refusals;
  j["run"] = run_record_json(request, run);
  j["assumptions"] = run.assumptions;
  return j;
}

Table targets_table() {
  Table t;
  t.title = "Launch targets";
  t.columns = {{"name", false}, {"files", false}, {"profile", false}, {"also called", false}, {"what", false}};
  for (const std::string& name : launch::target_names()) {
    const launch::Target target = launch::read_target(name);
    std::string files, aliases;
    for (const launch::File& f : target.files) files += (files.empty() ? "" : ", ") + f.name;
    for (const std::string& a : target.aliases) aliases += (aliases.empty() ? "" : ", ") + a;
    t.rows.push_back({target.name, files, target.profile, aliases, target.title});
  }
  return t;
}

}  // namespace napkin::cli
