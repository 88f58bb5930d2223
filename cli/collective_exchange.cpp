// Answers of napkin collective that have no candidates: the exchange of experts, and transfers of unequal sizes.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <tuple>

#include "cli/collective_options.hpp"
#include "cli/explain.hpp"
#include "cli/option_value.hpp"
#include "model/collective/direct.hpp"
#include "model/collective/placement.hpp"
#include "model/input/number_input.hpp"
#include "model/text.hpp"

namespace napkin::cli {

namespace {

const std::string convention = "convention: bytes of the busiest rank; bandwidth of one direction, GB = 1e9 B";

using Figures = std::vector<std::tuple<std::string, double, std::string>>;

template <Dim D>
std::tuple<std::string, double, std::string> figure(const char* key, Quantity<D, Plain> v) {
  return {key, v.si(), format(v)};
}
std::tuple<std::string, double, std::string> figure(const char* key, double v) {
  return {key, v, fmt::format("{:.4g}", v)};
}

std::string render_figures(const CollectiveOptions& o, std::string title, const Figures& figures,
                           std::vector<std::string> notes, const Node* why) {
  if (o.format == OutputFormat::json) {
    nlohmann::ordered_json j;
    for (const auto& [key, v, text] : figures) j[key] = v;
    j["notes"] = notes;
    j["counting"] = nlohmann::ordered_json::array({convention});
    if (o.explain) j["derivation"] = explain_json(why);
    return j.dump(2) + "\n";
  }
  Table t;
  t.title = std::move(title);
  t.columns = {{"figure", false}, {"value"}};
  for (const auto& [key, v, text] : figures)
    t.rows.push_back({key, o.format == OutputFormat::csv ? fmt::format("{:.9g}", v) : text});
  t.notes = std::move(notes);
  t.notes.push_back(convention);
  std::string out = render(t, o.format);
  if (o.explain && o.format != OutputFormat::csv) out += "\n" + explain(why);
  return out;
}

// "4MB,1MB,0B": what the busiest rank sends to each member, its own part first.
std::vector<double> listed_sizes(const CollectiveOptions& o) {
  std::vector<double> sizes;
  for (std::size_t from = 0; from <= o.sizes.size();) {
    const auto to = std::min(o.sizes.find(',', from), o.sizes.size());
    sizes.push_back(option_value("--sizes", o.sizes.substr(from, to - from), parse_bytes).si());
    from = to + 1;
  }
  if (sizes.size() != static_cast<std::size_t>(o.ranks))
    throw InputError(
        fmt::format("--sizes: {} sizes for {} ranks; write one for each, the rank's own part first (0B "
                    "where it sends nothing)",
                    sizes.size(), o.ranks));
  return sizes;
}

}  // namespace

std::string expert_exchange_report(const CollectiveOptions& o) {
  if (o.bytes.empty()) throw InputError("--bytes: write the bytes of one token, such as 7168B");
  if (o.routing.tokens <= 0) throw InputError("--tokens: write how many tokens a rank holds, such as 4096");
  if (o.routing.top_k < 1) throw InputError("--top-k: write how many experts a token goes to, such as 8");
  const Machine m = collective_machine(o);
  Routing r = o.routing;
  r.once_per_rank = !o.each_expert;
  const Bytes token = option_value("--bytes", o.bytes, parse_bytes);
  const Group group{o.ranks, o.stride};
  const auto c = expert_exchange_cost(Scope<Plain>(), m.network, group, r, token);
  if (r.remote_nodes > std::max(0.0, c.nodes - 1))
    throw InputError(fmt::format("--remote-nodes: {} nodes besides its own, of {} nodes in all", r.remote_nodes,
                                 format_count(std::max(1.0, c.nodes))));
  Figures f{figure("bytes_across", c.bytes_across),
            figure("bytes_inside", c.bytes_inside),
            figure("across_s", c.across),
            figure("inside_s", c.inside),
            figure("time_s", c.time),
            figure("expected_nodes", distinct_places(c.nodes, r.top_k)),
            figure("expected_ranks", distinct_places(o.ranks, r.top_k)),
            figure("remote_nodes", c.remote_nodes),
            figure("busiest_over_mean", r.imbalance)};
  if (o.capacity > 0) {
    if (r.imbalance > 2)
      throw InputError("--capacity-factor: loads spread evenly about the mean reach at most twice it");
    f.push_back(figure("dropped_share", dropped_share(r.imbalance, o.capacity)));
  }
  const bool torus = !m.network.tiers[0].dims.empty();
  if (torus && (r.node_limit > 0 || r.remote_nodes >= 0))
    throw InputError(fmt::format("{} has no effect on a torus, which has no nodes",
                                 r.node_limit > 0 ? "--node-limit" : "--remote-nodes"));
  std::vector<std::string> notes{
      torus ? "copies travel over the links of the torus as an all-to-all"
            : "a token crosses to a node once and is forwarded inside; the slower of both counts (pipelined)"};
  notes.insert(notes.end(), m.notes.begin(), m.notes.end());
  Derivation d;
  const Node* why = nullptr;
  if (o.explain) {
    const Scope<Traced> scope(d);
    why = expert_exchange_cost(scope, m.network, group, r, scope.input("token", token, "--bytes")).time.why();
  }
  return render_figures(
      o,
      fmt::format("expert exchange over {} ranks of {}: bytes that one rank sends, and the time of one "
                  "exchange",
                  format_count(o.ranks), m.name),
      f, notes, why);
}

std::string ragged_report(const CollectiveOptions& o) {
  const Machine m = collective_machine(o);
  std::vector<double> sizes;
  if (!o.sizes.empty()) {
    sizes = listed_sizes(o);
  } else {
    if (o.bytes.empty()) throw InputError("--bytes: write the size of one message, or --sizes for one to each member");
    const int peers = o.peers > 0 ? o.peers : o.ranks - 1;
    if (peers > o.ranks - 1)
      throw InputError(
          fmt::format("--peers: {} peers in a group of {} ranks; a rank has {}", peers, o.ranks, o.ranks - 1));
    sizes.assign(static_cast<std::size_t>(o.ranks), 0);
    std::fill_n(sizes.begin() + (o.ranks > 1 ? 1 : 0), peers, option_value("--bytes", o.bytes, parse_bytes).si());
  }
  const Group group{o.ranks, o.stride};
  const auto r = ragged_cost(Scope<Plain>(), m.network, group, sizes);
  const Figures f{figure("peers", r.peers),
                  figure("sent_bytes", r.sent),
                  figure("bytes_inside", r.inside),
                  figure("bytes_across", r.across),
                  figure("latency_s", r.cost.latency),
                  figure("bandwidth_s", r.cost.bandwidth),
                  figure("time_s", r.cost.time),
                  figure("algbw_bytes_per_s", r.cost.time > Seconds() ? r.sent / r.cost.time : BytesPerSecond())};
  Derivation d;
  const Node* why = nullptr;
  if (o.explain) why = ragged_cost(Scope<Traced>(d), m.network, group, sizes).cost.time.why();
  std::vector<std::string> notes{"the rank that sends (or receives) most sets the time; peers follow it in rank order"};
  notes.insert(notes.end(), m.notes.begin(), m.notes.end());
  return render_figures(o, fmt::format("{} over {} ranks of {}", o.operation, format_count(o.ranks), m.name), f, notes,
                        why);
}

}  // namespace napkin::cli
