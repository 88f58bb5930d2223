// napkin shard: sharded arrays on a mesh, and the product of two.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/explain.hpp"
#include "cli/option_value.hpp"
#include "cli/spelling.hpp"
#include "hardware/hardware_input.hpp"
#include "model/collective/measures.hpp"
#include "model/collective/sharding_cost.hpp"
#include "model/collective/weights.hpp"
#include "model/input/number_input.hpp"
#include "model/text.hpp"

namespace napkin::cli {

namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::vector<std::string> arrays, shape, mesh;
  double element = 2, reserve = 0, experts = 1, top_k = 1;
  std::string peak, link, memory, capacity, links = "ring";
  std::string hardware;
  bool rank = false, explain = false;
  OutputFormat format = OutputFormat::table;
};

// "I=8192" → {"I", 8192}
std::pair<std::string, double> assignment(const char* option, const std::string& text) {
  const auto is = text.find('=');
  if (is == text.npos || is == 0) throw InputError(fmt::format("{}: \"{}\": write NAME=SIZE", option, text));
  const double v = option_value(option, text.substr(is + 1), parse_count);
  if (!(v >= 1) || !std::isfinite(v)) throw InputError(fmt::format("{}: \"{}\": a size is at least 1", option, text));
  return {text.substr(0, is), v};
}

Mesh mesh(const Options& o) {
  Mesh m;
  constexpr double most_devices = 100'000'000;
  double devices = 1;
  for (const auto& s : o.shape)
    if (!m.sizes.insert(assignment("--shape", s)).second)
      throw InputError("--shape: \"" + s + "\": the dimension has a size already");
  for (const auto& s : o.mesh) {
    const auto [name, length] = assignment("--mesh", s);
    if (name.size() != 1) throw InputError("--mesh: \"" + s + "\": an axis has one letter");
    devices *= length;
    if (length != std::floor(length) || devices > most_devices)
      throw InputError("--mesh: \"" + s + "\": axes are whole, of at most 100,000,000 devices in all");
    if (!m.axes.emplace(name[0], static_cast<int>(length)).second)
      throw InputError("--mesh: \"" + s + "\": the axis has a length already");
  }
  return m;
}

MeshLinks mesh_links(const Options& o) {
  MeshLinks l;
  if (o.links == "line") l.kind = MeshLinks::Kind::line;
  if (o.links == "switch") l.kind = MeshLinks::Kind::switched;
  l.link = option_value("--link", o.link, read_bandwidth);
  if (!(l.link > BytesPerSecond())) throw InputError("--link: \"" + o.link + "\" is not above zero");
  return l;
}

// Rows for people beside members for scripts.
struct Answer {
  Table table;
  Json json;
  bool si = false;  // bare SI numbers, for CSV
  void row(const std::string& what, const std::string& value) { table.rows.push_back({what, value}); }
  template <Dim D>
  void row(const std::string& what, Quantity<D, Plain> v) {
    row(what, si ? fmt::format("{:.9g}", v.si()) : format(v));
  }
  void row(const std::string& what, const ProductTime& t) {
    row(what, si ? fmt::format("{:.9g}", t.overlapped().si())
                 : fmt::format("{} + {}", format(t.product), format(t.communication)));
  }
};

void array_rows(const Options& o, const Mesh& m, const ShardedArray& a, const std::string& text, Answer& out) {
  const Bytes one = shard_bytes(a, m, o.element), all = total_bytes(a, m, o.element);
  out.row(text + " per device", one);
  out.row(text + " over all devices, replicas counted", all);
  Json j{{"array", text}, {"device_bytes", one.si()}, {"total_bytes", all.si()}};
  if (!o.memory.empty()) {
    const Seconds load = one / option_value("--memory-bandwidth", o.memory, read_bandwidth);
    out.row(text + " loaded from memory", load);
    j["load_s"] = load.si();
  }
  if (!o.capacity.empty()) {
    const auto room =
        holding(array_bytes(a, m, o.element), one, option_value("--capacity", o.capacity, parse_bytes), o.reserve);
    out.row(text + ": memory left on a device", room.left);
    out.row(text + ": fewest devices that hold it", format_count(room.devices));
    out.row(text + ": fewest as a power of two", format_count(room.power_of_two));
    j["left_bytes"] = room.left.si();
    j["least_devices"] = room.devices;
    j["least_devices_power_of_two"] = room.power_of_two;
  }
  out.json["arrays"].push_back(std::move(j));
}

std::string step_text(const ShardedProduct::Step& s) {
  return fmt::format("{} over {} {} {}", to_string(s.operation), s.axes, s.before ? "to make" : "making", s.array);
}

