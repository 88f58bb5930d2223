// napkin hw list|show|check: the machines that napkin knows, and files that describe others.
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "hardware/constants.hpp"
#include "hardware/hardware_input.hpp"
#include "model/text.hpp"

namespace napkin::cli {
namespace {

using Json = nlohmann::ordered_json;
constexpr int bad_input = 2;

// Whether a constant was obtained on this machine: measured or fitted, and not inherited by "extends".
template <class Q>
bool own(const Hardware& h, const Constant<Q>& c) {
  if (!c.source || (c.source->kind != Evidence::fitted && c.source->kind != Evidence::measured)) return false;
  const auto file = c.place.substr(0, c.place.find('#'));
  return file.substr(file.find_last_of('/') + 1) == h.accelerator.name;
}

// What a machine's kernel constants rest on. Only timed kernels tell what a wave of tiles takes; whole training runs
// tell no more than the rate.
struct Knowledge {
  std::string_view word, words;
  bool kernels_timed = false;
};
Knowledge knowledge(const Hardware& h) {
  const auto& gemm = h.accelerator.gemm;
  if (own(h, gemm.wave)) return {"timed", "its kernels were timed", true};
  for (const auto& rate : gemm.rate)
    if (rate && rate->sustained && own(h, *rate->sustained))
      return {"runs only", "never measured kernel by kernel; its matrix rate was fitted to whole training runs"};
  return {"never", "never measured: its kernel constants are assumed, or another machine's"};
}

template <class Q>
Json to_json(const Constant<Q>& c) {
  return {{"value", c.value.si()}, {"kind", to_string(c.source->kind)}, {"source", c.source->text}, {"place", c.place}};
}

// Every constant in SI units with its source; children of "extends" are filled in.
Json to_json(const Hardware& h) {
  Json out{{"schema", 1},
           {"name", h.accelerator.name},
           {"title", h.accelerator.title},
           {"vendor", h.accelerator.vendor},
           {"generation", h.accelerator.generation},
           {"aliases", h.aliases},
           {"origin", h.origin},
           {"kernels_timed", knowledge(h).kernels_timed},
           {"network", {{"node_size", h.network.node_size}, {"tiers", Json::array()}}}};
  for (const auto& t : h.network.tiers) {
    Json tier{{"name", t.name}, {"topology", to_string(t.topology)}};
    tier["size"] = t.size == 0 ? Json() : Json(t.size);
    tier["rail_optimised"] = t.rail_optimised;
    tier["in_network_reduction"] = t.in_network_reduction;
    if (t.topology == Tier::Topology::torus) {
      tier["dims"] = t.dims;
      tier["wraps"] = t.wraps;
      tier["bidirectional"] = t.bidirectional;
    }
    out["network"]["tiers"].push_back(std::move(tier));
  }
  for_each_constant(h, [&](const std::string& path, const auto& c) {
    Json* at = &out;
    for (const auto& key : path_keys(path)) at = at->is_array() ? &(*at)[std::stoul(key)] : &(*at)[key];
    *at = to_json(c);
  });
  auto& gemm = out["kernels"]["gemm"];
  gemm["tiles"] = h.accelerator.gemm.tiles;
  gemm["k_step"] = h.accelerator.gemm.k_step;
  return out;
}

Table constants_table(const Hardware& h) {
  Table table{.title = h.accelerator.title,
              .columns = {{"constant", false}, {"value"}, {"kind", false}, {"source", false}, {"place", false}},
              .rows = {},
              .notes = {}};
  for_each_constant(h, [&](const std::string& path, const auto& c) {
    table.rows.push_back({path, format(c.value), std::string(to_string(c.source->kind)), c.source->text, c.place});
  });
  return table;
}

std::string peak(const Accelerator& a, Format f) {
  const auto& p = a.peak[static_cast<std::size_t>(f)];
  return p ? format_count(std::round(p->value.si() / TFLOP.si())) : std::string();
}

// Accelerators joined before a network interface is needed.
std::string extent(const Tier& t) {
  if (t.nics) return "1";
  if (t.dims.empty()) return t.size == 0 ? "any" : format_count(static_cast<double>(t.size));
  return fmt::format("{}", fmt::join(t.dims, "x"));
}

// The first tier that leaves the node through network interfaces.
const Tier* network_tier(const Network& n) {
  for (const auto& t : n.tiers)
    if (t.nics) return &t;
  return nullptr;
}

void list(OutputFormat output) {
  if (output == OutputFormat::json) {
    Json out{{"hardware", Json::array()}};
    for (const auto& name : catalog_names()) out["hardware"].push_back(to_json(read_hardware(hardware_document(name))));
    return print(out.dump(2) + '\n');
  }
  Table table{.title = {},
              .columns = {{"name", false}, {"bf16"}, {"fp8"}, {"fp4"}, {"memory"}, {"bandwidth"}, {"scale-up"},
                          {"each"}, {"network"}, {"timed", false}, {"title", false}},
              .rows = {},
              .notes = {"Peaks in TFLOP/s, dense. Memory as the driver reports it. Scale-up: accelerators of the innermost "
                        "tier, and bandwidth of",
                        "each in one direction; network: the same of the network interfaces. Timed: kernel constants "
                        "come from timed kernels, from whole training runs only, or were never measured.",
                        "napkin hw show NAME prints the file with every source."}};
  for (const auto& name : catalog_names()) {
    const auto h = read_hardware(hardware_document(name));
    const auto& a = h.accelerator;
    const auto& inner = h.network.tiers.front();
    const auto* network = network_tier(h.network);
    table.rows.push_back({a.name, peak(a, Format::bf16), peak(a, Format::fp8), peak(a, Format::fp4),
                          format_gib(a.capacity.value), format(a.memory_bandwidth.value), extent(inner),
                          inner.nics ? std::string() : format(inner.bandwidth.value), network ? format(network->bandwidth.value) : std::string(),
                          std::string(knowledge(h).word), a.title});
  }
  print(render(table, output));
}

void show(const std::string& name, OutputFormat output) {
  const auto h = read_hardware(name);
  if (const auto known = knowledge(h); !known.kernels_timed) note(fmt::format("{}: {}", h.accelerator.name, known.words));
  if (output == OutputFormat::table) return print(hardware_text(name));
  print(output == OutputFormat::json ? to_json(h).dump(2) + '\n' : render(constants_table(h), output));
}

void check(const std::vector<std::string>& files, Session& session) {
  for (const auto& file : files) {
    std::vector<std::string> problems;
    try {
      problems = hardware_problems(hardware_document(file));
    } catch (const InputError& e) {
      problems = {e.what()};
    }
    for (const auto& p : problems) print(p + '\n');
    if (problems.empty()) print(file + ": good\n");
    else session.exit_code = bad_input;
  }
}

}  // namespace

void add_hw(CLI::App& app, Session& session) {
  auto* hw = app.add_subcommand("hw", "The machines napkin knows: list, show, check");
  hw->require_subcommand(1);

  struct Options {
    OutputFormat format = OutputFormat::table;
    std::string name;
    std::vector<std::string> files;
  };
  const auto options = std::make_shared<Options>();

  auto* listing = hw->add_subcommand("list", "Every machine of the catalog");
  add_format(*listing, options->format);
  listing->callback([options] { list(options->format); });

  auto* showing = hw->add_subcommand("show", "One machine: its file as written, or with --format its constants");
  showing->add_option("name", options->name, "A catalog name, an alias, or a file")->required();
  add_format(*showing, options->format);
  showing->callback([options] { show(options->name, options->format); });

  auto* checking = hw->add_subcommand("check", "Say everything that is wrong with a hardware file");
  checking->add_option("file", options->files, "Hardware files, or catalog names")->required();
  checking->callback([options, &session] { check(options->files, session); });

  hw->footer("Examples:\n  napkin hw list\n  napkin hw show h100\n  napkin hw show gb200 --format json\n"
             "  napkin hw check h100 b200");
}

}  // namespace napkin::cli
