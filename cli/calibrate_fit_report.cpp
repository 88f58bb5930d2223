#include "cli/calibrate_fit_report.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "calibrate/fit/hardware_file.hpp"
#include "cli/calibrate.hpp"
#include "cli/comparison_view.hpp"
#include "hardware/constants.hpp"
#include "hardware/hardware_input.hpp"
#include "model/text.hpp"

namespace napkin::cli {
namespace {

using namespace napkin::fit;
using Json = nlohmann::ordered_json;

// The machine that the samples name, as far as the catalog knows it: "NVIDIA H200" → h200.
std::string base_of(const FitRequest& r, const Samples& samples) {
  if (!r.base.empty()) return r.base;
  const auto at = samples.device.find("name");
  if (at == samples.device.end())
    throw InputError("--base: the samples name no device; write --base and a catalog name");
  const auto space = at->second.find(' ');
  for (const auto& name : {at->second, at->second.substr(space == std::string::npos ? 0 : space + 1)})
    if (catalog_text(name)) return name;
  throw InputError(fmt::format("--base: the samples name \"{}\", which is not in the catalog; write --base NAME", at->second));
}

// Whether the samples name another machine of the catalog than the base.
std::optional<std::string> other_machine(const Hardware& base, const Samples& samples) {
  const auto at = samples.device.find("name");
  if (at == samples.device.end()) return {};
  const auto space = at->second.find(' ');
  const auto name = at->second.substr(space == std::string::npos ? 0 : space + 1);
  if (!catalog_text(name)) return {};
  const auto measured = read_hardware(name).accelerator.title;
  if (measured == base.accelerator.title) return {};
  return fmt::format("the samples name {}, the base is {}: its peaks and bandwidths bound what is fitted", at->second, base.accelerator.title);
}

std::string name_of(const FitRequest& r) {
  if (!r.name.empty()) return r.name;
  return r.output.empty() ? "fitted" : std::filesystem::path(r.output).stem().string();
}

// What the fitted leaves are said to come from.
std::string about(const FitRequest& r, const Samples& samples) {
  std::string files;
  for (const auto& f : r.samples) files += (files.empty() ? "" : ", ") + std::filesystem::path(f).filename().string();
  std::string machine;
  for (const auto* key : {"name", "driver", "cuda", "nccl", "torch", "git"})
    if (const auto at = samples.device.find(key); at != samples.device.end())
      machine += (machine.empty() ? " (" : ", ") + (std::string(key) == "name" ? "" : std::string(key) + " ") + at->second;
  return "napkin calibrate fit of " + files + (machine.empty() ? "" : machine + ")");
}

void write(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw InputError(path + ": cannot be written");
}

Json to_json(const Residual& r) {
  return {{"n", r.n}, {"median_abs_pct", 100 * r.median}, {"p90_abs_pct", 100 * r.p90}, {"bias_pct", 100 * r.bias}};
}

Json to_json(const HardwareFit& fit) {
  Json out{{"schema", 1}, {"groups", Json::array()}};
  for (const auto& g : fit.groups) {
    Json group{{"group", g.group}, {"range", g.range}, {"fitted", to_json(g.fit.fitted)}, {"held_out", to_json(g.fit.held_out)}};
    group["constants"] = Json::array();
    for (const auto& p : g.fit.parameters) {
      Json c{{"name", p.name}, {"value", p.value}, {"standard_error", p.standard_error}, {"at_bound", p.at_bound}};
      if (!p.leaf.empty()) c["leaf"] = p.leaf;
      group["constants"].push_back(std::move(c));
    }
    out["groups"].push_back(std::move(group));
  }
  out["assumed"] = Json::array();
  for (const auto& c : fit.consequences) out["assumed"].push_back({{"leaf", c.leaf}, {"why", c.why}});
  out["notes"] = fit.notes;
  out["doubts"] = fit.doubts;
  return out;
}

Table to_table(const HardwareFit& fit, OutputFormat) {
  const auto percent = [](const Residual& r, double v) { return r.n == 0 ? std::string() : fmt::format("{:.1f} %", 100 * v); };
  Table t{.title = {},
          .columns = {{"group", false}, {"constant", false}, {"value"}, {"±"}, {"fitted"}, {"median"}, {"p90"},
                      {"held out"}, {"median"}, {"p90"}, {"range", false}},
          .rows = {},
          .notes = {}};
  for (const auto& g : fit.groups) {
    bool first = true;
    for (const auto& p : g.fit.parameters) {
      const auto once = [&](std::string text) { return first ? text : std::string(); };
      const auto& f = g.fit;
      t.rows.push_back({once(g.group), p.name + (p.leaf.empty() ? " (not kept)" : ""), fmt::format("{:.4g}", p.value),
                        p.at_bound ? "bound" : fmt::format("{:.1g}", p.standard_error),
                        once(std::to_string(f.fitted.n)), once(percent(f.fitted, f.fitted.median)),
                        once(percent(f.fitted, f.fitted.p90)), once(std::to_string(f.held_out.n)),
                        once(percent(f.held_out, f.held_out.median)), once(percent(f.held_out, f.held_out.p90)),
                        once(g.range)});
      first = false;
    }
  }
  t.notes.push_back("Values in SI units, fractions of the datasheet's peak or bandwidth; ± one standard error; median and p90 of |predicted / measured - 1|.");
  for (const auto& c : fit.consequences) t.notes.push_back("assumed " + c.leaf + ": " + c.why);
  for (const auto& n : fit.notes) t.notes.push_back(n);
  return t;
}

// The constants that the samples do not tell, by where the base has them from: what the written file is a mix of.
std::vector<std::string> kept_notes(const HardwareFit& fit, const std::string& base) {
  std::set<std::string> told;
  for (const auto& g : fit.groups)
    for (const auto& p : g.fit.parameters) told.insert(p.leaf);
  for (const auto& c : fit.consequences) told.insert(c.leaf);
  std::map<std::string, std::string> leaves;  // source → what it gives
  for_each_constant(fit.hardware, [&](const std::string& leaf, const auto& c) {
    if (told.contains(leaf) || !leaf.starts_with("/kernels/")) return;
    const auto source = c.source ? std::string(to_string(c.source->kind)) + ", " + c.source->text : std::string("no source");
    auto& list = leaves[source];
    list += (list.empty() ? "" : ", ") + leaf.substr(std::string_view("/kernels/").size());
  });
  std::vector<std::string> out;
  for (const auto& [source, list] : leaves) out.push_back("kept from " + base + " (" + source + "): " + list);
  return out;
}

}  // namespace

std::string fit_report(const FitRequest& r, int& exit_code) {
  auto inputs = r.samples;
  inputs.push_back(r.base);
  refuse_output("-o", r.output, inputs);
  const auto regime = r.regime.empty() ? Regime::burst : regime_of(r.regime);
  const double held_out = share_of("--held-out", r.held_out);
  const auto samples = read_samples(r.samples);
  const auto base = read_hardware(base_of(r, samples));
  auto fit = fit_hardware(base, samples, held_out, regime);
  if (!samples.regime_stated && r.regime.empty())
    fit.notes.push_back("some rows do not say under which clocks they ran: taken as a short benchmark (--regime sustained for long runs)");
  if (auto other = other_machine(base, samples)) fit.notes.insert(fit.notes.begin(), std::move(*other));
  for (auto& note : kept_notes(fit, base.accelerator.name)) fit.notes.push_back(std::move(note));
  if (!fit.doubts.empty()) {
    std::string all;
    for (const auto& d : fit.doubts) all += (all.empty() ? "" : "; ") + d;
    note("calibrate fit: not to be relied on: " + all);
    exit_code = 1;
  }
  std::optional<CheckReport> crossed;
  if (r.folds > 0) crossed = cross_validated(base, samples, r.folds, regime);
  if (!r.output.empty()) {
    const auto name = name_of(r);
    const auto text = hardware_file(fit, name, about(r, samples), samples.device);
    const auto problems = hardware_problems(Document::parse(text, r.output));
    for (const auto& p : problems) fit.notes.push_back("implausible: " + p);
    write(r.output, text);
  }
  if (r.format == OutputFormat::json) {
    auto out = to_json(fit);
    if (crossed) out["cross_validated"] = {{"folds", r.folds}, {"groups", comparison_groups(*crossed)}};
    return out.dump(2) + '\n';
  }
  auto text = render(to_table(fit, r.format), r.format);
  if (crossed)
    text += '\n' + render(comparison_table(fmt::format("Every shape by the one of {} fits that did not see it", r.folds), *crossed, r.format), r.format);
  return text;
}

}  // namespace napkin::cli