Json time_json(const ProductTime& t) {
  return {{"product_s", t.product.si()},
          {"communication_s", t.communication.si()},
          {"overlapped_s", t.overlapped().si()},
          {"sequential_s", t.sequential().si()}};
}

void ways(const ProductQuestion& q, const MeshLinks& links, FlopsPerSecond peak, Answer& out) {
  const auto all = alternatives(q, links, peak);
  if (all.size() < 2) return;
  for (const auto& w : all) {
    std::string steps;
    for (const auto& s : w.product.steps) steps += (steps.empty() ? "" : ", ") + step_text(s);
    out.row(fmt::format("{}: {}", to_string(w.how), steps.empty() ? "no collective" : steps), w.time);
    Json j = time_json(w.time);
    j["way"] = to_string(w.how);
    j["flops_per_device"] = w.product.flops_per_device.si();
    j["collectives"] = steps;
    out.json["alternatives"].push_back(std::move(j));
  }
  for (const auto& slow : all)
    for (const auto& busy : all) {
      if (slow.how == busy.how || !(slow.product.flops_per_device < busy.product.flops_per_device)) continue;
      for (const auto& b : overtakes(q, slow.how, busy.how, links, peak)) {
        out.row(fmt::format("\"{}\" beats the arithmetic of \"{}\" above {} =", to_string(slow.how),
                            to_string(busy.how), b.name),
                fmt::format("{:.5g}", b.size));
        out.json["overtakes_above"].push_back(
            {{"way", to_string(slow.how)}, {"beats", to_string(busy.how)}, {"dimension", b.name}, {"size", b.size}});
      }
    }
}

std::string layout_text(const ShardedArray& a) {
  std::string s = a.name + "[";
  for (std::size_t i = 0; i < a.dims.size(); ++i)
    s += (i > 0 ? "," : "") + a.dims[i].name + (a.dims[i].axes.empty() ? "" : "_" + a.dims[i].axes);
  return s + "]";
}

void ranked(const ProductQuestion& q, const MeshLinks& links, FlopsPerSecond peak, Answer& out) {
  constexpr std::size_t shown = 10;
  const auto all = arrangements(q, links, peak);
  for (std::size_t i = 0; i < std::min(shown, all.size()); ++i) {
    out.row(fmt::format("{}. {} {}", i + 1, layout_text(all[i].a), layout_text(all[i].b)), all[i].time);
    Json j = time_json(all[i].time);
    j["a"] = layout_text(all[i].a);
    j["b"] = layout_text(all[i].b);
    out.json["ranked"].push_back(std::move(j));
  }
}

void product_rows(const Options& o, const ProductQuestion& q, Answer& out) {
  const auto p = sharded_product(q.a, q.b, q.c, q.mesh, q.element);
  out.row("FLOPs per device", p.flops_per_device);
  out.row("FLOPs executed / 2IJK", fmt::format("{:.4g}", p.over_theory));
  out.json["flops_per_device"] = p.flops_per_device.si();
  out.json["flops_over_theory"] = p.over_theory;
  out.json["device_share_of_theory"] = p.over_theory / q.mesh.devices();
  FlopsPerSecond peak;
  if (!o.peak.empty()) {
    peak = option_value("--peak", o.peak, parse_flop_rate);
    if (!(peak > FlopsPerSecond())) throw InputError("--peak: \"" + o.peak + "\" is not above zero");
    out.row("product", p.flops_per_device / peak);
    out.json["product_s"] = (p.flops_per_device / peak).si();
    if (!o.link.empty()) out.json["peak_over_link_flop_per_byte"] = peak.si() / mesh_links(o).link.si();
  }
  out.json["collectives"] = Json::array();
  for (const auto& s : p.steps) {
    Json c{{"operation", to_string(s.operation)},
           {"axes", s.axes},
           {"array", s.array},
           {"bytes", s.bytes.si()},
           {"sent_bytes", bytes_sent(s.operation, s.bytes, step_ranks(q.mesh, s)).si()}};
    if (o.link.empty()) {
      out.row(step_text(s), s.bytes);
    } else {
      const Seconds time = step_time(q.mesh, s, mesh_links(o));
      out.row(step_text(s), time);
      c["time_s"] = time.si();
    }
    out.json["collectives"].push_back(std::move(c));
  }
  if (p.steps.empty()) out.row("collectives", "none");
  if (!o.peak.empty() && !o.memory.empty()) {
    const auto memory = option_value("--memory-bandwidth", o.memory, read_bandwidth);
    for (const auto& b : weight_balances(q, peak, memory, o.experts, o.top_k)) {
      out.row("arithmetic as long as loading " + q.b.name + " at " + b.name + " =", fmt::format("{:.5g}", b.size));
      out.json["memory_bound_below"][b.name] = b.size;
    }
  }
  if (o.peak.empty() || o.link.empty()) return;
  const MeshLinks links = mesh_links(o);
  const ProductTime t = product_time(p, q.mesh, links, peak);
  if (t.product > Seconds() && t.communication > Seconds()) {
    out.json["communication_s"] = t.communication.si();
    out.json["communication_over_product"] = double(t.communication / t.product);
    out.row("communication / product", fmt::format("{:.4g}", double(t.communication / t.product)));
    for (const auto& b : balances(q, p, links, peak)) {
      out.json[b.above ? "compute_bound_above" : "compute_bound_below_axis"][b.name] = b.size;
      out.row(fmt::format("compute-bound {} {} =", b.above ? "above" : "below axis", b.name),
              fmt::format("{:.5g}", b.size));
    }
  }
  ways(q, links, peak, out);
  if (o.rank) ranked(q, links, peak, out);
}

