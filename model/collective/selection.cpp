// Which method runs, and what it costs.
#include <array>
#include <string>

#include "model/collective/alpha_beta.hpp"
#include "model/collective/direct.hpp"
#include "model/collective/library.hpp"
#include "model/collective/torus.hpp"
#include "model/input_error.hpp"

namespace napkin {

std::string_view to_string(Operation o) {
  constexpr std::array<std::string_view, 7> names{"all-reduce", "all-gather", "reduce-scatter", "all-to-all",
                                                  "broadcast",  "reduce",     "send-recv"};
  return names[static_cast<std::size_t>(o)];
}
std::string_view to_string(Algorithm a) {
  constexpr std::array<std::string_view, 15> names{"none",         "ring",     "tree",         "recursive-doubling",
                                                   "rabenseifner", "mst",      "pat",          "nvls",
                                                   "nvls-tree",    "collnet",  "hierarchical", "direct",
                                                   "torus",        "one-shot", "two-shot"};
  return names[static_cast<std::size_t>(a)];
}
std::string_view to_string(Protocol p) {
  constexpr std::array<std::string_view, protocol_count> names{"ll", "ll128", "simple"};
  return names[static_cast<std::size_t>(p)];
}

namespace {

bool on_torus(const Network& n) {
  const auto t = n.tiers[0].topology;
  return t == Tier::Topology::torus || t == Tier::Topology::ring;
}
bool custom(Algorithm a) {
  return a == Algorithm::one_shot || a == Algorithm::two_shot;
}

// Whether the method can run: by the library when it has a tuning, else by the textbook.
bool runs(const Network& net, Operation o, const Placement& p, const Links<Plain>& l, Method m) {
  if (on_torus(net)) return m == Method{Algorithm::torus, Protocol::simple};
  const bool spread = o == Operation::all_to_all || o == Operation::send_recv;
  if (!net.tuning)
    return m.protocol == Protocol::simple && alpha_beta_runs(o, p, net.tiers[0].in_network_reduction, m.algorithm);
  if (m.algorithm == Algorithm::direct) return spread && m.protocol == Protocol::simple;
  if (custom(m.algorithm))
    return o == Operation::all_reduce && p.one_node() && net.tuning->one_shot && net.tuning->two_shot &&
           m.protocol == Protocol::simple;
  if (spread) return false;
  const bool protocols = m.algorithm == Algorithm::ring || m.algorithm == Algorithm::tree;
  if (!protocols && m.protocol != Protocol::simple) return false;
  // LL128 stores 128 bytes at once, which only NVLink keeps whole.
  if (m.protocol == Protocol::ll128 && net.tiers[0].topology == Tier::Topology::host) return false;
  if (m.algorithm == Algorithm::collnet && !net.tiers[p.tiers - 1].in_network_reduction) return false;
  return library_estimate(*net.tuning, o, p, l, net.tiers[0].in_network_reduction, m).runs;
}

template <class K>
CollectiveCost<K> torus(const Scope<K>& scope, const Network& net, Operation o, BytesT<K> bytes, const Group& group,
                        const Placement& p, const Links<K>& l) {
  const Tier& tier = net.tiers[0];
  // A chip's bandwidth is the sum over its links, two per axis.
  const double links_per_chip = tier.topology == Tier::Topology::ring ? 2 : 2.0 * static_cast<double>(tier.dims.size());
  const auto link = let("B_ici", l.inner / scope.input("links", links_per_chip));
  if (p.one_node()) return torus_cost(scope, o, bytes, axes_of(tier, group), link, l.inner_hop);
  // Slices: each does its part over its own links, the shards cross between slices in rings of one member each.
  CollectiveCost<K> inside, across;
  const Group slice{static_cast<int>(p.per_node()), group.stride};
  const Placement outer{.ranks = static_cast<int>(p.nodes), .tiers = 2, .members = {1, p.nodes}, .nodes = p.nodes};
  if (slice.size > 1 && o != Operation::send_recv)
    inside = torus_cost(scope, o, bytes, axes_of(tier, slice), link, l.inner_hop);
  Links<K> twins = l;  // one member of each slice
  twins.egress = l.per_member;
  const bool exchange = o == Operation::all_to_all || o == Operation::send_recv;
  const auto shard = exchange ? bytes : BytesT<K>(bytes / scope.input("m", p.per_node()));
  across = alpha_beta_cost(scope, o, shard, outer, twins, exchange ? Algorithm::direct : Algorithm::ring);
  across.latency = inside.latency + across.latency;
  across.bandwidth = inside.bandwidth + across.bandwidth;
  across.time = let("T", across.latency + across.bandwidth);
  across.algorithm = to_string(Algorithm::torus).data();
  return across;
}

template <class K>
CollectiveCost<K> cost(const Scope<K>& scope, const Network& net, Operation o, BytesT<K> bytes, const Group& group,
                       const Placement& p, const Links<K>& l, Method m) {
  if (on_torus(net)) return torus(scope, net, o, bytes, group, p, l);
  if (!net.tuning) return alpha_beta_cost(scope, o, bytes, p, l, m.algorithm);
  if (custom(m.algorithm)) return custom_cost(scope, *net.tuning, bytes, p, l, m.algorithm);
  if (m.algorithm == Algorithm::direct) return direct_cost(scope, *net.tuning, o, bytes, p, l);
  return library_cost(scope, *net.tuning, o, bytes, p, l, m);
}

constexpr std::array<Method, 18> methods{{{Algorithm::ring, Protocol::ll},
                                          {Algorithm::ring, Protocol::ll128},
                                          {Algorithm::ring, Protocol::simple},
                                          {Algorithm::tree, Protocol::ll},
                                          {Algorithm::tree, Protocol::ll128},
                                          {Algorithm::tree, Protocol::simple},
                                          {Algorithm::nvls, Protocol::simple},
                                          {Algorithm::nvls_tree, Protocol::simple},
                                          {Algorithm::collnet, Protocol::simple},
                                          {Algorithm::pat, Protocol::simple},
                                          {Algorithm::direct, Protocol::simple},
                                          {Algorithm::torus, Protocol::simple},
                                          {Algorithm::hierarchical, Protocol::simple},
                                          {Algorithm::recursive_doubling, Protocol::simple},
                                          {Algorithm::rabenseifner, Protocol::simple},
                                          {Algorithm::mst, Protocol::simple},
                                          {Algorithm::one_shot, Protocol::simple},
                                          {Algorithm::two_shot, Protocol::simple}}};

struct Ranked {
  std::array<Candidate, methods.size()> all;
  std::size_t count = 0, best = 0;
};

// The least predicted time wins, among the methods that the library's estimate has not left behind: one is left once
// another with more bandwidth is estimated to be faster. The set only shrinks as bytes grow, so the time never falls.
Ranked rank(const Network& net, Operation o, Bytes bytes, const Group& group, const Placement& p,
            const Links<Plain>& l) {
  Ranked r;
  std::array<Estimate, methods.size()> estimates;
  for (const Method m : methods) {
    if (!runs(net, o, p, l, m)) continue;
    Candidate& c = r.all[r.count];
    c.method = m;
    c.cost = cost(Scope<Plain>(), net, o, bytes, group, p, l, m);
    c.automatic = !custom(m.algorithm);
    if (net.tuning && !on_torus(net))
      estimates[r.count] = library_estimate(*net.tuning, o, p, l, net.tiers[0].in_network_reduction, m);
    c.estimate = Seconds::si(estimates[r.count].time(bytes.si()));
    ++r.count;
  }
  bool found = false;
  for (std::size_t i = 0; i < r.count; ++i) {
    Candidate& c = r.all[i];
    for (std::size_t j = 0; j < r.count; ++j)
      c.left = c.left || (estimates[i].runs && estimates[j].runs && estimates[j].per_byte < estimates[i].per_byte &&
                          estimates[j].time(bytes.si()) < estimates[i].time(bytes.si()));
    if (!c.automatic || c.left) continue;
    if (!found || c.cost.time < r.all[r.best].cost.time) r.best = i;
    found = true;
  }
  if (!found) throw InputError(std::string(to_string(o)) + " cannot run on this network");
  r.all[r.best].chosen = true;
  return r;
}

}  // namespace

template <class K>
CollectiveCost<K> collective_cost(Scope<K> scope, const Network& net, Operation o, BytesT<K> bytes,
                                  const Group& group) {
  const Placement p = place(net, group);
  if (p.ranks == 1) return {};
  const auto plain_links = links(Scope<Plain>(), net, p);
  const Ranked r = rank(net, o, plain(bytes), group, p, plain_links);
  const Candidate& best = r.all[r.best];
  if constexpr (std::is_same_v<K, Plain>) {
    return best.cost;
  } else {
    auto c = cost(scope, net, o, bytes, group, p, links(scope, net, p), best.method);
    c.time = choose(std::string(c.algorithm) + " with protocol " + c.protocol +
                        ": the least time among what the library would still consider",
                    c.time);
    return c;
  }
}

namespace {
[[noreturn]] void refuse(const Network& net, Operation o, Bytes bytes, const Group& group, const Wish& w) {
  std::string can;
  for (const auto& c : candidates(net, o, bytes, group))
    can += (can.empty() ? "" : ", ") + std::string(c.cost.algorithm) + "/" + c.cost.protocol;
  const std::string what = w.algorithm ? std::string(to_string(*w.algorithm)) : "no algorithm";
  throw InputError(what + (w.protocol ? " with protocol " + std::string(to_string(*w.protocol)) : "") +
                   (w.algorithm ? " does not run " : " runs ") + std::string(to_string(o)) + " here; choose one of " +
                   can);
}
}  // namespace

Wished wished_cost(const Network& net, Operation o, Bytes bytes, const Group& group, const Wish& w) {
  Wished best;
  bool found = false;
  const auto all = candidates(net, o, bytes, group);
  for (const Candidate& c : all) {
    if (!w.allows(c.method) || (w.open() && !c.chosen)) continue;
    CollectiveCost<Plain> cost = c.cost;
    cost.bandwidth = cost.bandwidth / w.share;
    if (w.share < 1) cost.time = cost.latency + cost.bandwidth;
    if (!found || cost.time < best.cost.time) best = {c.method, cost};
    found = true;
  }
  if (!found && !all.empty()) refuse(net, o, bytes, group, w);
  return best;
}

template <class K>
CollectiveCost<K> collective_cost(Scope<K> scope, const Network& net, Operation o, BytesT<K> bytes, const Group& group,
                                  Method m) {
  const Placement p = place(net, group);
  if (p.ranks == 1) return {};
  if (!runs(net, o, p, links(Scope<Plain>(), net, p), m))
    refuse(net, o, plain(bytes), group, {.algorithm = m.algorithm, .protocol = m.protocol});
  return cost(scope, net, o, bytes, group, p, links(scope, net, p), m);
}

std::vector<Candidate> candidates(const Network& net, Operation o, Bytes bytes, const Group& group) {
  const Placement p = place(net, group);
  if (p.ranks == 1) return {};
  const Ranked r = rank(net, o, bytes, group, p, links(Scope<Plain>(), net, p));
  return {r.all.begin(), r.all.begin() + static_cast<std::ptrdiff_t>(r.count)};
}

template CollectiveCost<Plain> collective_cost(Scope<Plain>, const Network&, Operation, Bytes, const Group&);
template CollectiveCost<Traced> collective_cost(Scope<Traced>, const Network&, Operation, BytesT<Traced>, const Group&);
template CollectiveCost<Plain> collective_cost(Scope<Plain>, const Network&, Operation, Bytes, const Group&, Method);
template CollectiveCost<Traced> collective_cost(Scope<Traced>, const Network&, Operation, BytesT<Traced>, const Group&,
                                                Method);

}  // namespace napkin
