// Every constant of a machine, with the place a hardware file holds it at.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "hardware/hardware.hpp"

namespace napkin {

// Calls f(path, constant) for every constant of a machine; the path is where a hardware file holds it. `H` is Hardware, whose
// constants f may change, or const Hardware.
template <class H, class F>
  requires std::is_same_v<std::remove_const_t<H>, Hardware>
void for_each_constant(H& h, F f) {
  auto& a = h.accelerator;
  const auto maybe = [&](const std::string& path, auto& constant) {
    if (constant) f(path, *constant);
  };
  for (std::size_t i = 0; i < number_format_count; ++i) maybe("/peak/" + std::string(format_names[i]), a.peak[i]);
  f("/memory/capacity", a.capacity);
  f("/memory/bandwidth", a.memory_bandwidth);
  f("/chip/units", a.units);
  maybe("/chip/l2", a.l2);
  maybe("/chip/clock", a.clock);
  maybe("/chip/power", a.power);
  maybe("/price/per_hour", a.price_per_hour);
  f("/host/bandwidth", a.host_bandwidth);
  f("/host/launch", a.launch);
  for (std::size_t i = 0; i < number_format_count; ++i) {
    if (!a.gemm.rate[i]) continue;
    maybe("/kernels/gemm/sustained/" + std::string(format_names[i]), a.gemm.rate[i]->sustained);
    maybe("/kernels/gemm/burst/" + std::string(format_names[i]), a.gemm.rate[i]->burst);
  }
  f("/kernels/gemm/floor", a.gemm.floor);
  f("/kernels/gemm/wave", a.gemm.wave);
  f("/kernels/gemm/split", a.gemm.split);
  f("/kernels/gemm/memory_fraction", a.gemm.memory_fraction);
  maybe("/kernels/gemm/epilogue", a.gemm.epilogue);
  maybe("/kernels/gemm/balance", a.gemm.balance);
  maybe("/kernels/gemm/spread", a.gemm.spread);
  maybe("/kernels/gemm/grouped", a.gemm.grouped);
  for (auto& [name, kernel] : a.attention) {
    const auto at = "/kernels/attention/" + name;
    for (auto& [dim, rate] : kernel.by_head_dim) {
      f(at + "/forward/" + std::to_string(dim), rate.forward);
      f(at + "/backward/" + std::to_string(dim), rate.backward);
    }
    f(at + "/half_keys", kernel.half_keys);
    f(at + "/half_keys_backward", kernel.half_keys_backward);
    f(at + "/block", kernel.block);
    f(at + "/sustained", kernel.sustained);
    f(at + "/floor", kernel.floor);
  }
  f("/kernels/elementwise/memory_fraction", a.elementwise.memory_fraction);
  f("/kernels/elementwise/floor", a.elementwise.floor);
  for (std::size_t i = 0; i < traffic_count; ++i)
    maybe("/kernels/elementwise/by_traffic/" + std::string(traffic_names[i]), a.elementwise.by_traffic[i]);
  for (std::size_t i = 0; i < traffic_count; ++i)
    maybe("/kernels/elementwise/floors/" + std::string(traffic_names[i]), a.elementwise.floors[i]);
  maybe("/kernels/elementwise/row_rate", a.elementwise.row_rate);
  for (std::size_t i = 0; i < h.network.tiers.size(); ++i) {
    auto& t = h.network.tiers[i];
    const auto at = "/network/tiers/" + std::to_string(i) + "/";
    f(at + "bandwidth", t.bandwidth);
    f(at + "efficiency", t.efficiency);
    f(at + "latency", t.latency);
    maybe(at + "oversubscription", t.oversubscription);
    maybe(at + "nics", t.nics);
  }
  // Of the library only what was measured on this machine stands in its file; it is shared with others, so it is not changed here.
  if constexpr (std::is_const_v<H>)
    if (h.network.tuning && h.network.tuning->own)
      for_each_library_constant(*h.network.tuning, [&](const std::string& path, const auto& c) { f("/network/library/" + path, c); });
}

// The measured constants of a communication library, as they stand in its tuning file below /measured. What the library
// believes of itself (LibraryEstimate) only picks an algorithm.
template <class T, class F>
  requires std::is_same_v<std::remove_const_t<T>, CollectiveTuning>
void for_each_constant(T& t, F f) {
  for_each_library_constant(t, [&](const std::string& path, auto& c) { f("/" + path, c); });
  for (std::size_t i = 0; i < protocol_count; ++i) {
    const std::string protocol(to_string(static_cast<Protocol>(i)));
    f("/ring/" + protocol + "/net_hop", t.ring[i].net_hop);
    f("/ring/" + protocol + "/net_share", t.ring[i].net_share);
    f("/tree_net/" + protocol, t.tree_net[i]);
  }
  f("/chunk", t.chunk);
  f("/net_rings", t.net_rings);
  if (t.estimate.nvls_efficiency > 0) {
    f("/nvls/base", t.nvls.base);
    f("/nvls/ramp", t.nvls.ramp);
    f("/nvls/ramp_size", t.nvls.ramp_size);
    f("/nvls/share", t.nvls.share);
    f("/nvls/tree_members", t.nvls.tree_members);
  }
  const auto custom = [&](const std::string& at, auto& c) {
    if (!c) return;
    f(at + "/base", c->base);
    f(at + "/per_peer", c->per_peer);
    f(at + "/share", c->share);
  };
  custom("/one_shot", t.one_shot);
  custom("/two_shot", t.two_shot);
}

// "/network/tiers/0/latency" → network, tiers, 0, latency
[[nodiscard]] inline std::vector<std::string> path_keys(std::string_view path) {
  std::vector<std::string> keys;
  for (std::size_t at = 0; at < path.size();) {
    const auto next = path.find('/', at + 1);
    keys.emplace_back(path.substr(at + 1, next == path.npos ? path.npos : next - at - 1));
    at = next == path.npos ? path.size() : next;
  }
  return keys;
}

}  // namespace napkin