void check(const CLI::App& command, const Options& o) {
  const auto idle = [&](const char* option, const char* because) {
    if (command.count(option) > 0) throw InputError(fmt::format("{} has no effect {}", option, because));
  };
  if (o.links != "ring" && o.links != "line" && o.links != "switch")
    throw InputError("--links: \"" + o.links + "\"; write ring, line or switch");
  if (o.arrays.size() != 1 && o.arrays.size() != 3)
    throw InputError("write one array, or three: A[I,J_X] B[J_X,K] C[I,K]");
  if (o.arrays.size() == 1)
    for (const char* option : {"--peak", "--link", "--links", "--rank", "--experts", "--top-k"})
      idle(option, "on one array; write the three of a product");
  if (o.link.empty()) idle("--links", "without --link");
  if (o.capacity.empty()) idle("--reserve", "without --capacity");
  if (o.rank && (o.peak.empty() || o.link.empty())) throw InputError("--rank needs --peak and --link, to rank by time");
  if (o.peak.empty() || o.memory.empty()) {
    idle("--experts", "without --peak and --memory-bandwidth");
    idle("--top-k", "without --peak and --memory-bandwidth");
  }
  if (o.top_k > o.experts)
    throw InputError(fmt::format("--top-k: {:g} of {:g} experts; write no more than there are", o.top_k, o.experts));
}

// "A[I_X,J] · B[J,K_Y] -> C[I_X,K_Y]" in one word or in several: what stands between the arrays is not read.
std::vector<std::string> arrays_of(const std::vector<std::string>& words) {
  constexpr std::array<std::string_view, 9> between{"·", "×", "->", "→", "*", "@", ".", "=", " "};
  std::vector<std::string> out;
  for (const std::string& word : words) {
    std::string_view rest = word;
    while (!rest.empty()) {
      const auto skip = std::find_if(between.begin(), between.end(), [&](std::string_view b) { return rest.starts_with(b); });
      if (skip != between.end()) {
        rest.remove_prefix(skip->size());
        continue;
      }
      const auto end = std::min(rest.find(']'), rest.size() - 1) + 1;
      out.emplace_back(rest.substr(0, end));
      out.back().erase(std::remove(out.back().begin(), out.back().end(), ' '), out.back().end());
      rest.remove_prefix(end);
    }
  }
  return out;
}

// What a machine's datasheet says, where no option does.
void fill(const CLI::App& command, Options& o) {
  if (o.hardware.empty()) return;
  const Hardware h = read_hardware(o.hardware);
  const auto& peak = h.accelerator.peak[static_cast<std::size_t>(Format::bf16)];
  const bool product = o.arrays.size() == 3;
  if (product && o.peak.empty() && peak) o.peak = fmt::format("{:.17g} FLOP/s", peak->value.si());
  if (product && o.link.empty() && !h.network.tiers.empty()) {
    const Tier& t = h.network.tiers.front();
    // Of a torus, one link of an axis.
    const double links = t.topology == Tier::Topology::torus && !t.dims.empty() ? static_cast<double>(t.dims.size()) * (t.bidirectional ? 2 : 1) : 1;
    o.link = fmt::format("{:.17g} B/s", t.bandwidth.value.si() / links);
    if (command.count("--links") == 0) o.links = t.topology == Tier::Topology::torus ? "ring" : "switch";
  }
  if (o.capacity.empty()) o.capacity = fmt::format("{:.17g} B", h.accelerator.capacity.value.si());
}

