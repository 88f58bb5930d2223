// napkin collective: one collective, all ways to run it side by side.
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "cli/collective_options.hpp"
#include "cli/collective_report.hpp"
#include "cli/command.hpp"
#include "cli/option_value.hpp"
#include "model/input/number_input.hpp"

namespace napkin::cli {

namespace {

template <class Enum>
Enum named(const char* option, const char* what, const std::string& text, int first, int count) {
  std::string known;
  for (int i = first; i < count; ++i) {
    const auto e = static_cast<Enum>(i);
    if (to_string(e) == text) return e;
    known += (known.empty() ? "" : ", ") + std::string(to_string(e));
  }
  throw InputError(fmt::format("{}: \"{}\" is not {}; write one of {}", option, text, what, known));
}
Operation operation(const std::string& text) {
  constexpr int operations = 7;
  for (int i = 0; i < operations; ++i)
    if (to_string(static_cast<Operation>(i)) == text) return static_cast<Operation>(i);
  std::string known;
  for (int i = 0; i < operations; ++i) known += std::string(to_string(static_cast<Operation>(i))) + ", ";
  throw InputError(fmt::format("\"{}\" is not a collective; write one of {}grouped-p2p, expert-exchange", text, known));
}

// "tree", "tree/ll128", "tree@0.9", "tree/ll128@0.9": algorithm, protocol, share of its bandwidth that it reaches.
Wish wish(const char* option, const std::string& text, const std::string& protocol) {
  Wish w;
  const auto at = std::min(text.find('@'), text.size()), slash = std::min(text.find('/'), at);
  if (!text.empty()) w.algorithm = named<Algorithm>(option, "an algorithm", text.substr(0, slash), 1, 15);
  const std::string of_text = slash < at ? text.substr(slash + 1, at - slash - 1) : "";
  if (!of_text.empty() && !protocol.empty() && of_text != protocol)
    throw InputError(fmt::format("--algorithm says protocol {}, --protocol says {}; write one", of_text, protocol));
  const std::string p = of_text.empty() ? protocol : of_text;
  if (!p.empty() || slash < at)
    w.protocol =
        named<Protocol>(p == protocol ? "--protocol" : option, "a protocol", p, 0, static_cast<int>(protocol_count));
  if (at < text.size()) {
    w.share = option_value(option, text.substr(at + 1), parse_number);
    if (!(w.share > 0 && w.share <= 1))
      throw InputError(fmt::format("{}: \"{}\": the share of its bandwidth lies above 0 and up to 1", option, text));
  }
  return w;
}

constexpr Bytes most_bytes = 1e18 * byte;  // an exabyte: no buffer is larger, and times stay finite

std::vector<Bytes> sweep(const std::string& text) {
  const auto dots = text.find("..");
  if (dots == text.npos) throw InputError("--sweep: \"" + text + "\" is not a range; write 8B..8GB");
  const Bytes from = option_value("--sweep", text.substr(0, dots), parse_bytes);
  const Bytes to = option_value("--sweep", text.substr(dots + 2), parse_bytes);
  if (!(from > Bytes()) || to < from) throw InputError("--sweep goes from a size above zero up to a larger one");
  if (to > most_bytes) throw InputError("--sweep: \"" + text + "\" goes above an exabyte; write a shorter range");
  constexpr std::size_t most = 200;
  std::vector<Bytes> out;
  for (Bytes b = from; b < to; b = 2 * b) {
    out.push_back(b);
    if (out.size() > most) throw InputError("--sweep: more than 200 doublings; write a shorter range");
  }
  out.push_back(to);
  return out;
}

Bytes buffer(const std::string& text) {
  const Bytes b = option_value("--bytes", text, parse_bytes);
  if (b > most_bytes) throw InputError("--bytes: \"" + text + "\" is above an exabyte; write a smaller size");
  return b;
}

CollectiveQuestion question(const CollectiveOptions& o) {
  CollectiveQuestion q;
  q.operation = operation(o.operation);
  q.group = {o.ranks, o.stride};
  Machine m = collective_machine(o);
  q.network = std::move(m.network);
  q.machine = std::move(m.name);
  q.notes = std::move(m.notes);
  if (!o.sweep.empty()) q.sweep = sweep(o.sweep);
  if (o.bytes.empty() && q.sweep.empty()) throw InputError("--bytes: write the size of the buffer, such as 1GB");
  if (!o.bytes.empty()) q.bytes = buffer(o.bytes);
  q.wish = wish("--algorithm", o.algorithm, o.protocol);
  if (!o.time.empty()) {
    q.measured = option_value("--time", o.time, parse_seconds);
    if (!(*q.measured > Seconds())) throw InputError("--time: \"" + o.time + "\" is not above zero");
  }
  if (!o.tie.empty()) {
    const auto comma = o.tie.find(',');
    if (comma == o.tie.npos) throw InputError("--tie: write two algorithms, such as ring,tree or ring,tree@0.9");
    q.tie = {wish("--tie", o.tie.substr(0, comma), ""), wish("--tie", o.tie.substr(comma + 1), "")};
    if (!q.tie->first.algorithm || !q.tie->second.algorithm)
      throw InputError("--tie: write two algorithms, such as ring,tree");
  }
  q.explain = o.explain;
  return q;
}

void answer(const CLI::App& command, CollectiveOptions o) {
  refuse_idle_options(command, o);
  place_members(o);
  if (o.operation == "expert-exchange") return print(expert_exchange_report(o));
  if (o.operation == "grouped-p2p" || !o.sizes.empty()) return print(ragged_report(o));
  print(collective_report(question(o), o.format));
}

}  // namespace

void add_collective(CLI::App& app, Session&) {
  CLI::App* c = app.add_subcommand("collective", "What a collective takes, by every algorithm that could run it");
  const auto o = std::make_shared<CollectiveOptions>();
  o->routing.top_k = 0;  // not given
  const auto count = CLI::Range(1, 100000000);
  c->add_option("OPERATION", o->operation,
                "all-reduce, all-gather, reduce-scatter, all-to-all, broadcast, reduce, send-recv, grouped-p2p or "
                "expert-exchange")
      ->required();
  c->add_option("--bytes", o->bytes,
                "The whole buffer, as nccl-tests counts: 1GB, 64MiB; of one message in grouped-p2p");
  c->add_option("--gpus,--ranks", o->ranks, "Ranks of the group")->required()->check(count);
  c->add_option("--stride", o->stride, "Accelerators from one member to the next: 8 leaves one member per 8-GPU node")
      ->check(CLI::Range(1LL, 100000000LL));
  c->add_option("--placement", o->placement, "packed (default): members fill the nodes; spread: one member per node");
  c->add_option("--hw", o->hardware, "The machine: a catalog name or a file");
  c->add_option("--per-node", o->per_node, "Accelerators of one scale-up domain")->check(count);
  c->add_option("--nic-bandwidth", o->nic_bandwidth, "Between nodes, per accelerator, one direction: 50GB/s, 400Gb/s");
  c->add_option("--net-latency", o->net_latency, "One hop between nodes, software included: 5us");
  c->add_option("--fabric", o->fabric, "The network between nodes, for its hop: infiniband, roce, efa, efa-4x100");
  c->add_option("--oversubscription", o->oversubscription, "Of the outermost tier: 7 for 7:1")
      ->check(CLI::Range(1.0, 1e6));
  c->add_option("--concurrent", o->concurrent, "So many groups use the same NICs at once, such as 8 for one NIC a node")
      ->check(CLI::Range(1, 1000000));
  c->add_option("--algorithm", o->algorithm,
                "Force one: ring, tree/ll128, or tree@0.9, which reaches 0.9 of its bandwidth");
  c->add_option("--protocol", o->protocol, "Force ll, ll128 or simple, alone or with --algorithm");
  c->add_option("--sweep", o->sweep, "Sizes from..to, doubling: 8B..8GB");
  c->add_option("--time", o->time, "A measured time, to see its algbw and busbw");
  c->add_option("--tie", o->tie, "The size at which two algorithms take equally long: ring,tree or ring,tree@0.9");
  c->add_option(
      "--sizes", o->sizes,
      "all-to-all, grouped-p2p: what the busiest rank sends to each member, its own part first: 0B,4MB,1MB,2MB");
  c->add_option("--peers", o->peers, "grouped-p2p: members that a rank sends --bytes to (all others)")->check(count);
  c->add_option("--bandwidth", o->bandwidth, "Instead of --hw: bandwidth of a rank's link, one direction");
  c->add_option("--alpha", o->alpha, "With --bandwidth: start-up of a message");
  c->add_option("--inner-bandwidth", o->inner_bandwidth, "With --bandwidth: inside a node of --per-node ranks");
  c->add_option("--inner-alpha", o->inner_alpha, "With --inner-bandwidth: start-up inside a node");
  c->add_flag("--in-network", o->in_network,
              "The switches reduce: between nodes with --hw (SHARP), the one switch with --bandwidth");
  c->add_option("--torus", o->torus, "With --bandwidth (of one link): axis lengths, such as 4x4x8");
  c->add_flag("--no-wrap", o->open, "With --torus: the axes are lines");
  c->add_flag("--one-way", o->one_way, "With --torus: only one direction of the links is used");
  c->add_option("--tokens", o->routing.tokens, "expert-exchange: tokens of one rank")->check(CLI::Range(1.0, 1e12));
  c->add_option("--top-k", o->routing.top_k, "expert-exchange: experts of a token")->check(CLI::Range(1.0, 1e6));
  c->add_option("--node-limit", o->routing.node_limit, "expert-exchange: most nodes a token goes to")
      ->check(CLI::Range(1.0, 1e6));
  c->add_option("--remote-nodes", o->routing.remote_nodes, "expert-exchange: nodes besides its own, where known")
      ->check(CLI::Range(0.0, 1e6));
  c->add_option("--imbalance", o->routing.imbalance, "expert-exchange: load of the busiest rank over the mean")
      ->check(CLI::Range(1.0, 1e6));
  c->add_option("--capacity-factor", o->capacity,
                "expert-exchange: tokens an expert takes over the mean, to see how many are dropped under --imbalance")
      ->check(CLI::Range(0.001, 1e6));
  c->add_flag("--each-expert", o->each_expert, "expert-exchange: a copy for every expert, also of the same rank");
  for (const char* name : {"--stride", "--placement", "--net-latency", "--fabric", "--protocol", "--sizes", "--peers", "--inner-bandwidth",
                           "--inner-alpha", "--no-wrap", "--one-way", "--remote-nodes", "--capacity-factor", "--each-expert", "--concurrent",
                           "--oversubscription", "--per-node", "--node-limit", "--in-network"})
    seldom(c->get_option(name));
  c->add_flag("--explain", o->explain, "Unfold the arithmetic");
  add_format(*c, o->format);
  c->footer(
      "Examples:\n"
      "  napkin collective all-reduce --bytes 1GB --gpus 1024 --hw h100\n"
      "  napkin collective all-gather --bytes 1GB --gpus 8 --hw h100 --placement spread\n"
      "  napkin collective all-to-all --sizes 0B,4MB,1MB,2MB --gpus 4 --hw h100 --stride 8\n"
      "  napkin collective expert-exchange --bytes 7168B --tokens 4096 --top-k 8 --gpus 64 --hw h100\n"
      "  napkin collective all-gather --gpus 8 --hw b200 --sweep 1kB..1GB --format csv");
  c->callback([c, o] { answer(*c, *o); });
}

}  // namespace napkin::cli
