// napkin collective: one collective, all ways to run it side by side.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "cli/collective_report.hpp"
#include "cli/command.hpp"
#include "cli/option_value.hpp"
#include "cli/table.hpp"
#include "hardware/hardware_input.hpp"
#include "model/collective/expert_exchange.hpp"
#include "model/collective/slice.hpp"
#include "model/input/number_input.hpp"
#include "model/input_error.hpp"
#include "model/text.hpp"

namespace napkin::cli {

namespace {

struct Options {
  std::string operation, bytes, hardware, sweep, algorithm, protocol, time, tie;
  std::string alpha, bandwidth, inner_alpha, inner_bandwidth, torus, nic_bandwidth, net_latency;
  Routing routing;
  bool each_expert = false;
  int ranks = 0, per_node = 0;
  long long stride = 1;
  double oversubscription = 0;
  bool explain = false, in_network = false, open = false, one_way = false;
  OutputFormat format = OutputFormat::table;
};

template <class Enum>
Enum named(const char* what, const std::string& text, int count) {
  std::string known;
  for (int i = 0; i < count; ++i) {
    const auto e = static_cast<Enum>(i);
    if (to_string(e) == text) return e;
    known += (known.empty() ? "" : ", ") + std::string(to_string(e));
  }
  throw InputError(fmt::format("\"{}\" is not {}; write one of {}", text, what, known));
}
Operation operation(const std::string& text) {
  return named<Operation>("a collective", text, 7);
}
Method method(const std::string& text, const std::string& protocol) {
  const auto slash = text.find('/');
  const std::string p = slash == text.npos ? protocol : text.substr(slash + 1);
  return {named<Algorithm>("an algorithm", text.substr(0, slash), 15),
          p.empty() ? Protocol::simple : named<Protocol>("a protocol", p, static_cast<int>(protocol_count))};
}

template <class Q>
Constant<Q> given(Q v, const char* option) {
  return {.value = v, .place = option, .source = nullptr};
}

std::vector<int> axes(const std::string& text) {
  std::vector<int> out;
  std::size_t from = 0;
  while (from <= text.size()) {
    const auto to = std::min(text.find('x', from), text.size());
    const double v = option_value("--torus", text.substr(from, to - from), parse_number);
    if (v < 1 || v != static_cast<int>(v)) throw InputError("--torus: write axis lengths, such as 4x4x8");
    out.push_back(static_cast<int>(v));
    from = to + 1;
  }
  return out;
}

// A tier that reaches its nominal bandwidth.
Tier ideal(std::string name, BytesPerSecond b, const char* b_option, Seconds a, const char* a_option) {
  Tier t;
  t.name = std::move(name);
  t.bandwidth = given(b, b_option);
  t.efficiency = given(Scalar(1), "ideal");
  t.latency = given(a, a_option);
  return t;
}

// A network of nothing but α and B, as textbooks and interviews have it.
Network textbook_network(const Options& o) {
  const BytesPerSecond b = option_value("--bandwidth", o.bandwidth, parse_bandwidth);
  const Seconds a = o.alpha.empty() ? Seconds() : option_value("--alpha", o.alpha, parse_seconds);
  Tier outer = ideal("link", b, "--bandwidth", a, "--alpha");
  outer.in_network_reduction = o.in_network;
  Network n;
  if (!o.torus.empty()) {
    outer.topology = Tier::Topology::torus;
    outer.dims = axes(o.torus);
    outer.wraps.assign(outer.dims.size(), !o.open);
    outer.bidirectional = !o.one_way;
    outer.size = 1;
    for (const int d : outer.dims) outer.size *= d;
    // --bandwidth is of one link, one direction; a chip has two per axis.
    outer.bandwidth.value = 2.0 * static_cast<double>(outer.dims.size()) * b;
  }
  if (!o.inner_bandwidth.empty()) {
    if (o.per_node < 1) throw InputError("--inner-bandwidth needs --per-node: how many ranks share a node");
    const Seconds inner_alpha = o.inner_alpha.empty() ? a : option_value("--inner-alpha", o.inner_alpha, parse_seconds);
    Tier inner = ideal("node", option_value("--inner-bandwidth", o.inner_bandwidth, parse_bandwidth),
                       "--inner-bandwidth", inner_alpha, "--inner-alpha");
    inner.size = o.per_node;
    n.node_size = o.per_node;
    n.tiers.push_back(std::move(inner));
  }
  n.tiers.push_back(std::move(outer));
  return n;
}

Network machine_network(const Options& o, Hardware h) {
  Network n = std::move(h.network);
  if (o.per_node > 0) n.tiers[0].size = o.per_node;
  for (std::size_t t = 1; t < n.tiers.size(); ++t) {
    if (!o.nic_bandwidth.empty())
      n.tiers[t].bandwidth =
          given(option_value("--nic-bandwidth", o.nic_bandwidth, parse_bandwidth), "--nic-bandwidth");
    if (!o.net_latency.empty())
      n.tiers[t].latency = given(option_value("--net-latency", o.net_latency, parse_seconds), "--net-latency");
  }
  if (o.oversubscription > 0) {
    if (o.oversubscription < 1) throw InputError("--oversubscription is a ratio of at least 1; write 2 for 2:1");
    n.tiers.back().oversubscription = given(Scalar(o.oversubscription), "--oversubscription");
  }
  return n;
}

std::vector<Bytes> sweep(const std::string& text) {
  const auto dots = text.find("..");
  if (dots == text.npos) throw InputError("--sweep: \"" + text + "\" is not a range; write 8B..8GB");
  const Bytes from = option_value("--sweep", text.substr(0, dots), parse_bytes);
  const Bytes to = option_value("--sweep", text.substr(dots + 2), parse_bytes);
  if (!(from > Bytes()) || to < from) throw InputError("--sweep goes from a size above zero up to a larger one");
  std::vector<Bytes> out;
  for (Bytes b = from; b < to; b = 2 * b) out.push_back(b);
  out.push_back(to);
  return out;
}

struct Machine {
  Network network;
  std::string name;
};
Machine machine(const Options& o) {
  if (o.ranks < 1) throw InputError("--gpus: write how many ranks take part, at least 1");
  if (!o.bandwidth.empty() && !o.hardware.empty())
    throw InputError("--hw and --bandwidth exclude each other: a machine, or links of your own");
  if (o.bandwidth.empty() && o.hardware.empty())
    throw InputError("no links: write --hw NAME, or --bandwidth and --alpha");
  if (o.hardware.empty()) return {textbook_network(o), "links as given"};
  Hardware h = read_hardware(o.hardware);
  std::string title = h.accelerator.title;
  h.network = slice_for(h.network, o.ranks * o.stride);
  return {machine_network(o, std::move(h)), std::move(title)};
}

CollectiveQuestion question(const Options& o) {
  CollectiveQuestion q;
  q.operation = operation(o.operation);
  q.group = {o.ranks, o.stride};
  Machine m = machine(o);
  q.network = std::move(m.network);
  q.machine = std::move(m.name);
  if (!o.sweep.empty()) q.sweep = sweep(o.sweep);
  if (o.bytes.empty() && q.sweep.empty()) throw InputError("--bytes: write the size of the buffer, such as 1GB");
  if (!o.bytes.empty()) q.bytes = option_value("--bytes", o.bytes, parse_bytes);
  if (!o.algorithm.empty()) q.method = method(o.algorithm, o.protocol);
  if (!o.time.empty()) q.measured = option_value("--time", o.time, parse_seconds);
  if (!o.tie.empty()) {
    const auto comma = o.tie.find(',');
    if (comma == o.tie.npos) throw InputError("--tie: write two algorithms, such as ring,tree");
    q.tie = {method(o.tie.substr(0, comma), ""), method(o.tie.substr(comma + 1), "")};
  }
  q.explain = o.explain;
  return q;
}

// Dispatch or combine of expert parallelism: --bytes is what one token takes.
std::string expert_exchange(const Options& o) {
  if (o.bytes.empty()) throw InputError("--bytes: write the bytes of one token, such as 7168B");
  const Machine m = machine(o);
  Routing r = o.routing;
  r.once_per_rank = !o.each_expert;
  const auto c = expert_exchange_cost(Scope<Plain>(), m.network, {o.ranks, o.stride}, r,
                                      option_value("--bytes", o.bytes, parse_bytes));
  const std::vector<std::tuple<std::string, double, std::string>> figures{
      {"bytes_across", c.bytes_across.si(), format(c.bytes_across)},
      {"bytes_inside", c.bytes_inside.si(), format(c.bytes_inside)},
      {"across_s", c.across.si(), format(c.across)},
      {"inside_s", c.inside.si(), format(c.inside)},
      {"time_s", c.time.si(), format(c.time)},
      {"expected_nodes", distinct_places(c.nodes, r.top_k), fmt::format("{:.4g}", distinct_places(c.nodes, r.top_k))},
      {"expected_ranks", distinct_places(o.ranks, r.top_k), fmt::format("{:.4g}", distinct_places(o.ranks, r.top_k))},
      {"remote_nodes", c.remote_nodes, fmt::format("{:.4g}", c.remote_nodes)}};
  if (o.format == OutputFormat::json) {
    nlohmann::ordered_json j;
    for (const auto& [key, v, text] : figures) j[key] = v;
    return j.dump(2) + "\n";
  }
  Table t;
  t.title = fmt::format("expert exchange over {} ranks of {}: bytes that one rank sends, and the time of one exchange",
                        o.ranks, m.name);
  t.columns = {{"figure", false}, {"value"}};
  for (const auto& [key, v, text] : figures) t.rows.push_back({key, text});
  t.notes = {"a token crosses to a node once and is forwarded inside; the slower of both counts (pipelined)"};
  return render(t, o.format);
}

}  // namespace

void add_collective(CLI::App& app, Session&) {
  CLI::App* c = app.add_subcommand("collective", "What a collective takes, by every algorithm that could run it");
  const auto o = std::make_shared<Options>();
  c->add_option("OPERATION", o->operation,
                "all-reduce, all-gather, reduce-scatter, all-to-all, broadcast, reduce, send-recv or expert-exchange")
      ->required();
  c->add_option("--bytes", o->bytes, "The whole buffer, as nccl-tests counts: 1GB, 64MiB");
  c->add_option("--gpus,--ranks", o->ranks, "Ranks of the group")->required()->check(CLI::Range(1, 100000000));
  c->add_option("--stride", o->stride, "Accelerators from one member to the next: 8 leaves one member per 8-GPU node")->check(CLI::Range(1LL, 100000000LL));
  c->add_option("--hw", o->hardware, "The machine: a catalog name or a file");
  c->add_option("--per-node", o->per_node, "Accelerators of one scale-up domain")->check(CLI::Range(1, 100000000));
  c->add_option("--nic-bandwidth", o->nic_bandwidth, "Between nodes, per accelerator, one direction: 50GB/s, 400Gb/s");
  c->add_option("--net-latency", o->net_latency, "One hop between nodes, software included: 5us");
  c->add_option("--oversubscription", o->oversubscription, "Of the outermost tier: 7 for 7:1")->check(CLI::Range(1.0, 1e6));
  c->add_option("--algorithm", o->algorithm, "Force one, such as ring or tree/ll128");
  c->add_option("--protocol", o->protocol, "Of the forced algorithm: ll, ll128 or simple");
  c->add_option("--sweep", o->sweep, "Sizes from..to, doubling: 8B..8GB");
  c->add_option("--time", o->time, "A measured time, to see its algbw and busbw");
  c->add_option("--tie", o->tie, "The size at which two algorithms take equally long: ring,tree");
  c->add_option("--bandwidth", o->bandwidth, "Instead of --hw: bandwidth of a rank's link, one direction");
  c->add_option("--alpha", o->alpha, "With --bandwidth: start-up of a message");
  c->add_option("--inner-bandwidth", o->inner_bandwidth, "With --bandwidth: inside a node of --per-node ranks");
  c->add_option("--inner-alpha", o->inner_alpha, "With --inner-bandwidth: start-up inside a node");
  c->add_flag("--in-network", o->in_network, "With --bandwidth: the switch reduces");
  c->add_option("--torus", o->torus, "With --bandwidth (of one link): axis lengths, such as 4x4x8");
  c->add_flag("--no-wrap", o->open, "With --torus: the axes are lines");
  c->add_flag("--one-way", o->one_way, "With --torus: only one direction of the links is used");
  c->add_option("--tokens", o->routing.tokens, "expert-exchange: tokens of one rank")->check(CLI::Range(1.0, 1e12));
  c->add_option("--top-k", o->routing.top_k, "expert-exchange: experts of a token")->check(CLI::Range(1.0, 1e6));
  c->add_option("--node-limit", o->routing.node_limit, "expert-exchange: most nodes a token goes to")->check(CLI::Range(0.0, 1e6));
  c->add_option("--remote-nodes", o->routing.remote_nodes, "expert-exchange: nodes besides its own, where known")->check(CLI::Range(0.0, 1e6));
  c->add_option("--imbalance", o->routing.imbalance, "expert-exchange: load of the busiest rank over the mean")->check(CLI::Range(1.0, 1e6));
  c->add_flag("--each-expert", o->each_expert, "expert-exchange: a copy for every expert, also of the same rank");
  c->add_flag("--explain", o->explain, "Unfold the arithmetic");
  add_format(*c, o->format);
  c->footer(
      "Examples:\n"
      "  napkin collective all-reduce --bytes 1GB --gpus 1024 --hw h100\n"
      "  napkin collective expert-exchange --bytes 7168B --tokens 4096 --top-k 8 --gpus 64 --hw h100\n"
      "  napkin collective all-gather --gpus 8 --hw b200 --sweep 1kB..1GB --format csv");
  c->callback([o] {
    print(o->operation == "expert-exchange" ? expert_exchange(*o) : collective_report(question(*o), o->format));
  });
}

}  // namespace napkin::cli
