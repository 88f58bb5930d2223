#include "hardware/hardware_input.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

#include "hardware/tuning_input.hpp"
#include "model/input/embedded.hpp"
#include "model/input/number_input.hpp"

namespace napkin {
namespace {

constexpr std::int64_t schema_version = 1;
constexpr std::size_t max_ancestors = 8;  // "extends" of "extends" …
constexpr std::int64_t max_accelerators = 100'000'000, max_axis = 1'000'000, max_tile = 4096, max_head_dim = 4096;

constexpr std::string_view root_keys[] = {"schema", "name",  "title",   "vendor",  "generation", "aliases",    "extends",
                                          "notes",  "peak",  "memory",  "chip",    "price",      "host",       "kernels",
                                          "network", "measured_on"};

// A file and the catalog files it extends, the file itself first. A leaf group is taken whole from the first that has it.
class Chain {
  std::vector<Document> files_;

 public:
  explicit Chain(const Document& file) : files_{file} {
    while (auto parent = root().find("extends")) {
      const auto name = parent->string();
      const auto text = catalog_text(name);
      if (!text) parent->fail("\"" + name + "\" is not in the catalog; extends names a catalog entry");
      if (files_.size() > max_ancestors) parent->fail("extends itself, or more than 8 others in a row");
      files_.push_back(Document::parse(*text, name + ".json"));
    }
  }
  [[nodiscard]] Field root() const { return files_.back().root(); }  // of the last ancestor
  [[nodiscard]] Field own() const { return files_.front().root(); }
  [[nodiscard]] const std::vector<Document>& files() const { return files_; }
  [[nodiscard]] std::optional<Field> find(std::string_view key) const {
    for (const auto& f : files_)
      if (auto field = f.root().find(key)) return field;
    return {};
  }
  [[nodiscard]] Field operator[](std::string_view key) const {
    const auto field = find(key);
    return field ? *field : own()[key];
  }
  // The groups of "kernels", one from each file that has it, the nearest first.
  [[nodiscard]] std::vector<Field> kernels(std::string_view key) const {
    std::vector<Field> out;
    for (const auto& f : files_)
      if (const auto kernels = f.root().find("kernels"))
        if (auto field = kernels->find(key)) out.push_back(std::move(*field));
    return out;
  }
  [[nodiscard]] Field kernel(std::string_view key) const {
    auto all = kernels(key);
    return all.empty() ? (*this)["kernels"][key] : all.front();
  }
};

template <class Names>
std::size_t one_of(const Field& f, const Names& names) {
  const auto word = f.string();
  const auto at = std::find(names.begin(), names.end(), word);
  if (at == names.end()) {
    std::string list;
    for (const auto n : names) list += (list.empty() ? "" : ", ") + std::string(n);
    f.fail("is \"" + word + "\"; write one of " + list);
  }
  return static_cast<std::size_t>(at - names.begin());
}

constexpr std::array<std::string_view, 4> evidence_names{"datasheet", "measured", "fitted", "assumed"};

std::shared_ptr<const Source> read_source(const Field& group) {
  return std::make_shared<const Source>(
      Source{.kind = static_cast<Evidence>(one_of(group["kind"], evidence_names)), .text = group["source"].string()});
}

// "h100-sxm#/memory/bandwidth"
std::string constant_place(const Field& f) {
  std::string_view file = f.file();
  if (file.ends_with(".json")) file.remove_suffix(5);
  return std::string(file) + '#' + f.pointer();
}

// A leaf group: members with one source. A member may be {"value", "source", "kind"} where its source differs.
class Group {
  Field group_;
  std::shared_ptr<const Source> source_;

 public:
  Group(Field group, std::vector<std::string_view> keys) : group_(std::move(group)), source_(read_source(group_)) {
    keys.insert(keys.end(), {"source", "kind", "fit", "note"});
    group_.only(keys);
  }
  [[nodiscard]] const Field& field() const { return group_; }