std::string derivation(const Options& o, const ProductQuestion& q, const std::vector<ShardedArray>& arrays) {
  Derivation d;
  const Scope<Traced> scope(d);
  std::vector<const Node*> roots;
  for (const auto& a : arrays) roots.push_back(shard_bytes(scope, a, q.mesh, o.element).why());
  if (arrays.size() == 3) {
    const auto p = sharded_product(q.a, q.b, q.c, q.mesh, q.element);
    if (!o.peak.empty())
      roots.push_back(let("T_product", scope.input("F_device", p.flops_per_device, "2 x the sizes of one device's product") /
                                           scope.input("C", option_value("--peak", o.peak, parse_flop_rate), "--peak")).why());
    if (!o.link.empty())
      for (const auto& s : p.steps)
        if (const auto t = step_time(scope, q.mesh, s, mesh_links(o)); t.why() != nullptr) roots.push_back(t.why());
  }
  return explain(roots);
}

void answer(const CLI::App& command, Options o) {
  o.arrays = arrays_of(o.arrays);
  check(command, o);
  fill(command, o);
  ProductQuestion q;
  q.mesh = mesh(o);
  q.element = o.element;
  Answer out;
  out.si = o.format == OutputFormat::csv;
  out.table.columns = {{"quantity", false}, {"value"}};
  std::vector<ShardedArray> arrays;
  for (const auto& text : o.arrays) {
    arrays.push_back(parse_sharded(text));
    array_rows(o, q.mesh, arrays.back(), text, out);
  }
  if (arrays.size() == 3) {
    q.a = arrays[0];
    q.b = arrays[1];
    q.c = arrays[2];
    product_rows(o, q, out);
  }
  constexpr const char* convention = "convention: one direction of a link, no latency; dense peak, 2 FLOPs a multiply-add; product + communication, which overlap at best";
  out.table.notes.push_back(convention);
  out.json["counting"] = Json::array({convention});
  if (o.format == OutputFormat::json) return print(out.json.dump(2) + "\n");
  print(render(out.table, o.format));
  if (o.explain && o.format != OutputFormat::csv) print("\n" + derivation(o, q, arrays));
}

}  // namespace

void add_shard(CLI::App& app, Session&) {
  CLI::App* c = app.add_subcommand("shard", "Sharded arrays: bytes per device, and the collectives of a product");
  const auto o = std::make_shared<Options>();
  c->add_option("ARRAYS", o->arrays, "A[I_X,J] alone, or the product 'A[I,J_X] · B[J_X,K] -> C[I,K]'")->required();
  c->add_option("--shape", o->shape, "Sizes of the dimensions: I=8192 J=8192")->required();
  c->add_option("--mesh", o->mesh, "Devices along each axis: X=4 Y=4");
  c->add_option("--hw", o->hardware, "A machine's datasheet fills --peak (bf16), --link, --links and --capacity");
  c->add_option("--element", o->element, "Bytes of an element (2)")->check(CLI::Range(1e-3, 1e6));
  c->add_option("--peak", o->peak, "Of one device: 197TFLOP/s");
  c->add_option("--link", o->link, "Bandwidth of one link of an axis, or of a rank at a switch, one direction");
  c->add_option("--links", o->links, "ring (both directions used), line, or switch");
  c->add_option(
      "--memory-bandwidth", o->memory,
      "Of one device: how long a shard takes to load; with --peak, the sizes below which loading B is longer");
  c->add_option("--capacity", o->capacity,
                "Memory of one device: what is left, and the fewest devices that hold an array");
  c->add_option("--reserve", o->reserve, "Share of --capacity kept for other things (0)")
      ->check(CLI::Range(0.0, 0.999));
  c->add_option("--experts", o->experts, "B is an array for each of so many experts")->check(CLI::Range(1.0, 1e6));
  c->add_option("--top-k", o->top_k, "Experts that a row of A goes to")->check(CLI::Range(1.0, 1e6));
  c->add_flag("--rank", o->rank,
              "All layouts of the axes over the dimensions, the result left as written, fastest first");
  c->add_flag("--explain", o->explain, "Unfold bytes, product and collectives");
  add_format(*c, o->format);
  c->footer(
      "Examples:\n"
      "  napkin shard 'A[I_X,J]' --shape I=1024 J=4096 --mesh X=8 Y=2 --element 4 --capacity 16GB\n"
      "  napkin shard 'A[I_X,J_Y]' 'B[J_Y,K]' 'C[I_X,K]' --shape I=8192 J=8192 K=8192 --mesh X=4 Y=4 "
      "--link 45GB/s --links line --peak 197TFLOP/s\n"
      "  napkin shard 'A[I_X,J] · B[J,K_Y] -> C[I_X,K_Y]' --shape I=8192 J=8192 K=28672 --mesh X=4 Y=2 --hw h100 --explain");
  c->callback([c, o] { answer(*c, *o); });
}

}  // namespace napkin::cli
