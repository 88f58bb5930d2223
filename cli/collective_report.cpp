#include "cli/collective_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/explain.hpp"
#include "model/collective/measures.hpp"
#include "model/collective/placement.hpp"
#include "model/text.hpp"

namespace napkin::cli {

namespace {

const std::string convention =
    "convention: bytes of the whole buffer (nccl-tests); algbw = bytes / time, busbw = algbw x what a link carries; bandwidth of one direction, GB = 1e9 B";

using Json = nlohmann::ordered_json;

constexpr Bytes smallest = 8 * byte, largest = 64 * GiB;  // where crossovers are looked for

std::string name(Method m) {
  return fmt::format("{}/{}", to_string(m.algorithm), to_string(m.protocol));
}

// Cells: units for people, bare SI numbers and keys for CSV.
template <Dim D>
std::string cell(OutputFormat f, Quantity<D, Plain> v) {
  return f == OutputFormat::csv ? fmt::format("{:.9g}", v.si()) : format(v);
}
std::vector<Table::Column> heads(OutputFormat f, std::initializer_list<std::pair<const char*, const char*>> names) {
  std::vector<Table::Column> out;
  for (const auto& [words, key] : names) out.push_back({f == OutputFormat::csv ? key : words});
  return out;
}

struct Bandwidths {
  BytesPerSecond alg, bus;
};
Bandwidths bandwidths(const CollectiveQuestion& q, Bytes bytes, Seconds time) {
  if (!(time > Seconds())) return {};
  return {bytes / time, bus_factor(q.operation, q.group.size) * bytes / time};
}

Json cost_json(const CollectiveQuestion& q, Bytes bytes, const CollectiveCost<Plain>& c) {
  const auto b = bandwidths(q, bytes, c.time);
  return {{"algorithm", c.algorithm},       {"protocol", c.protocol},          {"time_s", c.time.si()},
          {"latency_s", c.latency.si()},    {"bandwidth_s", c.bandwidth.si()}, {"algbw_bytes_per_s", b.alg.si()},
          {"busbw_bytes_per_s", b.bus.si()}};
}

Wished answer(const CollectiveQuestion& q, Bytes bytes) {
  return wished_cost(q.network, q.operation, bytes, q.group, q.wish);
}

// "tree", "tree/ll128", "tree@0.9"
std::string name(const Wish& w) {
  std::string s(to_string(*w.algorithm));
  if (w.protocol) s += "/" + std::string(to_string(*w.protocol));
  return w.share < 1 ? fmt::format("{}@{:g}", s, w.share) : s;
}

std::string remark(const CollectiveQuestion& q, const Candidate& c, Method taken) {
  if (!q.wish.open() && taken == c.method) return c.chosen ? "asked for, and the choice" : "asked for";
  if (c.chosen) return "chosen";
  if (!c.automatic) return "on request";
  return c.left ? "left behind by the library" : "";
}

std::string derivation(const CollectiveQuestion& q, Json* json) {
  Derivation d;
  const Scope<Traced> scope(d);
  const auto bytes = scope.input("n", q.bytes, "--bytes");
  if (q.group.size == 1) return {};
  auto c = q.wish.open()
               ? collective_cost(scope, q.network, q.operation, bytes, q.group)
               : collective_cost(scope, q.network, q.operation, bytes, q.group, answer(q, q.bytes).method);
  if (q.wish.share < 1)
    c.time = let("T", c.latency + c.bandwidth / scope.input("share of its bandwidth", q.wish.share, "--algorithm"));
  if (json != nullptr) *json = explain_json(c.time.why());
  return explain(c.time.why());
}

std::string title(const CollectiveQuestion& q) {
  const Placement p = place(q.network, q.group);
  std::string where = p.one_node() ? fmt::format("in one {} domain", q.network.tiers[0].name)
                                   : fmt::format("{} in each of {} domains of {}", format_count(p.per_node()),
                                                 format_count(p.nodes), q.network.tiers[0].name);
  return fmt::format("{} over {} rank{}{} of {}: {}", to_string(q.operation), format_count(q.group.size),
                     q.group.size == 1 ? "" : "s",
                     q.group.stride > 1 ? fmt::format(", one accelerator in {},", q.group.stride) : "", q.machine, where);
}

std::vector<std::string> crossover_notes(const CollectiveQuestion& q, Bytes from, Bytes to) {
  std::vector<std::string> out;
  for (const auto& c : crossovers(q.network, q.operation, q.group, from, to))
    out.push_back(fmt::format("above {}: {} instead of {}", format(c.bytes), name(c.above), name(c.below)));
  return out;
}
Json crossovers_json(const CollectiveQuestion& q, Bytes from, Bytes to) {
  Json rows = Json::array();
  for (const auto& c : crossovers(q.network, q.operation, q.group, from, to))
    rows.push_back({{"bytes", c.bytes.si()}, {"below", name(c.below)}, {"above", name(c.above)}});
  return rows;
}

std::vector<std::string> notes(const CollectiveQuestion& q, Method taken) {
  std::vector<std::string> out;
  const auto sent = format(bytes_sent(q.operation, q.bytes, q.group.size));
  const bool in_switch = q.operation == Operation::all_reduce && q.network.tiers[0].in_network_reduction;
  out.push_back(fmt::format("a rank sends at least {}; no algorithm is faster than {} (nominal links, no latency)",
                            in_switch ? fmt::format("{}, or {} where the switch reduces", sent, format(q.bytes)) : sent,
                            format(lower_bound(q.network, q.operation, q.bytes, q.group))));
  if (q.network.tuning && q.operation != Operation::all_to_all && q.operation != Operation::send_recv)
    out.emplace_back(
        "library: the time by the library's own tuning model; it leaves behind what that model holds slower than "
        "another with more bandwidth, and the least predicted time of the rest is chosen");
  for (auto& text : crossover_notes(q, smallest, largest)) out.push_back(std::move(text));
  if (const auto b = latency_bound_below(q.network, q.operation, q.group, taken, byte, largest))
    out.push_back(fmt::format("{} is bound by latency below {}", name(taken), format(*b)));
  if (q.measured) {
    const auto b = bandwidths(q, q.bytes, *q.measured);
    out.push_back(fmt::format("measured {}: algbw {}, busbw {}, {:.3g} x the prediction", format(*q.measured),
                              format(b.alg), format(b.bus), double(*q.measured / answer(q, q.bytes).cost.time)));
  }
  if (q.tie) {
    const auto at = tie(q.network, q.operation, q.group, q.tie->first, q.tie->second, smallest, largest);
    out.push_back(at ? fmt::format("{} and {} tie at {}", name(q.tie->first), name(q.tie->second), format(*at))
                     : fmt::format("{} and {} do not tie between {} and {}", name(q.tie->first), name(q.tie->second),
                                   format(smallest), format(largest)));
  }
  out.insert(out.end(), q.notes.begin(), q.notes.end());
  return out;
}

std::string one_size_json(const CollectiveQuestion& q) {
  const auto all = candidates(q.network, q.operation, q.bytes, q.group);
  const Placement p = place(q.network, q.group);
  const Wished taken = answer(q, q.bytes);
  Json j{{"operation", to_string(q.operation)},
         {"bytes", q.bytes.si()},
         {"ranks", q.group.size},
         {"stride", q.group.stride},
         {"machine", q.machine},
         {"placement", {{"per_node", p.per_node()}, {"nodes", p.nodes}, {"tiers", p.tiers}}},
         {"chosen", cost_json(q, q.bytes, taken.cost)},
         {"sent_bytes", bytes_sent(q.operation, q.bytes, q.group.size).si()},
         {"sent_bytes_many_ranks", bytes_sent_by_many(q.operation, q.bytes).si()},
         {"lower_bound_s", lower_bound(q.network, q.operation, q.bytes, q.group).si()},
         {"lower_bound_many_ranks_s", lower_bound(q.network, q.operation, q.bytes, q.group, true).si()},
         {"candidates", Json::array()},
         {"crossovers", crossovers_json(q, smallest, largest)}};
  for (const Candidate& c : all) {
    Json row = cost_json(q, q.bytes, c.cost);
    if (q.network.tuning) {
      row["library_estimate_s"] = c.estimate.si();
      row["payload_share"] = q.network.tuning->ring[static_cast<std::size_t>(c.method.protocol)].net_share.value.si();
    }
    row["chosen"] = c.chosen;
    row["left_behind"] = c.left;
    row["on_request"] = !c.automatic;
    j["candidates"].push_back(std::move(row));
  }
  if (const auto b = latency_bound_below(q.network, q.operation, q.group, taken.method, byte, largest))
    j["latency_bound_below_bytes"] = b->si();
  if (q.measured) {
    const auto b = bandwidths(q, q.bytes, *q.measured);
    j["measured"] = {
        {"time_s", q.measured->si()}, {"algbw_bytes_per_s", b.alg.si()}, {"busbw_bytes_per_s", b.bus.si()}};
  }
  if (q.tie)
    if (const auto at = tie(q.network, q.operation, q.group, q.tie->first, q.tie->second, smallest, largest))
      j["tie_bytes"] = at->si();
  j["notes"] = q.notes;
  if (q.explain) {
    Json steps = Json::array();
    (void)derivation(q, &steps);
    j["derivation"] = std::move(steps);
  }
  j["counting"] = Json::array({convention});
  return j.dump(2) + "\n";
}

std::string one_size(const CollectiveQuestion& q, OutputFormat format_) {
  if (format_ == OutputFormat::json) return one_size_json(q);
  const auto all = candidates(q.network, q.operation, q.bytes, q.group);
  const Wished taken = answer(q, q.bytes);
  Table t;
  t.title = fmt::format("{}, {}", title(q), format(q.bytes));
  t.columns = heads(format_, {{"algorithm", "algorithm"},
                              {"protocol", "protocol"},
                              {"time", "time_s"},
                              {"latency", "latency_s"},
                              {"bandwidth", "bandwidth_s"},
                              {"algbw", "algbw_bytes_per_s"},
                              {"busbw", "busbw_bytes_per_s"},
                              {"library", "library_estimate_s"},
                              {"", "remark"}});
  t.columns[0].right = t.columns[1].right = t.columns.back().right = false;
  for (const Candidate& c : all) {
    const auto& cost = taken.method == c.method ? taken.cost : c.cost;
    const auto b = bandwidths(q, q.bytes, cost.time);
    t.rows.push_back({cost.algorithm, cost.protocol, cell(format_, cost.time), cell(format_, cost.latency),
                      cell(format_, cost.bandwidth), cell(format_, b.alg), cell(format_, b.bus),
                      c.estimate > Seconds() ? cell(format_, c.estimate) : "", remark(q, c, taken.method)});
  }
  t.notes = q.group.size > 1 ? notes(q, taken.method) : std::vector<std::string>{"one rank is free"};
  t.notes.push_back(convention);
  std::string out = render(t, format_);
  if (q.explain && format_ != OutputFormat::csv) out += "\n" + derivation(q, nullptr);
  return out;
}

std::string swept(const CollectiveQuestion& q, OutputFormat format_) {
  Json rows = Json::array();
  Table t;
  t.title = title(q);
  t.columns = heads(format_, {{"bytes", "bytes"},
                              {"algorithm", "algorithm"},
                              {"protocol", "protocol"},
                              {"time", "time_s"},
                              {"latency", "latency_s"},
                              {"bandwidth", "bandwidth_s"},
                              {"algbw", "algbw_bytes_per_s"},
                              {"busbw", "busbw_bytes_per_s"},
                              {"bound", "lower_bound_s"}});
  t.columns[1].right = t.columns[2].right = false;
  for (const Bytes bytes : q.sweep) {
    const auto c = answer(q, bytes).cost;
    const auto b = bandwidths(q, bytes, c.time);
    const auto bound = lower_bound(q.network, q.operation, bytes, q.group);
    Json row = cost_json(q, bytes, c);
    row["bytes"] = bytes.si();
    row["lower_bound_s"] = bound.si();
    rows.push_back(std::move(row));
    t.rows.push_back({format_ == OutputFormat::csv ? fmt::format("{}", bytes.si()) : format_count(bytes.si()),
                      c.algorithm, c.protocol, cell(format_, c.time), cell(format_, c.latency),
                      cell(format_, c.bandwidth), cell(format_, b.alg), cell(format_, b.bus), cell(format_, bound)});
  }
  const Bytes from = q.sweep.front(), to = q.sweep.back();
  if (q.wish.open()) t.notes = crossover_notes(q, from, to);
  t.notes.insert(t.notes.end(), q.notes.begin(), q.notes.end());
  t.notes.push_back(convention);
  if (format_ != OutputFormat::json) return render(t, format_);
  return Json{{"operation", to_string(q.operation)},
              {"ranks", q.group.size},
              {"machine", q.machine},
              {"sweep", std::move(rows)},
              {"crossovers", q.wish.open() ? crossovers_json(q, from, to) : Json::array()},
              {"notes", q.notes},
              {"counting", Json::array({convention})}}
             .dump(2) +
         "\n";
}

}  // namespace

std::string collective_report(const CollectiveQuestion& q, OutputFormat format_) {
  return q.sweep.empty() ? one_size(q, format_) : swept(q, format_);
}

}  // namespace napkin::cli
