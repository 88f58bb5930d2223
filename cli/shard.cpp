// napkin shard: a matrix product of sharded arrays on a mesh.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/option_value.hpp"
#include "model/collective/alpha_beta.hpp"
#include "model/collective/measures.hpp"
#include "model/collective/placement.hpp"
#include "model/collective/sharding.hpp"
#include "model/collective/torus.hpp"
#include "model/input/number_input.hpp"
#include "model/text.hpp"

namespace napkin::cli {

namespace {

struct Options {
  std::vector<std::string> arrays, shape, mesh;
  double element = 2;
  std::string peak, link, memory, links = "ring";
  OutputFormat format = OutputFormat::table;
};

// "I=8192" → {"I", 8192}
std::pair<std::string, double> assignment(const char* option, const std::string& text) {
  const auto is = text.find('=');
  if (is == text.npos || is == 0) throw InputError(fmt::format("{}: \"{}\": write NAME=SIZE", option, text));
  const double v = option_value(option, text.substr(is + 1), parse_count);
  if (v < 1) throw InputError(fmt::format("{}: \"{}\": a size is at least 1", option, text));
  return {text.substr(0, is), v};
}

Mesh mesh(const Options& o) {
  Mesh m;
  for (const auto& s : o.shape) m.sizes.insert(assignment("--shape", s));
  for (const auto& s : o.mesh) {
    const auto [name, length] = assignment("--mesh", s);
    if (name.size() != 1) throw InputError("--mesh: \"" + s + "\": an axis has one letter");
    m.axes[name[0]] = static_cast<int>(length);
  }
  return m;
}

int ranks(const Mesh& m, const ShardedProduct::Step& s) {
  int n = 1;
  for (const char axis : s.axes) n *= m.axes.at(axis);
  return n;
}

// Axes are rings or lines of links of their own, or the ranks hang on one switch.
Seconds step_time(const Options& o, const Mesh& m, const ShardedProduct::Step& s) {
  const auto link = option_value("--link", o.link, parse_bandwidth);
  Axes axes;
  const int n = ranks(m, s);
  for (const char axis : s.axes) {
    if (axes.count == max_axes) throw InputError("a collective over more than 4 mesh axes is not known");
    axes.axis[axes.count++] = {m.axes.at(axis), o.links == "ring", true};
  }
  const Scope<Plain> scope;
  if (n == 1) return {};
  if (o.links != "switch") return torus_cost(scope, s.operation, s.bytes, axes, link, Seconds()).time;
  Links<Plain> l;
  l.inner = l.per_member = l.egress = l.pair = l.spread = link;
  const Placement p{.ranks = n, .tiers = 1, .members = {static_cast<double>(n)}, .nodes = 1};
  return alpha_beta_cost(scope, s.operation, s.bytes, p, l, Algorithm::ring).time;
}

void answer(const Options& o) {
  if (o.links != "ring" && o.links != "line" && o.links != "switch")
    throw InputError("--links: \"" + o.links + "\"; write ring, line or switch");
  if (o.arrays.size() != 1 && o.arrays.size() != 3)
    throw InputError("write one array, or three: A[I,J_X] B[J_X,K] C[I,K]");
  const Mesh m = mesh(o);
  Table t;
  t.columns = {{"quantity", false}, {"value"}};
  nlohmann::ordered_json j;
  std::vector<ShardedArray> arrays;
  for (const auto& text : o.arrays) {
    arrays.push_back(parse_sharded(text));
    const Bytes one = shard_bytes(arrays.back(), m, o.element), all = total_bytes(arrays.back(), m, o.element);
    t.rows.push_back({text + " per device", format(one)});
    t.rows.push_back({text + " over all devices, replicas counted", format(all)});
    nlohmann::ordered_json a{{"array", text}, {"device_bytes", one.si()}, {"total_bytes", all.si()}};
    if (!o.memory.empty()) {
      const Seconds load = one / option_value("--memory-bandwidth", o.memory, parse_bandwidth);
      t.rows.push_back({text + " loaded from memory", format(load)});
      a["load_s"] = load.si();
    }
    j["arrays"].push_back(std::move(a));
  }
  if (arrays.size() == 3) {
    const auto p = sharded_product(arrays[0], arrays[1], arrays[2], m, o.element);
    t.rows.push_back({"FLOPs per device", format(p.flops_per_device)});
    t.rows.push_back({"FLOPs executed / 2IJK", fmt::format("{:.4g}", p.over_theory)});
    j["flops_per_device"] = p.flops_per_device.si();
    j["flops_over_theory"] = p.over_theory;
    j["device_share_of_theory"] = p.over_theory / m.devices();
    Seconds math, communication;
    if (!o.peak.empty()) {
      const auto peak = option_value("--peak", o.peak, parse_flop_rate);
      math = p.flops_per_device / peak;
      t.rows.push_back({"product", format(math)});
      j["product_s"] = math.si();
      if (!o.link.empty())
        j["peak_over_link_flop_per_byte"] = peak.si() / option_value("--link", o.link, parse_bandwidth).si();
    }
    j["collectives"] = nlohmann::ordered_json::array();
    for (const auto& s : p.steps) {
      const std::string what =
          fmt::format("{} over {} {} {}", to_string(s.operation), s.axes, s.before ? "to make" : "making", s.array);
      nlohmann::ordered_json c{{"operation", to_string(s.operation)},
                               {"axes", s.axes},
                               {"array", s.array},
                               {"bytes", s.bytes.si()},
                               {"sent_bytes", bytes_sent(s.operation, s.bytes, ranks(m, s)).si()}};
      if (o.link.empty()) {
        t.rows.push_back({what, format(s.bytes)});
      } else {
        const Seconds time = step_time(o, m, s);
        communication += time;
        t.rows.push_back({what, format(time)});
        c["time_s"] = time.si();
      }
      j["collectives"].push_back(std::move(c));
    }
    if (p.steps.empty()) t.rows.push_back({"collectives", "none"});
    if (math > Seconds() && communication > Seconds()) {
      j["communication_s"] = communication.si();
      j["communication_over_product"] = communication.si() / math.si();
      t.rows.push_back({"communication / product", fmt::format("{:.4g}", communication.si() / math.si())});
      // A dimension that the communication does not grow with hides it once it is this large.
      for (const auto& [dim, size] : m.sizes) {
        Mesh larger = m;
        larger.sizes[dim] *= 2;
        const auto q = sharded_product(arrays[0], arrays[1], arrays[2], larger, o.element);
        bool grows = false;
        for (std::size_t i = 0; i < q.steps.size(); ++i) grows = grows || q.steps[i].bytes != p.steps[i].bytes;
        if (grows || q.flops_per_device == p.flops_per_device) continue;
        const double least = size * (communication / math).si();
        j["compute_bound_above"][dim] = least;
        t.rows.push_back({"compute-bound above " + dim + " =", fmt::format("{:.5g}", least)});
      }
    }
  }
  print(o.format == OutputFormat::json ? j.dump(2) + "\n" : render(t, o.format));
}

}  // namespace

void add_shard(CLI::App& app, Session&) {
  CLI::App* c = app.add_subcommand("shard", "Sharded arrays: bytes per device, and the collectives of a product");
  const auto o = std::make_shared<Options>();
  c->add_option("ARRAYS", o->arrays, "A[I_X,J] alone, or the product A[I,J_X] B[J_X,K] C[I,K]")->required();
  c->add_option("--shape", o->shape, "Sizes of the dimensions: I=8192 J=8192")->required();
  c->add_option("--mesh", o->mesh, "Devices along each axis: X=4 Y=4")->required();
  c->add_option("--element", o->element, "Bytes of an element (2)")->check(CLI::PositiveNumber);
  c->add_option("--peak", o->peak, "Of one device: 197TFLOP/s");
  c->add_option("--link", o->link, "Bandwidth of one link of an axis, or of a rank at a switch, one direction");
  c->add_option("--links", o->links, "ring (both directions used), line, or switch");
  c->add_option("--memory-bandwidth", o->memory, "To see how long a shard takes to load");
  add_format(*c, o->format);
  c->footer(
      "Examples:\n"
      "  napkin shard 'A[I_X,J]' --shape I=1024 J=4096 --mesh X=8 Y=2 --element 4\n"
      "  napkin shard 'A[I_X,J_Y]' 'B[J_Y,K]' 'C[I_X,K]' --shape I=8192 J=8192 K=8192 --mesh X=4 Y=4 "
      "--link 45GB/s --links line --peak 197TFLOP/s");
  c->callback([o] { answer(*o); });
}

}  // namespace napkin::cli
