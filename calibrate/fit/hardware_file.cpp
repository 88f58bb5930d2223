#include "calibrate/fit/hardware_file.hpp"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "hardware/constants.hpp"

namespace napkin::fit {
namespace {

using Json = nlohmann::ordered_json;

std::string text(double v, const char* unit) {
  char out[64];
  std::snprintf(out, sizeof out, "%.10g %s", v, unit);
  return out;
}
// Quantities as hardware files write them; the digits survive.
Json value(Scalar v) {
  if (v.si() == std::floor(v.si()) && std::abs(v.si()) < 0x1p53) return static_cast<std::int64_t>(v.si());
  return v.si();
}
Json value(Bytes v) {
  char out[64];
  std::snprintf(out, sizeof out, "%.0f B", v.si());
  return out;
}
Json value(Seconds v) { return text(v.si() / us.si(), "us"); }
Json value(BytesPerSecond v) { return text(v.si() / 1e9, "GB/s"); }
Json value(FlopsPerSecond v) { return text(v.si() / TFLOP.si(), "TFLOP/s"); }
Json value(Hertz v) { return text(v.si() / 1e6, "MHz"); }
Json value(Watts v) { return text(v.si(), "W"); }

// Five digits of a fitted value: its standard error is larger than the sixth.
Json rounded(double v) {
  char out[32];
  std::snprintf(out, sizeof out, "%.5g", v);
  return std::strtod(out, nullptr);
}
template <class Q>
Json rounded_value(Q v) {
  char out[32];
  std::snprintf(out, sizeof out, "%.5g", v.si());
  return value(Q::si(std::strtod(out, nullptr)));
}

// The group that holds a leaf and its source: /kernels/gemm, /kernels/attention/cudnn, /network/tiers/0,
// /network/library, /memory.
std::size_t group_depth(const std::vector<std::string>& keys) {
  if (keys.front() == "network") return keys[1] == "library" ? 2 : 3;
  if (keys.front() == "kernels") return keys[1] == "attention" ? 3 : 2;
  return 1;
}

class File {
  const HardwareFit& fit_;
  const std::string& about_;
  Json json_;

  [[nodiscard]] const GroupFit* fitted(const std::string& leaf, const Estimate*& estimate) const {
    for (const auto& g : fit_.groups)
      for (const auto& p : g.fit.parameters)
        if (p.leaf == leaf) return estimate = &p, &g;
    return nullptr;
  }
  [[nodiscard]] const Consequence* follows(const std::string& leaf) const {
    for (const auto& c : fit_.consequences)
      if (c.leaf == leaf) return &c;
    return nullptr;
  }
  static Json evidence(const GroupFit& g, const Estimate& e) {
    const auto& f = g.fit;
    const auto percent = [](double v) { return rounded(100 * v); };
    Json out{{"group", g.group},
             {"rows", f.fitted.n},
             {"range", g.range},
             {"standard_error", rounded(e.standard_error)},
             {"median_pct", percent(f.fitted.median)},
             {"p90_pct", percent(f.fitted.p90)}};
    if (f.held_out.n > 0) {
      out["held_out_rows"] = f.held_out.n;
      out["held_out_median_pct"] = percent(f.held_out.median);
      out["held_out_p90_pct"] = percent(f.held_out.p90);
    }
    if (e.at_bound) out["at_bound"] = true;
    return out;
  }

 public:
  File(const HardwareFit& fit, const std::string& about) : fit_(fit), about_(about) {}

  template <class Q>
  void add(const std::string& leaf, const Constant<Q>& c) {
    const auto keys = path_keys(leaf);
    Json* at = &json_;
    Json* group = nullptr;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      at = at->is_array() ? &(*at)[std::stoul(keys[i])] : &(*at)[keys[i]];
      if (i + 1 == group_depth(keys)) group = at;
    }
    const Source nobody{Evidence::assumed, "not stated"};
    const Source& source = c.source ? *c.source : nobody;
    const Estimate* estimate = nullptr;
    Json entry;
    if (const auto* g = fitted(leaf, estimate)) {
      entry = {{"value", rounded_value(c.value)}, {"source", about_}, {"kind", "fitted"}, {"fit", evidence(*g, *estimate)}};
    } else if (const auto* why = follows(leaf)) {
      entry = {{"value", rounded_value(c.value)}, {"source", why->why}, {"kind", "assumed"}};
    } else if (!group->contains("source")) {
      entry = value(c.value);
      *at = entry;  // before the group grows: `at` may point into it
      (*group)["source"] = source.text;
      (*group)["kind"] = to_string(source.kind);
      return;
    } else if ((*group)["source"] == source.text && (*group)["kind"] == to_string(source.kind)) {
      entry = value(c.value);
    } else {
      entry = {{"value", value(c.value)}, {"source", source.text}, {"kind", to_string(source.kind)}};
    }
    *at = entry;
  }

  // Groups all of whose leaves say where they come from still need words of their own.
  static void complete(Json& group, const std::string& about) {
    if (group.contains("source")) return;
    group["source"] = about;
    group["kind"] = "fitted";
  }

  std::string finish(const std::string& name, const std::map<std::string, std::string>& measured_on) {
    const auto& h = fit_.hardware;
    const auto& a = h.accelerator;
    Json out{{"schema", 1}, {"name", name}, {"title", a.title}, {"vendor", a.vendor}, {"generation", a.generation}};
    out["measured_on"] = Json::object();
    for (const auto& [key, v] : measured_on) out["measured_on"][key] = v;
    json_["network"]["node_size"] = h.network.node_size;
    json_["network"]["tiers"] = Json::array();
    for (const auto& t : h.network.tiers) json_["network"]["tiers"].push_back(tier(t));
    for_each_constant(h, [this](const std::string& leaf, const auto& c) { add(leaf, c); });
    auto& gemm = json_["kernels"]["gemm"];
    gemm["tiles"] = a.gemm.tiles;
    gemm["k_step"] = a.gemm.k_step;
    for (const auto* key : {"peak", "memory", "chip", "price", "host"})
      if (json_.contains(key)) complete(json_[key], about_);
    complete(gemm, about_);
    complete(json_["kernels"]["elementwise"], about_);
    for (auto& [unused, kernel] : json_["kernels"]["attention"].items()) complete(kernel, about_);
    for (auto& t : json_["network"]["tiers"]) complete(t, about_);
    if (json_["network"].contains("library")) complete(json_["network"]["library"], about_);
    for (const auto* key : {"peak", "memory", "chip", "price", "host", "kernels", "network"})
      if (json_.contains(key)) out[key] = json_[key];
    return out.dump(2) + '\n';
  }

  static Json tier(const Tier& t) {
    Json out{{"name", t.name}, {"topology", to_string(t.topology)}};
    const bool torus = t.topology == Tier::Topology::torus;
    if (t.size != 0 && !torus) out["size"] = t.size;
    if (t.rail_optimised) out["rail_optimised"] = true;
    if (t.in_network_reduction) out["in_network_reduction"] = true;
    if (torus) {
      out["dims"] = t.dims;
      out["wraps"] = t.wraps;
      out["bidirectional"] = t.bidirectional;
      if (t.block > 0) out["block"] = t.block;
    }
    return out;
  }
};

}  // namespace

std::string hardware_file(const HardwareFit& fit, const std::string& name, const std::string& about,
                          const std::map<std::string, std::string>& measured_on) {
  return File(fit, about).finish(name, measured_on);
}

}  // namespace napkin::fit
