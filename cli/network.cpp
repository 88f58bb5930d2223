// napkin network: the fat tree between nodes, and the fabric of a node.
#include "cli/calculator.hpp"
#include "model/collective/fat_tree.hpp"

namespace napkin::cli {
namespace {

ScalarT<T> whole(const Given& g, const char* flag, const char* symbol) {
  return g.scope().input(symbol, static_cast<double>(g.whole(flag, 1)), flag);
}

void fat_tree_answer(const Given& g, Answer& a) {
  const auto radix = whole(g, "--radix", "radix");
  const auto endpoints = whole(g, "--endpoints", "endpoints");
  const auto t = fat_tree<T>(radix, endpoints, g.typed("--unit") ? whole(g, "--unit", "unit") : ScalarT<T>(0));
  a.add("largest_two_tier", "endpoints that two tiers join", t.largest);
  a.add("largest_three_tier", "... three tiers", t.largest_three);
  a.add("tiers", "tiers", g.scope().input("tiers", t.tiers, "two join radix^2 / 2, three radix^3 / 4"));
  a.add("leaves", "leaves", t.leaves);
  a.add("spines", "spines", t.spines);
  if (t.tiers == 3) a.add("cores", "cores", t.cores);
  a.add("leaf_spine_cables", "cables between leaves and spines", t.cables);
  a.add("leaf_ports_used", "ports of a leaf in use", t.leaf_ports_used);
  if (g.typed("--unit")) a.add("scalable_units", "scalable units", t.units);
  if (g.typed("--port") && !g.typed("--cores")) throw InputError("--port has no effect without --cores");
  if (g.typed("--cores"))
    a.add("core_bytes_per_s_per_endpoint", "bandwidth of an endpoint through --cores",
          through_switches(whole(g, "--cores", "cores"), radix, g.bandwidth("--port", "port"), endpoints));
  a.neglected.push_back("links for management and storage; a rail of its own for each NIC of a node (the same tree, once a rail)");
  a.follow_up = "what does 3:1 at the leaves save, and which collective feels it? (napkin network widest)";
}

void widest_answer(const Given& g, Answer& a) {
  const auto t = widest_tree<T>(whole(g, "--radix", "radix"), static_cast<int>(g.whole("--tiers", 2)), g.number("--oversubscription", "o"),
                                g.bandwidth("--port", "port"));
  a.add("endpoints", "endpoints", t.endpoints);
  a.add("leaf_ports_down", "ports of a leaf to endpoints", t.down);
  a.add("leaf_ports_up", "... to spines", t.up);
  a.add("oversubscription", "oversubscription, in whole ports", t.oversubscription, Show::factor);
  a.add("bytes_per_s_per_endpoint", "bandwidth of an endpoint out of its leaf, all sending", t.per_endpoint);
  a.add("bisection_bytes_per_s", "bisection, one direction", t.bisection);
  a.add("bisection_both_ways_bytes_per_s", "bisection, both directions", let("B_both", 2 * t.bisection));
  a.neglected.push_back("traffic that stays below a leaf (rails keep much of it there), collisions of hashed flows");
  a.follow_up = "how many of these endpoints does a ring all-reduce really send out of their leaf?";
}

void node_answer(const Given& g, Answer& a) {
  const auto f = node_fabric<T>(whole(g, "--switches", "switches"), whole(g, "--ports", "ports"), g.bandwidth("--port", "port"),
                                whole(g, "--gpus", "n"), g.bandwidth("--link", "B_link"));
  a.add("switch_bytes_per_s", "what the switches carry", f.switch_side);
  a.add("accelerator_bytes_per_s", "what the accelerators carry", f.accelerator_side);
  a.add("usable_bytes_per_s", "the lesser of both", f.usable);
  a.add("bisection_bytes_per_s", "bisection, both directions", f.bisection);
  a.neglected.push_back("protocol overhead: kernels reach 75-90 % of it");
  a.follow_up = "which is the bottleneck of an all-to-all here, a link or the switches?";
}

void compute(const Given& g, Answer& a) {
  const std::string of = g.word("--of");
  if (of == "fat-tree") fat_tree_answer(g, a);
  else if (of == "widest") widest_answer(g, a);
  else if (of == "node") node_answer(g, a);
  else throw InputError("--of: \"" + of + "\"; write fat-tree, widest or node");
  a.conventions.push_back("bandwidth of a port or link is one direction; GB/s = 1e9 B/s, 400 Gb/s = 50 GB/s");
}

}  // namespace

void add_network(CLI::App& app, Session& session) {
  add_calculator(app, session,
                 {.name = "network",
                  .description = "Switches: radix, tiers, cables, oversubscription, bisection, GB/s per GPU of a fat tree or of a node's fabric",
                  .parameters = OptionList{
                      {"--of", Reads::word, "fat-tree (switches for --endpoints), widest (most endpoints of so many tiers) or node", "fat-tree"},
                      {"--radix", Reads::count, "Ports of a switch", "64"},
                      {"--endpoints", Reads::count, "fat-tree: accelerators, one NIC each"},
                      {"--unit", Reads::count, "fat-tree: endpoints of a scalable unit"},
                      {"--cores", Reads::count, "fat-tree: switches of a third tier, to see what it carries per endpoint"},
                      {"--port", Reads::bandwidth, "Bandwidth of a port, one direction: 400Gb/s, 50GB/s"},
                      {"--tiers", Reads::count, "widest: 2 or 3", "2"},
                      {"--oversubscription", Reads::number, "widest: of the leaves, 2 for 2:1", "1"},
                      {"--switches", Reads::count, "node: switches"},
                      {"--ports", Reads::count, "node: ports of a switch"},
                      {"--gpus", Reads::count, "node: accelerators"},
                      {"--link", Reads::bandwidth, "node: bandwidth of an accelerator, one direction"}},
                  .compute = compute,
                  .examples = "  napkin network fat-tree --radix 64 --endpoints 1024\n"
                              "  napkin network widest --radix 64 --port 400Gb/s --oversubscription 3\n"
                              "  napkin network node --switches 4 --ports 64 --port 25GB/s --gpus 8 --link 450GB/s",
                  .positional = "--of"});
}

}  // namespace napkin::cli