  template <class Read>
  auto constant(const Field& f, Read read) const -> Constant<decltype(read(f))> {
    if (!f.is(Field::Type::object)) return {.value = read(f), .place = constant_place(f), .source = source_};
    f.only({"value", "source", "kind", "note", "fit"});
    return {.value = read(f["value"]), .place = constant_place(f), .source = read_source(f)};
  }
  template <class Read>
  auto required(std::string_view key, Read read) const {
    return constant(group_[key], read);
  }
  template <class Read>
  auto optional(std::string_view key, Read read) const -> std::optional<Constant<decltype(read(group_))>> {
    if (const auto f = group_.find(key)) return constant(*f, read);
    return {};
  }
};

Bytes capacity(const Field& f) {
  const auto v = f.bytes();
  if (v.si() <= 0) f.fail("is " + f.raw() + "; write a capacity above zero");
  return v;
}
BytesPerSecond bandwidth(const Field& f) { return f.bandwidth(); }
FlopsPerSecond flop_rate(const Field& f) { return f.flop_rate(); }
Seconds seconds(const Field& f) { return f.seconds(); }
Hertz frequency(const Field& f) { return f.frequency(); }
Watts power(const Field& f) { return f.power(); }

Scalar within(const Field& f, double low, double high, const std::string& what) {
  const double v = f.number();
  if (v < low || v > high) f.fail("is " + f.raw() + "; write " + what);
  return v;
}
Scalar fraction(const Field& f) {
  const double v = f.number();
  if (v <= 0 || v > 1) f.fail("is " + f.raw() + "; write a fraction above 0 and at most 1");
  return v;
}
// In-network reduction delivers more than the nominal bandwidth of a link; nothing delivers twice.
Scalar efficiency(const Field& f) {
  const double v = f.number();
  if (v <= 0 || v > 2) f.fail("is " + f.raw() + "; write a share of the nominal bandwidth, such as 0.82");
  return v;
}
Scalar count(const Field& f) { return static_cast<double>(f.integer(1, max_accelerators)); }
Scalar length(const Field& f) { return within(f, 0, 1e6, "a length from 0 to 1,000,000"); }
Scalar price(const Field& f) { return within(f, 0, 1e6, "US dollars per hour, not negative"); }
Scalar oversubscription(const Field& f) { return within(f, 1, 1e4, "a ratio of at least 1 (2 for 2:1)"); }

int as_int(const Field& f, std::int64_t low, std::int64_t high) { return static_cast<int>(f.integer(low, high)); }

void read_peak(const Field& f, Accelerator& a) {
  const Group g(f, {format_names.begin(), format_names.end()});
  bool any = false;
  for (std::size_t i = 0; i < format_count; ++i) {
    a.peak[i] = g.optional(format_names[i], flop_rate);
    any = any || a.peak[i];
  }
  if (!any) f.fail("names no format; write at least \"bf16\": \"… TFLOP/s\"");
}

void read_rates(const Field& gemm, std::string_view key, std::optional<Constant<Scalar>> MatrixRate::*member,
                const Group& g, const Accelerator& a, GemmConstants& out) {
  const auto rates = gemm.find(key);
  if (!rates) return;
  rates->only({format_names.begin(), format_names.end()});
  for (std::size_t i = 0; i < format_count; ++i)
    if (const auto f = rates->find(format_names[i])) {
      if (!a.peak[i]) f->fail("a rate for a format that has no peak");
      if (!out.rate[i]) out.rate[i].emplace();
      (*out.rate[i]).*member = g.constant(*f, fraction);
    }
}

void read_gemm(const Field& f, Accelerator& a) {
  const Group g(f, {"sustained", "burst", "floor", "wave", "split", "memory_fraction", "tiles", "k_step"});
  auto& gemm = a.gemm;
  read_rates(f, "sustained", &MatrixRate::sustained, g, a, gemm);
  read_rates(f, "burst", &MatrixRate::burst, g, a, gemm);
  if (std::none_of(gemm.rate.begin(), gemm.rate.end(), [](const auto& r) { return r && r->sustained; }))
    f.fail("has no sustained rate; write \"sustained\": {\"bf16\": 0.7}");
  gemm.floor = g.required("floor", seconds);
  gemm.wave = g.required("wave", seconds);
  gemm.split = g.required("split", seconds);
  if (const auto step = f.find("k_step")) gemm.k_step = as_int(*step, 1, max_tile);
  gemm.memory_fraction = g.required("memory_fraction", fraction);
  for (const auto& tile : f["tiles"].elements()) {
    const auto mn = tile.elements();
    if (mn.size() != 2) tile.fail("is " + tile.raw() + "; write [m, n]");
    gemm.tiles.emplace_back(as_int(mn[0], 1, max_tile), as_int(mn[1], 1, max_tile));
  }
  if (gemm.tiles.empty()) f["tiles"].fail("is empty; write at least one [m, n]");
}

void read_attention_kernel(const std::string& name, const Field& f, Accelerator& a) {
  const Group g(f, {"forward", "backward", "half_keys", "half_keys_backward", "block", "sustained", "floor"});
  auto& kernel = a.attention[name];
  const auto forward = f["forward"], backward = f["backward"];
  for (const auto& [dim, rate] : forward.members()) {
    std::int64_t head_dim = 0;
    try {
      head_dim = parse_tokens(dim);
    } catch (const std::invalid_argument&) {
    }
    if (head_dim < 1 || head_dim > max_head_dim) rate.fail("is keyed by \"" + dim + "\"; write a head dimension, such as \"128\"");
    kernel.by_head_dim[static_cast<int>(head_dim)] = {.forward = g.constant(rate, fraction),
                                                      .backward = g.constant(backward[dim], fraction)};
  }
  if (kernel.by_head_dim.empty()) forward.fail("is empty; write at least \"128\": 0.5");
  if (backward.members().size() != forward.members().size())
    backward.conflict(forward, "both need the same head dimensions");
  kernel.half_keys = g.required("half_keys", length);
  kernel.half_keys_backward = g.required("half_keys_backward", length);
  kernel.block = g.required("block", count);
  kernel.sustained = g.required("sustained", fraction);
  kernel.floor = g.required("floor", seconds);
}

// Kernels of all files of the chain; the nearest definition of a name wins.
void read_attention(const Chain& chain, Accelerator& a) {
  for (const auto& group : chain.kernels("attention"))
    for (const auto& [name, kernel] : group.members())
      if (!a.attention.contains(name)) read_attention_kernel(name, kernel, a);
  if (a.attention.empty()) chain["kernels"].fail("has no attention kernel; write \"attention\": {\"fa2\": {…}}");
}

void read_elementwise(const Field& f, Accelerator& a) {
  const Group g(f, {"memory_fraction", "by_traffic", "floor"});
  a.elementwise.memory_fraction = g.required("memory_fraction", fraction);
  a.elementwise.floor = g.required("floor", seconds);
  const auto by_traffic = f.find("by_traffic");
  if (!by_traffic) return;
  by_traffic->only({traffic_names.begin(), traffic_names.end()});
  for (std::size_t i = 0; i < traffic_count; ++i)
    if (const auto kind = by_traffic->find(traffic_names[i])) a.elementwise.by_traffic[i] = g.constant(*kind, fraction);
}

Accelerator read_accelerator(const Chain& chain) {
  Accelerator a;
  a.name = chain.own()["name"].string();
  a.title = chain.own()["title"].string();
  a.vendor = chain["vendor"].string();
  a.generation = chain["generation"].string();
  read_peak(chain["peak"], a);

  const Group memory(chain["memory"], {"capacity", "bandwidth"});
  a.capacity = memory.required("capacity", capacity);
  a.memory_bandwidth = memory.required("bandwidth", bandwidth);

  const Group chip(chain["chip"], {"units", "l2", "clock", "power"});
  a.units = chip.required("units", count);
  a.l2 = chip.optional("l2", capacity);
  a.clock = chip.optional("clock", frequency);
  a.power = chip.optional("power", power);

  if (const auto p = chain.find("price")) a.price_per_hour = Group(*p, {"per_hour"}).required("per_hour", price);

  const Group host(chain["host"], {"bandwidth", "launch"});
  a.host_bandwidth = host.required("bandwidth", bandwidth);
  a.launch = host.required("launch", seconds);

  read_gemm(chain.kernel("gemm"), a);
  read_attention(chain, a);
  read_elementwise(chain.kernel("elementwise"), a);
  return a;
}

void read_torus(const Field& f, Tier& tier) {
  const auto dims = f["dims"].elements(), wraps = f["wraps"].elements();
  std::int64_t product = 1;
  for (const auto& d : dims) {
    tier.dims.push_back(as_int(d, 1, max_axis));
    product *= tier.dims.back();
    if (product > max_accelerators) d.fail("makes a torus of more than 100,000,000 accelerators");
  }
  for (const auto& w : wraps) tier.wraps.push_back(w.boolean());
  if (dims.empty()) f["dims"].fail("is empty; write the length of each axis, such as [16, 16]");
  if (dims.size() != wraps.size()) f["wraps"].conflict(f["dims"], "write one true or false for each axis");
  if (const auto size = f.find("size"); size && tier.size != product)
    size->conflict(f["dims"], "the product of the axes is " + std::to_string(product));
  tier.size = product;
  if (const auto b = f.find("bidirectional")) tier.bidirectional = b->boolean();
}

Tier read_tier(const Field& f) {
  const Group g(f, {"name", "topology", "size", "bandwidth", "efficiency", "latency", "oversubscription", "nics",
                    "rail_optimised", "in_network_reduction", "dims", "wraps", "bidirectional"});
  Tier tier;
  tier.name = f["name"].string();
  tier.topology = static_cast<Tier::Topology>(one_of(f["topology"], topology_names));
  if (const auto size = f.find("size")) tier.size = size->integer(1, max_accelerators);
  tier.bandwidth = g.required("bandwidth", bandwidth);
  tier.efficiency = g.required("efficiency", efficiency);
  tier.latency = g.required("latency", seconds);
  tier.oversubscription = g.optional("oversubscription", oversubscription);
  tier.nics = g.optional("nics", count);
  if (const auto b = f.find("rail_optimised")) tier.rail_optimised = b->boolean();
  if (const auto b = f.find("in_network_reduction")) tier.in_network_reduction = b->boolean();
  if (tier.topology == Tier::Topology::torus) {
    read_torus(f, tier);
  } else {
    for (const auto key : {"dims", "wraps", "bidirectional"})
      if (const auto m = f.find(key)) m->conflict(f["topology"], "only a torus has axes");
  }
  return tier;
}

Network read_network(const Field& f) {
  f.only({"node_size", "tiers"});
  Network n;
  n.node_size = as_int(f["node_size"], 1, max_axis);
  const auto tiers = f["tiers"].elements();
  for (const auto& t : tiers) {
    n.tiers.push_back(read_tier(t));
    if (n.tiers.size() < 2) continue;
    const auto& inner = n.tiers[n.tiers.size() - 2];
    if (inner.size == 0) t.fail("stands outside tier \"" + inner.name + "\", which has no size and so no outside");
    if (n.tiers.back().size != 0 && n.tiers.back().size <= inner.size)
      t.conflict(tiers[n.tiers.size() - 2], "an outer tier joins more accelerators than the one inside it");
  }
  if (n.tiers.empty()) f["tiers"].fail("is empty; write at least one tier");
  return n;
}

std::string lower(std::string_view s) {
  std::string out;
  for (const char c : s) out += c == ' ' || c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::vector<std::string> read_aliases(const Field& root) {
  std::vector<std::string> out;
  if (const auto f = root.find("aliases"))
    for (const auto& a : f->elements()) out.push_back(a.string());
  return out;
}

const embedded::File* find_in_catalog(std::string_view what) {
  auto name = lower(what);
  if (name.ends_with(".json")) name.resize(name.size() - 5);
  const auto catalog = embedded::hardware_catalog();
  for (const auto& f : catalog)
    if (f.name == name) return &f;
  const auto quoted = '"' + name + '"';
  for (const auto& f : catalog) {
    if (f.text.find(quoted) == f.text.npos) continue;  // spares parsing all of them
    const auto aliases = read_aliases(Document::parse(f.text, std::string(f.name) + ".json").root());
    if (std::find(aliases.begin(), aliases.end(), name) != aliases.end()) return &f;
  }
  return nullptr;
}

Document document(const embedded::File& f) { return Document::parse(f.text, std::string(f.name) + ".json"); }

[[noreturn]] void unknown(const std::string& what) {
  auto name = lower(what);
  if (name.ends_with(".json")) name.resize(name.size() - 5);
  std::vector<std::string> all;
  for (const auto& f : embedded::hardware_catalog()) {
    all.emplace_back(f.name);
    for (auto& a : read_aliases(document(f).root())) all.push_back(std::move(a));
  }
  const std::vector<std::string_view> views(all.begin(), all.end());
  const auto close = did_you_mean(name, views);
  throw InputError("\"" + what.substr(0, 80) + "\" is neither a file nor known hardware; " +
                   (close.empty() ? "napkin hw list shows what is known" : "did you mean \"" + close + "\"?"));
}

}  // namespace

Hardware read_hardware(const Document& file) {
  const auto root = file.root();
  if (!root.is(Field::Type::object)) root.fail("is not an object; a hardware file is { \"schema\": 1, … }");
  if (const auto s = root["schema"]; s.integer(0, 1'000'000) != schema_version)
    s.fail("is " + s.raw() + "; this napkin reads schema 1");
  const Chain chain(file);
  for (const auto& f : chain.files()) {
    f.root().only({std::begin(root_keys), std::end(root_keys)});
    if (const auto kernels = f.root().find("kernels")) kernels->only({"gemm", "attention", "elementwise"});
  }
  Hardware h{.accelerator = read_accelerator(chain),
             .network = read_network(chain["network"]),
             .aliases = read_aliases(root),
             .origin = file.name()};
  h.network.tuning = find_tuning(h.accelerator.generation);
  return h;
}

Hardware read_hardware(const std::string& what) {
  std::error_code ignored;
  const auto status = std::filesystem::status(what, ignored);
  const bool exists = std::filesystem::exists(status);
  if (exists && !std::filesystem::is_directory(status)) return read_hardware(Document::read(what));
  if (const auto* f = find_in_catalog(what)) {
    auto h = read_hardware(document(*f));
    h.origin = "catalog";
    return h;
  }
  if (exists || what.find('/') != what.npos) return read_hardware(Document::read(what));  // says what is wrong
  unknown(what);
}

std::vector<std::string> catalog_names() {
  std::vector<std::string> out;
  for (const auto& f : embedded::hardware_catalog()) out.emplace_back(f.name);
  return out;
}

std::optional<std::string> catalog_text(std::string_view name_or_alias) {
  if (const auto* f = find_in_catalog(name_or_alias)) return std::string(f->text);
  return {};
}

}  // namespace napkin
