#include "cli/collective_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/option_value.hpp"
#include "cli/spelling.hpp"
#include "hardware/hardware_input.hpp"
#include "hardware/tuning_input.hpp"
#include "model/collective/placement.hpp"
#include "model/collective/slice.hpp"
#include "model/input/number_input.hpp"

namespace napkin::cli {

namespace {

constexpr double most_ranks = 100'000'000;

template <class Q>
Constant<Q> given(Q v, const char* option) {
  return {.value = v, .place = option, .source = nullptr};
}
BytesPerSecond bandwidth(const char* option, const std::string& text) {
  const auto b = option_value(option, text, read_bandwidth);
  if (!(b > BytesPerSecond())) throw InputError(fmt::format("{}: \"{}\" is not above zero", option, text));
  return b;
}

std::vector<int> axes(const std::string& text) {
  std::vector<int> out;
  double ranks = 1;
  std::size_t from = 0;
  while (from <= text.size()) {
    const auto to = std::min(text.find('x', from), text.size());
    const double v = option_value("--torus", text.substr(from, to - from), parse_number);
    ranks *= v;
    if (!(v >= 1) || ranks > most_ranks || v != static_cast<int>(v))
      throw InputError("--torus: \"" + text + "\": write axis lengths, such as 4x4x8, of at most 100,000,000 in all");
    out.push_back(static_cast<int>(v));
    from = to + 1;
  }
  if (out.size() > 4) throw InputError("--torus: a torus of more than 4 axes is not known");
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
Network textbook_network(const CollectiveOptions& o) {
  const BytesPerSecond b = bandwidth("--bandwidth", o.bandwidth);
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
    Tier inner = ideal("node", bandwidth("--inner-bandwidth", o.inner_bandwidth), "--inner-bandwidth", inner_alpha,
                       "--inner-alpha");
    inner.size = o.per_node;
    n.node_size = o.per_node;
    n.tiers.push_back(std::move(inner));
  }
  n.tiers.push_back(std::move(outer));
  return n;
}

Constant<Seconds> fabric_hop(const std::string& name) {
  std::string list;
  for (const Fabric& f : known_fabrics()) {
    if (f.name == name) return f.hop;
    list += (list.empty() ? "" : ", ") + f.name;
  }
  throw InputError(fmt::format("--fabric: \"{}\" is not known; write one of {}, or --net-latency", name, list));
}

Network machine_network(const CollectiveOptions& o, Hardware h) {
  Network n = std::move(h.network);
  Tier& domain = n.tiers[0];
  if (o.per_node > 0) {
    if (!domain.dims.empty()) throw InputError("--per-node: a torus has no nodes that ranks could share; leave it out");
    if (n.tiers.size() > 1 && n.tiers[1].size != 0 && o.per_node >= n.tiers[1].size)
      throw InputError(
          fmt::format("--per-node: {} accelerators in a {} domain are no fewer than the {} of the {} tier "
                      "around it",
                      o.per_node, domain.name, n.tiers[1].size, n.tiers[1].name));
    domain.size = o.per_node;
  }
  const bool outer = !o.nic_bandwidth.empty() || !o.net_latency.empty() || !o.fabric.empty() || o.oversubscription > 0;
  if (outer && n.tiers.size() < 2)
    throw InputError(h.accelerator.name + " has one tier of network; there is nothing between nodes to change");
  if (!o.net_latency.empty() && !o.fabric.empty())
    throw InputError("--net-latency and --fabric both set the hop between nodes; write one");
  for (std::size_t t = 1; t < n.tiers.size(); ++t) {
    if (n.tiers[t].topology == Tier::Topology::host) continue;  // inside the node
    if (!o.nic_bandwidth.empty())
      n.tiers[t].bandwidth = given(bandwidth("--nic-bandwidth", o.nic_bandwidth), "--nic-bandwidth");
    if (!o.net_latency.empty())
      n.tiers[t].latency = given(option_value("--net-latency", o.net_latency, parse_seconds), "--net-latency");
    if (!o.fabric.empty()) n.tiers[t].latency = fabric_hop(o.fabric);
  }
  if (o.in_network) {
    if (!n.tuning || n.tiers.size() < 2)
      throw InputError("--in-network: no library that reduces in the switches between nodes is known for " +
                       h.accelerator.name);
    for (std::size_t t = 1; t < n.tiers.size(); ++t)
      n.tiers[t].in_network_reduction = n.tiers[t].topology != Tier::Topology::host;
  }
  if (o.oversubscription > 0) n.tiers.back().oversubscription = given(Scalar(o.oversubscription), "--oversubscription");
  return n;
}

// The most members a domain can hold so that all domains hold as many.
long long even_share(long long ranks, long long domain) {
  while (ranks % domain != 0) --domain;
  return domain;
}

// Groups that use the same links at once each get an equal part: of the NICs, or of the only links there are.
void share_links(Network& n, int groups) {
  for (std::size_t t = n.tiers.size() > 1 ? 1 : 0; t < n.tiers.size(); ++t)
    n.tiers[t].bandwidth.value = n.tiers[t].bandwidth.value / static_cast<double>(groups);
}

}  // namespace

Machine collective_machine(const CollectiveOptions& o) {
  if (!o.bandwidth.empty() && !o.hardware.empty())
    throw InputError("--hw and --bandwidth exclude each other: a machine, or links of your own");
  if (o.bandwidth.empty() && o.hardware.empty())
    throw InputError("no links: write --hw NAME, or --bandwidth and --alpha");
  Machine m{{}, "links as given", {}};
  if (o.hardware.empty()) {
    m.network = textbook_network(o);
  } else {
    Hardware h = read_hardware(o.hardware);
    m.name = h.accelerator.title;
    const auto& torus = h.network.tiers[0].dims;
    if (!torus.empty()) h.network = slice_for(h.network, static_cast<long long>(o.ranks) * o.stride);
    m.network = machine_network(o, std::move(h));
  }
  const Group group{o.ranks, o.stride};
  const bool inside = place(m.network, group).one_node();
  if (inside && m.network.tiers.size() > 1) {
    const auto idle = [&](const char* option, bool given_) {
      if (given_)
        throw InputError(fmt::format("{} has no effect: the {} ranks lie in one {} domain", option, o.ranks,
                                     m.network.tiers[0].name));
    };
    idle("--nic-bandwidth", !o.nic_bandwidth.empty());
    idle("--net-latency", !o.net_latency.empty());
    idle("--fabric", !o.fabric.empty());
    idle("--oversubscription", o.oversubscription > 0);
    idle("--concurrent", o.concurrent > 1);
    idle("--in-network", o.in_network);
  }
  if (o.concurrent > 1) {
    share_links(m.network, o.concurrent);
    m.notes.push_back(fmt::format("{} groups use the {} at once: each has an equal part", o.concurrent,
                                  m.network.tiers.size() > 1 ? "links between nodes" : "links"));
  } else if (!inside) {
    m.notes.emplace_back("groups of the same shape run at the same time, each member with its own share of the NICs");
  }
  const long long domain = m.network.tiers[0].size, span = (o.ranks - 1LL) * o.stride + 1;
  const bool torus = !m.network.tiers[0].dims.empty();
  if (!torus && domain > 0 && span < domain && domain % span != 0)
    m.notes.push_back(fmt::format(
        "{} is no multiple of {}: groups are taken to lie within a domain, the rest stays idle", domain, span));
  if (!torus && domain > 0 && span > domain && o.stride == 1 && o.ranks % domain != 0)
    m.notes.push_back(
        fmt::format("the last domain holds {} of {} members: it bounds what crosses between domains; "
                    "--per-node {} spreads them evenly",
                    o.ranks % domain, domain, even_share(o.ranks, domain)));
  return m;
}

void place_members(CollectiveOptions& o) {
  if (o.placement.empty() || o.placement == "packed") return;
  if (o.placement != "spread")
    throw InputError("--placement: \"" + o.placement + "\" is not known; write packed or spread");
  if (o.hardware.empty() && o.inner_bandwidth.empty())
    throw InputError("--placement spread needs nodes: --hw, or --inner-bandwidth and --per-node");
  o.stride = o.per_node;
  if (o.stride > 0) return;
  const Tier domain = read_hardware(o.hardware).network.tiers.at(0);
  if (!domain.dims.empty()) throw InputError("--placement: a torus has no nodes that ranks could share; leave it out");
  o.stride = std::max(1LL, domain.size);
}

void refuse_idle_options(const CLI::App& command, const CollectiveOptions& o) {
  const auto refuse = [&](std::initializer_list<const char*> options, const std::string& because) {
    for (const char* option : options)
      if (command.count(option) > 0) throw InputError(fmt::format("{} has no effect {}", option, because));
  };
  const bool exchange = o.operation == "expert-exchange";
  const bool ragged = o.operation == "grouped-p2p" || !o.sizes.empty();
  if (!o.hardware.empty())
    refuse({"--alpha", "--inner-bandwidth", "--inner-alpha", "--torus", "--no-wrap", "--one-way"},
           "with --hw, which brings its own links");
  else
    refuse({"--nic-bandwidth", "--net-latency", "--fabric", "--oversubscription"},
           "without --hw: write the links themselves, --bandwidth and --alpha");
  if (!o.placement.empty()) refuse({"--stride"}, "beside --placement, which sets it");
  if (o.torus.empty()) refuse({"--no-wrap", "--one-way"}, "without --torus");
  if (!o.torus.empty()) refuse({"--in-network"}, "on a torus, which has no switch");
  if (o.inner_bandwidth.empty()) refuse({"--inner-alpha"}, "without --inner-bandwidth");
  if (o.inner_bandwidth.empty() && o.hardware.empty())
    refuse({"--per-node"}, "without --inner-bandwidth: all links are alike");
  if (!exchange)
    refuse(
        {"--tokens", "--top-k", "--node-limit", "--remote-nodes", "--imbalance", "--each-expert", "--capacity-factor"},
        "on " + o.operation + "; it belongs to expert-exchange");
  if (exchange || ragged)
    refuse({"--algorithm", "--protocol", "--sweep", "--time", "--tie"},
           "on " + std::string(exchange ? o.operation : "transfers of unequal sizes") + ", which has one way to run");
  if (exchange) {
    refuse({"--sizes"}, "on expert-exchange; its sizes follow from --tokens and --top-k");
    if (o.routing.remote_nodes >= 0) refuse({"--node-limit"}, "beside --remote-nodes, which says how many");
  }
  if (o.operation != "all-reduce") refuse({"--in-network"}, "on " + o.operation + "; switches reduce an all-reduce");
  if (o.operation != "grouped-p2p") refuse({"--peers"}, "on " + o.operation + "; it belongs to grouped-p2p");
  if (!o.sizes.empty()) {
    if (o.operation != "all-to-all" && o.operation != "grouped-p2p")
      refuse({"--sizes"}, "on " + o.operation + "; all-to-all and grouped-p2p have unequal sizes");
    refuse({"--bytes", "--peers"}, "beside --sizes, which say what each member gets");
  }
  if (!o.sweep.empty())
    refuse({"--bytes", "--time", "--tie", "--explain"}, "beside --sweep; ask for one size with --bytes");
  if (o.capacity > 0 && !(o.routing.imbalance >= 1)) refuse({"--capacity-factor"}, "without --imbalance");
}

}  // namespace napkin::cli
