#include "hardware/hardware_input.hpp"

#include <algorithm>
#include <stdexcept>

#include "hardware/plausible.hpp"
#include "hardware/tuning_input.hpp"
#include "hardware/values_input.hpp"
#include "model/input/constant_input.hpp"
#include "model/input/number_input.hpp"

namespace napkin {
namespace {

using namespace hardware_values;

constexpr std::int64_t schema_version = 1;
constexpr std::size_t max_ancestors = 8;  // "extends" of "extends" ...
constexpr std::int64_t max_tile = 4096, max_head_dim = 4096;

constexpr std::string_view root_keys[] = {"schema", "name",  "title",   "vendor",  "generation", "aliases",    "extends",
                                          "notes",  "peak",  "memory",  "chip",    "price",      "host",       "kernels",
                                          "network", "measured_on"};

// A file and the catalog files it extends, the file itself first. A leaf group is taken whole from the first that has it.
class Chain {
  std::vector<Document> files_;

 public:
  Chain(const Document& file, const Edits& edits) : files_{edits.apply(file)} {
    while (auto parent = root().find("extends")) {
      const auto name = parent->string();
      const auto text = catalog_text(name);
      if (!text) parent->fail("\"" + name + "\" is not in the catalog; extends names a catalog entry");
      if (files_.size() > max_ancestors) parent->fail("extends itself, or more than 8 others in a row");
      files_.push_back(edits.apply(Document::parse(*text, name + ".json")));
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

void read_peak(const Field& f, Accelerator& a) {
  const Group g(f, {format_names.begin(), format_names.end()});
  bool any = false;
  for (std::size_t i = 0; i < number_format_count; ++i) {
    a.peak[i] = g.optional(format_names[i], flop_rate);
    any = any || a.peak[i];
  }
  if (!any) f.fail("names no format; write at least \"bf16\": \"... TFLOP/s\"");
}

void read_rates(const Field& gemm, std::string_view key, std::optional<Constant<Scalar>> MatrixRate::*member,
                const Group& g, bool inherited, const Accelerator& a, GemmConstants& out) {
  const auto rates = gemm.find(key);
  if (!rates) return;
  rates->only({format_names.begin(), format_names.end()});
  for (std::size_t i = 0; i < number_format_count; ++i)
    if (const auto f = rates->find(format_names[i])) {
      if (!a.peak[i] && inherited) continue;
      if (!a.peak[i]) f->fail("a rate for a format that has no peak");
      if (!out.rate[i]) out.rate[i].emplace();
      (*out.rate[i]).*member = g.constant(*f, fraction);
    }
}

// `inherited`: from another file than the peaks, and so with rates that may not concern this machine.
void read_gemm(const Field& f, bool inherited, Accelerator& a) {
  const Group g(f, {"sustained", "burst", "floor", "wave", "split", "memory_fraction", "tiles", "k_step", "epilogue",
                    "balance", "spread", "grouped"});
  auto& gemm = a.gemm;
  read_rates(f, "sustained", &MatrixRate::sustained, g, inherited, a, gemm);
  read_rates(f, "burst", &MatrixRate::burst, g, inherited, a, gemm);
  if (std::none_of(gemm.rate.begin(), gemm.rate.end(), [](const auto& r) { return r && r->sustained; }))
    f.fail("has no sustained rate; write \"sustained\": {\"bf16\": 0.7}");
  gemm.floor = g.required("floor", seconds);
  gemm.wave = g.required("wave", seconds);
  gemm.split = g.required("split", seconds);
  if (const auto step = f.find("k_step")) gemm.k_step = whole(*step, 1, max_tile);
  gemm.memory_fraction = g.required("memory_fraction", fraction);
  gemm.epilogue = g.optional("epilogue", seconds);
  gemm.balance = g.optional("balance", fraction);
  gemm.spread = g.optional("spread", fraction);
  gemm.grouped = g.optional("grouped", fraction);
  for (const auto& tile : f["tiles"].elements()) {
    const auto mn = tile.elements();
    if (mn.size() != 2) tile.fail("is " + tile.raw() + "; write [m, n]");
    gemm.tiles.emplace_back(whole(mn[0], 1, max_tile), whole(mn[1], 1, max_tile));
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
  if (a.attention.empty()) chain["kernels"].fail("has no attention kernel; write \"attention\": {\"fa2\": {...}}");
}

void read_elementwise(const Field& f, Accelerator& a) {
  const Group g(f, {"memory_fraction", "by_traffic", "floor", "floors", "row_rate"});
  a.elementwise.memory_fraction = g.required("memory_fraction", fraction);
  a.elementwise.floor = g.required("floor", seconds);
  a.elementwise.row_rate = g.optional("row_rate", bandwidth);
  const auto each = [&](std::string_view member, auto read, auto& values) {
    const auto group = f.find(member);
    if (!group) return;
    group->only({traffic_names.begin(), traffic_names.end()});
    for (std::size_t i = 0; i < traffic_count; ++i)
      if (const auto kind = group->find(traffic_names[i])) values[i] = g.constant(*kind, read);
  };
  each("by_traffic", fraction, a.elementwise.by_traffic);
  each("floors", seconds, a.elementwise.floors);
}

// Runs the sections of a file; the first complaint ends it, or, when they are collected, only its section.
class Sections {
  std::vector<std::string>* complaints_;

 public:
  explicit Sections(std::vector<std::string>* complaints) : complaints_(complaints) {}
  // Whether the section read well.
  template <class F>
  bool run(F section) const {
    if (complaints_ == nullptr) return section(), true;
    try {
      return section(), true;
    } catch (const InputError& e) {
      complaints_->emplace_back(e.what());
      return false;
    }
  }
};

void read_accelerator(const Chain& chain, const Sections& sections, Accelerator& a) {
  sections.run([&] {
    a.name = chain.own()["name"].string();
    a.title = chain.own()["title"].string();
    a.vendor = chain["vendor"].string();
    a.generation = chain["generation"].string();
  });
  const bool peaks = sections.run([&] { read_peak(chain["peak"], a); });
  sections.run([&] {
    const Group memory(chain["memory"], {"capacity", "bandwidth"});
    a.capacity = memory.required("capacity", capacity);
    a.memory_bandwidth = memory.required("bandwidth", bandwidth);
  });
  sections.run([&] {
    const Group chip(chain["chip"], {"units", "l2", "clock", "power"});
    a.units = chip.required("units", count);
    a.l2 = chip.optional("l2", capacity);
    a.clock = chip.optional("clock", frequency);
    a.power = chip.optional("power", power);
  });
  sections.run([&] {
    if (const auto p = chain.find("price")) a.price_per_hour = Group(*p, {"per_hour"}).required("per_hour", price);
  });
  sections.run([&] {
    const Group host(chain["host"], {"bandwidth", "launch"});
    a.host_bandwidth = host.required("bandwidth", bandwidth);
    a.launch = host.required("launch", seconds);
  });
  if (peaks) sections.run([&] {
    const auto gemm = chain.kernel("gemm");
    read_gemm(gemm, gemm.file() != chain["peak"].file(), a);
  });
  sections.run([&] { read_attention(chain, a); });
  sections.run([&] { read_elementwise(chain.kernel("elementwise"), a); });
}

Hardware read(const Document& file, const Sections& sections, const Edits& edits = {}) {
  const auto root = file.root();
  if (!root.is(Field::Type::object)) root.fail("is not an object; a hardware file is { \"schema\": 1, ... }");
  if (const auto s = root["schema"]; s.integer(0, 1'000'000) != schema_version)
    s.fail("is " + s.raw() + "; this napkin reads schema 1");
  const Chain chain(file, edits);
  sections.run([&] {
    for (const auto& f : chain.files()) {
      f.root().only({std::begin(root_keys), std::end(root_keys)});
      if (const auto kernels = f.root().find("kernels")) kernels->only({"gemm", "attention", "elementwise"});
    }
  });
  Hardware h;
  h.origin = file.name();
  read_accelerator(chain, sections, h.accelerator);
  sections.run([&] {
    h.network = read_network(chain["network"]);
    h.network.tuning = find_tuning(h.accelerator.generation, edits);
    if (const auto own = chain["network"].find("library")) {
      if (!h.network.tuning) own->fail("has constants of a library, but no tuning is known for generation \"" + h.accelerator.generation + "\"");
      h.network.tuning = read_own_library(*own, *h.network.tuning);
    }
  });
  sections.run([&] { h.aliases = read_aliases(root); });
  return h;
}

}  // namespace

Hardware read_hardware(const Document& file, const Edits& edits) { return read(file, Sections(nullptr), edits); }

std::vector<std::string> hardware_problems(const Document& file) {
  std::vector<std::string> out;
  const Sections sections(&out);
  Hardware h;
  sections.run([&] { h = read(file, sections); });
  if (!out.empty()) return out;
  for (const auto& oddity : implausible(h)) out.push_back(file.name() + ": " + oddity);
  return out;
}

}  // namespace napkin
