#include "model/collective/record_input.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>

#include "hardware/hardware_input.hpp"
#include "hardware/tuning_input.hpp"
#include "model/collective/measures.hpp"
#include "model/input_error.hpp"

namespace napkin {

namespace {

const std::map<std::string, Operation, std::less<>> operations{{"all_reduce", Operation::all_reduce},
                                                               {"all_gather", Operation::all_gather},
                                                               {"reduce_scatter", Operation::reduce_scatter},
                                                               {"alltoall", Operation::all_to_all},
                                                               {"all_to_all", Operation::all_to_all},
                                                               {"broadcast", Operation::broadcast},
                                                               {"reduce", Operation::reduce},
                                                               {"send_recv", Operation::send_recv}};

// The catalog's name; a remark in parentheses is not part of what a table writes.
std::optional<std::string> machine(std::string_view text, std::string& reason) {
  static std::map<std::string, std::string, std::less<>> known;  // "" where the catalog has none
  std::string name(text.substr(0, text.find('(')));
  while (!name.empty() && name.back() == ' ') name.pop_back();
  auto at = known.find(name);
  if (at == known.end()) {
    std::string found;
    try {
      found = read_hardware(name).accelerator.name;
    } catch (const InputError&) {
    }
    at = known.emplace(name, std::move(found)).first;
  }
  if (!at->second.empty()) return at->second;
  reason = "hardware \"" + name + "\" is not in the catalog";
  return {};
}
std::optional<Operation> operation(std::string_view name, std::string& reason) {
  if (const auto at = operations.find(name); at != operations.end()) return at->second;
  reason = "\"" + std::string(name) + "\" is no collective";
  return {};
}
bool mentions(std::string_view text, std::string_view word) {
  return text.find(word) != text.npos;
}

// Gb/s of a node: "8x400G" counts NICs, "3200 Gbps/node" says the sum.
double node_gigabits(std::string_view text) {
  const auto number_before = [&](std::size_t end) {
    std::size_t begin = end;
    while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
    double v = 0;
    std::from_chars(text.data() + begin, text.data() + end, v);
    return v;
  };
  if (const auto sum = text.find(" Gbps/node"); sum != text.npos) return number_before(sum);
  for (std::size_t g = text.find('G'); g != text.npos; g = text.find('G', g + 1)) {
    std::size_t begin = g;
    while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
    if (begin == g || begin == 0 || text[begin - 1] != 'x') continue;
    return number_before(begin - 1) * number_before(g);
  }
  return 0;
}
void read_fabric(std::string_view nic, int per_node, CollectiveRecord& r) {
  constexpr double bytes_of_gigabit = 1e9 / 8;
  if (const double g = node_gigabits(nic); g > 0 && per_node > 0)
    r.nic = Bytes::si(g * bytes_of_gigabit / per_node) / second;
  if (mentions(nic, "EFA")) r.fabric = mentions(nic, "EFA 400 Gbps") ? "efa-4x100" : "efa";
  if (mentions(nic, "RoCE")) r.fabric = "roce";
}

std::string text(const Field& f, const char* key) {
  const auto v = f.find(key);
  return v && v->is(Field::Type::string) ? v->string() : std::string();
}

std::optional<CollectiveRecord> published(const Field& f, std::string& reason) {
  const auto o = operation(text(f, "collective"), reason);
  const auto hw = o ? machine(text(f, "hardware"), reason) : std::nullopt;
  if (!hw) return {};
  const auto gpus = f.find("gpus");
  if (!gpus) {
    reason = "the number of ranks is not known";
    return {};
  }
  CollectiveRecord r;
  r.hardware = *hw;
  r.source = text(f, "source");
  r.operation = *o;
  r.ranks = static_cast<int>(gpus->integer(1, 100'000'000));
  r.bytes = Bytes::si(f["bytes"].number());
  if (const auto t = f.find("time_us"))
    r.measured = Seconds::si(t->number() * 1e-6);
  else if (const auto b = f.find("busbw_GBps"); b && b->number() > 0)
    r.measured = bus_factor(r.operation, r.ranks) * r.bytes / (Bytes::si(b->number() * 1e9) / second);
  if (!(r.measured > Seconds())) {
    reason = "neither a time nor a bandwidth above zero";
    return {};
  }
  read_conditions(f, r);
  return r;
}

}  // namespace

void read_conditions(const Field& f, CollectiveRecord& r) {
  const auto nodes = f.find("nodes");
  r.several_nodes = nodes && nodes->number() > 1;
  if (const auto n = f.find("gpus_per_node")) r.per_node = static_cast<int>(n->integer(1, 1'000'000));
  constexpr int usual = 8;
  if (r.several_nodes) read_fabric(text(f, "nic"), r.per_node > 0 ? r.per_node : usual, r);
  r.host_timed = mentions(text(f, "notes"), "torch.distributed");
  if (mentions(text(f, "algo"), "NVLS_ENABLE=0")) r.algorithm = Algorithm::ring;
}

std::optional<CollectiveRecord> read_collective_record(const Field& f, std::string& reason, std::string_view hardware,
                                                       int ranks) {
  if (f.find("collective")) return published(f, reason);
  const auto kind = f.find("kind");
  const auto t = f.find("t_s");
  const auto o = kind && t ? operation(kind->string(), reason) : std::nullopt;
  if (!kind || !t) reason = "no collective: neither \"collective\" nor \"kind\" and \"t_s\"";
  const auto hw = o ? machine(hardware, reason) : std::nullopt;
  if (!hw) return {};
  CollectiveRecord r;
  r.hardware = *hw;
  r.source = "own measurement";
  r.operation = *o;
  r.ranks = ranks;
  r.bytes = Bytes::si(f["bytes"].number());
  r.measured = Seconds::si(t->number());
  r.host_timed = true;
  return r;
}

std::optional<CollectiveRecord> read_collective_row(std::string_view row, bool custom, std::string& reason) {
  std::vector<std::string> c(1);
  for (const char x : row) x == ',' ? (void)c.emplace_back() : c.back().push_back(x);
  if (c.size() < (custom ? 5U : 7U)) {
    reason = "too few columns";
    return {};
  }
  const auto o = custom ? std::optional(Operation::all_reduce) : operation(c[2], reason);
  const auto hw = o ? machine(c[0], reason) : std::nullopt;
  if (!hw) return {};
  const auto number = [](const std::string& s) {
    double v = 0;
    std::from_chars(s.data(), s.data() + s.size(), v);
    return v;
  };
  CollectiveRecord r;
  r.hardware = *hw;
  r.source = custom ? c[1] : "NCCL " + c[1];
  r.operation = *o;
  r.ranks = static_cast<int>(number(c[custom ? 2 : 4]));
  r.bytes = Bytes::si(number(c[custom ? 3 : 5]));
  r.measured = Seconds::si(number(c[custom ? 4 : 6]) * 1e-6);
  r.custom = custom;
  if (r.ranks < 1 || !(r.measured > Seconds())) {
    reason = "no ranks, or no time";
    return {};
  }
  return r;
}

Network& CollectivePredictor::network(const std::string& hardware) {
  const auto at = networks_.find(hardware);
  return at != networks_.end() ? at->second
                               : networks_.emplace(hardware, read_hardware(hardware).network).first->second;
}

Seconds predicted_time(const Network& machine, const CollectiveRecord& r) {
  std::optional<Network> changed;
  if (r.nic || !r.fabric.empty() || (r.per_node > 0 && r.per_node != machine.node_size)) {
    changed = machine;
    if (r.per_node > 0) {
      for (Tier& t : changed->tiers)
        if (t.size == machine.node_size) t.size = r.per_node;
      changed->node_size = r.per_node;
    }
    for (std::size_t t = 1; t < changed->tiers.size(); ++t) {
      if (changed->tiers[t].topology == Tier::Topology::host) continue;
      if (r.nic) changed->tiers[t].bandwidth.value = *r.nic;
      for (const Fabric& f : known_fabrics())
        if (f.name == r.fabric) changed->tiers[t].latency = f.hop;
    }
  }
  const Network& n = changed ? *changed : machine;
  const Group g{r.ranks, 1};
  const auto by = [&](Algorithm a) {
    return wished_cost(n, r.operation, r.bytes, g, {.algorithm = a, .protocol = {}}).cost.time;
  };
  Seconds t;
  if (r.custom)
    t = min(by(Algorithm::one_shot), by(Algorithm::two_shot));
  else if (r.algorithm)
    t = by(*r.algorithm);
  else
    t = collective_cost(Scope<Plain>(), n, r.operation, r.bytes, g).time;
  return r.host_timed ? max(t, framework_call().value) : t;
}

Seconds CollectivePredictor::operator()(const CollectiveRecord& r) { return predicted_time(network(r.hardware), r); }

std::vector<bool> fitted_half(const std::vector<CollectiveRecord>& records) {
  std::set<std::tuple<std::string, Operation, int>> groups;
  for (const auto& r : records) groups.emplace(r.hardware, r.operation, r.ranks);
  std::vector<bool> out;
  out.reserve(records.size());
  for (const auto& r : records)
    out.push_back(std::distance(groups.begin(), groups.find({r.hardware, r.operation, r.ranks})) % 2 == 0);
  return out;
}

}  // namespace napkin
