// napkin hw list|show|check: the machines that napkin knows, and files that describe others.
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "hardware/hardware_input.hpp"
#include "model/text.hpp"

namespace napkin::cli {
namespace {

using Json = nlohmann::ordered_json;
constexpr int bad_input = 2;

// Calls f(path, constant) for every constant of a machine; the path is that of the JSON output.
template <class F>
void for_each_constant(const Hardware& h, F f) {
  const auto& a = h.accelerator;
  const auto maybe = [&](const std::string& path, const auto& constant) {
    if (constant) f(path, *constant);
  };
  for (std::size_t i = 0; i < number_format_count; ++i) maybe(fmt::format("/peak/{}", format_names[i]), a.peak[i]);
  f("/memory/capacity", a.capacity);
  f("/memory/bandwidth", a.memory_bandwidth);
  f("/chip/units", a.units);
  maybe("/chip/l2", a.l2);
  maybe("/chip/clock", a.clock);
  maybe("/chip/power", a.power);
  maybe("/price/per_hour", a.price_per_hour);
  f("/host/bandwidth", a.host_bandwidth);
  f("/host/launch", a.launch);
  for (std::size_t i = 0; i < number_format_count; ++i) {
    if (!a.gemm.rate[i]) continue;
    maybe(fmt::format("/kernels/gemm/sustained/{}", format_names[i]), a.gemm.rate[i]->sustained);
    maybe(fmt::format("/kernels/gemm/burst/{}", format_names[i]), a.gemm.rate[i]->burst);
  }
  f("/kernels/gemm/floor", a.gemm.floor);
  f("/kernels/gemm/wave", a.gemm.wave);
  f("/kernels/gemm/split", a.gemm.split);
  f("/kernels/gemm/memory_fraction", a.gemm.memory_fraction);
  for (const auto& [name, kernel] : a.attention) {
    const auto at = "/kernels/attention/" + name;
    for (const auto& [dim, rate] : kernel.by_head_dim) {
      f(fmt::format("{}/forward/{}", at, dim), rate.forward);
      f(fmt::format("{}/backward/{}", at, dim), rate.backward);
    }
    f(at + "/half_keys", kernel.half_keys);
    f(at + "/half_keys_backward", kernel.half_keys_backward);
    f(at + "/block", kernel.block);
    f(at + "/sustained", kernel.sustained);
    f(at + "/floor", kernel.floor);
  }
  f("/kernels/elementwise/memory_fraction", a.elementwise.memory_fraction);
  f("/kernels/elementwise/floor", a.elementwise.floor);
  for (std::size_t i = 0; i < traffic_count; ++i)
    maybe(fmt::format("/kernels/elementwise/by_traffic/{}", traffic_names[i]), a.elementwise.by_traffic[i]);
  for (std::size_t i = 0; i < h.network.tiers.size(); ++i) {
    const auto& t = h.network.tiers[i];
    const auto at = fmt::format("/network/tiers/{}/", i);
    f(at + "bandwidth", t.bandwidth);
    f(at + "efficiency", t.efficiency);
    f(at + "latency", t.latency);
    maybe(at + "oversubscription", t.oversubscription);
    maybe(at + "nics", t.nics);
  }
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
  for_each_constant(h, [&](const std::string& path, const auto& c) { out[Json::json_pointer(path)] = to_json(c); });
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

// How the GEMM rate, which decides most of a step, was obtained.
std::string_view evidence(const Accelerator& a) {
  for (const auto f : {Format::bf16, Format::fp16})
    if (const auto& rate = a.gemm.rate[static_cast<std::size_t>(f)]; rate && rate->sustained)
      return to_string(rate->sustained->source->kind);
  return to_string(a.gemm.floor.source->kind);
}

void list(OutputFormat output) {
  if (output == OutputFormat::json) {
    Json out{{"hardware", Json::array()}};
    for (const auto& name : catalog_names()) out["hardware"].push_back(to_json(read_hardware(hardware_document(name))));
    return print(out.dump(2) + '\n');
  }
  Table table{.title = {},
              .columns = {{"name", false}, {"bf16"}, {"fp8"}, {"fp4"}, {"memory"}, {"bandwidth"}, {"scale-up"},
                          {"each"}, {"network"}, {"rate", false}, {"title", false}},
              .rows = {},
              .notes = {"Peaks in TFLOP/s, dense. Memory as the driver reports it. Scale-up: accelerators of the innermost "
                        "tier, and bandwidth of",
                        "each in one direction; network: the same of the network interfaces. Rate: how the GEMM rate was "
                        "obtained.",
                        "napkin hw show NAME prints the file with every source."}};
  for (const auto& name : catalog_names()) {
    const auto h = read_hardware(hardware_document(name));
    const auto& a = h.accelerator;
    const auto& inner = h.network.tiers.front();
    const auto* network = network_tier(h.network);
    table.rows.push_back({a.name, peak(a, Format::bf16), peak(a, Format::fp8), peak(a, Format::fp4),
                          format_gib(a.capacity.value), format(a.memory_bandwidth.value), extent(inner),
                          inner.nics ? std::string() : format(inner.bandwidth.value), network ? format(network->bandwidth.value) : std::string(),
                          std::string(evidence(a)), a.title});
  }
  print(render(table, output));
}

void show(const std::string& name, OutputFormat output) {
  if (output == OutputFormat::table) return print(hardware_text(name));
  const auto h = read_hardware(name);
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
