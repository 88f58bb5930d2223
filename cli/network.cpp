// napkin network: the fabric of a node, and the fat tree between nodes.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/option_value.hpp"
#include "model/collective/fat_tree.hpp"
#include "model/input/number_input.hpp"
#include "model/text.hpp"

namespace napkin::cli {

namespace {

// An answer is a list of named figures, with the formula of each.
struct Figure {
  std::string key, formula;
  double value;
  std::string text;
};

std::string render_figures(const std::string& title, const std::vector<Figure>& figures, OutputFormat format_) {
  if (format_ == OutputFormat::json) {
    nlohmann::ordered_json j;
    for (const auto& f : figures) j[f.key] = f.value;
    return j.dump(2) + "\n";
  }
  Table t;
  t.title = title;
  t.columns = {{"figure", false}, {"value"}, {"formula", false}};
  for (const auto& f : figures)
    t.rows.push_back({f.key, format_ == OutputFormat::csv ? fmt::format("{:.12g}", f.value) : f.text, f.formula});
  return render(t, format_);
}

Figure count(std::string key, long long v, std::string formula) {
  return {std::move(key), std::move(formula), static_cast<double>(v), format_count(static_cast<double>(v))};
}
Figure rate(std::string key, BytesPerSecond v, std::string formula) {
  return {std::move(key), std::move(formula), v.si(), format(v)};
}

struct Options {
  long long radix = 64, endpoints = 0, unit = 0, cores = 0, switches = 0, ports = 0, accelerators = 0;
  std::string port, link;
  OutputFormat format = OutputFormat::table;
};

void fat_tree_answer(const Options& o) {
  const FatTree t = fat_tree(o.radix, o.endpoints, o.unit);
  std::vector<Figure> out{count("largest_two_tier", t.largest, "radix^2 / 2"),
                          count("tiers", t.tiers, "two hold radix^2 / 2, three radix^3 / 4"),
                          count("leaves", t.leaves, "endpoints / (radix / 2)"),
                          count("spines", t.spines,
                                t.tiers == 3 ? "leaves * (radix / 2) / (radix / 2)" : "leaves * (radix / 2) / radix"),
                          count("leaf_spine_cables", t.cables, "leaves * radix / 2"),
                          count("leaf_ports_used", t.leaf_ports_used, "radix / 2 down, radix / 2 up")};
  if (t.tiers == 3) out.push_back(count("cores", t.cores, "spines * (radix / 2) / radix"));
  if (o.unit > 0) out.push_back(count("scalable_units", t.units, "endpoints / unit"));
  if (o.cores == 0 && !o.port.empty()) throw InputError("--port has no effect without --cores");
  if (o.cores > 0) {
    if (o.port.empty()) throw InputError("--cores needs --port: the bandwidth of one port, such as 50GB/s");
    const auto port = option_value("--port", o.port, parse_bandwidth);
    out.push_back(rate("core_bytes_per_s_per_endpoint", through_switches(o.cores, o.radix, port, o.endpoints),
                       "cores * radix * port / endpoints"));
  }
  print(render_figures(
      fmt::format("fat tree of {}-port switches for {} endpoint{}", o.radix, format_count(double(o.endpoints)),
                  o.endpoints == 1 ? "" : "s"),
      out, o.format));
}

void node_answer(const Options& o) {
  const auto f = node_fabric(o.switches, o.ports, option_value("--port", o.port, parse_bandwidth), o.accelerators,
                             option_value("--link", o.link, parse_bandwidth));
  print(render_figures("fabric of a node",
                       {rate("switch_bytes_per_s", f.switch_side, "switches * ports * port"),
                        rate("accelerator_bytes_per_s", f.accelerator_side, "accelerators * link"),
                        rate("usable_bytes_per_s", f.usable, "the lesser of both"),
                        rate("bisection_bytes_per_s", f.bisection, "half to half, both directions")},
                       o.format));
}

}  // namespace

void add_network(CLI::App& app, Session&) {
  CLI::App* c = app.add_subcommand("network", "Switches, cables and bandwidth of a fat tree, or of a node's fabric");
  c->footer(
      "Examples:\n  napkin network fat-tree --radix 64 --endpoints 1024\n"
      "  napkin network node --switches 4 --ports 64 --port 25GB/s --gpus 8 --link 450GB/s");
  c->require_subcommand(1);
  const auto o = std::make_shared<Options>();
  CLI::App* tree = c->add_subcommand("fat-tree", "A full-bisection fat tree");
  tree->add_option("--radix", o->radix, "Ports of a switch (64)")->check(CLI::Range(1LL, 1000000000LL));
  tree->add_option("--endpoints", o->endpoints, "Accelerators, one NIC each")->required()->check(CLI::Range(1LL, 1000000000LL));
  tree->add_option("--unit", o->unit, "Endpoints of a scalable unit")->check(CLI::Range(1LL, 1000000000LL));
  tree->add_option("--cores", o->cores, "Switches of a third tier, to see what it carries per endpoint")->check(CLI::Range(1LL, 1000000000LL));
  tree->add_option("--port", o->port, "With --cores: bandwidth of a port, such as 50GB/s or 400Gb/s");
  add_format(*tree, o->format);
  tree->footer(
      "Examples:\n  napkin network fat-tree --radix 64 --endpoints 1024\n"
      "  napkin network fat-tree --endpoints 4096 --unit 256 --cores 64 --port 50GB/s");
  tree->callback([o] { fat_tree_answer(*o); });
  CLI::App* node = c->add_subcommand("node", "What a scale-up domain carries");
  node->add_option("--switches", o->switches, "Switches of the node")->required()->check(CLI::Range(1LL, 1000000000LL));
  node->add_option("--ports", o->ports, "Ports of a switch")->required()->check(CLI::Range(1LL, 1000000000LL));
  node->add_option("--port", o->port, "Bandwidth of a port, one direction")->required();
  node->add_option("--gpus", o->accelerators, "Accelerators of the node")->required()->check(CLI::Range(1LL, 1000000000LL));
  node->add_option("--link", o->link, "Bandwidth of an accelerator, one direction")->required();
  add_format(*node, o->format);
  node->footer(
      "Examples:\n  napkin network node --switches 4 --ports 64 --port 25GB/s --gpus 8 --link 450GB/s\n"
      "  napkin network node --switches 18 --ports 72 --port 50GB/s --gpus 72 --link 900GB/s --format json");
  node->callback([o] { node_answer(*o); });
}

}  // namespace napkin::cli
