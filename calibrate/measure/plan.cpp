#include <algorithm>
#include <iterator>
#include <set>

#include "calibrate/measure/case.hpp"
#include "model/input_error.hpp"

namespace napkin::measure {
namespace {

constexpr double KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;

std::int64_t whole(double bytes) { return static_cast<std::int64_t>(bytes); }

}  // namespace

std::vector<Case> plan(const std::vector<std::string>& chosen, const Machine& machine, bool quick) {
  for (const auto& word : chosen)
    if (std::find(std::begin(groups), std::end(groups), word) == std::end(groups)) {
      std::string known;
      for (const auto g : groups) known += (known.empty() ? "" : ", ") + std::string(g);
      throw InputError("--groups: \"" + word + "\" is not a group; write some of " + known);
    }
  std::vector<Case> out;
  const auto add = [&](std::string_view group, std::vector<Case> cases) {
    const bool wanted = chosen.empty() || std::find(chosen.begin(), chosen.end(), group) != chosen.end();
    if (!wanted) return;
    std::move(cases.begin(), cases.end(), std::back_inserter(out));
  };
  add("launch", launch_cases(quick));
  add("memory", memory_cases(machine, quick));
  add("elementwise", elementwise_cases(quick));
  add("gemm", gemm_cases(machine, quick));
  add("attention", attention_cases(quick));
  add("metrics", metrics_cases(quick));
  add("collective", collective_cases(machine, quick));
  add("peer", peer_cases(machine, quick));
  std::set<std::string> seen;  // one shape may belong to several lists of the plan
  std::erase_if(out, [&](const Case& c) { return !seen.insert(c.key()).second; });
  return out;
}

std::vector<Case> launch_cases(bool) {
  std::vector<Case> out;
  for (const char* what : {"kernel", "stream gap", "stream node", "stream rate", "graph gap", "graph node", "graph launch", "host latency"})
    out.push_back({"launch", {{"kind", "launch"}, {"what", what}}, 0.15});
  return out;
}

std::vector<Case> memory_cases(const Machine& machine, bool quick) {
  std::vector<Case> out;
  const double most = std::min(8 * GiB, machine.memory / 4);
  for (const char* kind : {"read", "write", "copy", "triad"})
    for (double bytes = KiB; bytes <= most; bytes *= quick ? 64 : 2) {
      out.push_back({"memory", {{"kind", kind}, {"bytes", whole(bytes)}, {"l2", "cold"}}, 0.07});
      if (bytes <= machine.l2)
        out.push_back({"memory", {{"kind", kind}, {"bytes", whole(bytes)}, {"l2", "warm"}}, 0.03});
    }
  for (const int stride : {32, 64, 128, 256, 512, 1024, 4096})
    if (!quick || stride == 128)
      out.push_back({"memory", {{"kind", "strided"}, {"stride", stride}, {"bytes", whole(std::min(2 * GiB, most))}, {"l2", "cold"}}, 0.1});
  for (const char* kind : {"h2d", "d2h"})
    for (double bytes = quick ? MiB : KiB; bytes <= (quick ? 256 * MiB : GiB); bytes *= quick ? 16 : 4)
      out.push_back({"memory", {{"kind", kind}, {"bytes", whole(bytes)}}, 0.1});
  return out;
}

std::vector<Case> elementwise_cases(bool quick) {
  std::vector<Case> out;
  const auto add = [&](const char* op, int tokens, int h) {
    out.push_back({"elementwise", {{"kind", "membound"}, {"op", op}, {"dtype", "bf16"}, {"tokens", tokens}, {"h", h}, {"l2", "cold"}}, 0.05});
  };
  for (const char* op : {"rms_norm", "softmax", "swiglu", "rope", "add", "cast_fp32"})
    for (const int tokens : {1, 16, 128, 1024, 4096, 8192, 16384})
      for (const int h : {1024, 2048, 4096, 5120, 8192, 12288, 16384})
        if (!quick || (h == 4096 && (tokens == 16 || tokens == 4096 || tokens == 16384))) add(op, tokens, h);
  for (const double params : {1e6, 4e6, 16e6, 64e6, 128e6, 512e6, 1e9})
    if (!quick || params == 128e6)
      out.push_back({"elementwise", {{"kind", "adamw_fused_fp32"}, {"params", whole(params)}, {"l2", "cold"}}, 0.1});
  return out;
}

std::vector<Case> attention_cases(bool quick) {
  std::vector<Case> out;
  struct Heads {
    int hq, hk, d;
  };
  const auto attention = [](const char* kind, int b, int s, const Heads& h, bool causal) {
    return Case{"attention",
                {{"kind", kind}, {"backend", "CUDNN_ATTENTION"}, {"dtype", "bf16"}, {"b", b}, {"s", s}, {"hq", h.hq}, {"hk", h.hk}, {"d", h.d}, {"causal", causal}, {"l2", "cold"}},
                0.12};
  };
  constexpr Heads grouped{32, 8, 128};
  for (const char* kind : {"attn_fwd", "attn_bwd"})
    for (const auto& h : {Heads{16, 16, 64}, grouped, {32, 32, 128}, {16, 16, 128}, {64, 8, 128}, {8, 1, 128}})
      for (const bool causal : {true, false})
        for (const int s : {512, 1024, 2048, 4096, 8192, 16384, 32768}) {
          const bool kept = h.hq == 32 && h.hk == 8 && causal && (s == 1024 || s == 4096);
          if (quick && !kept) continue;
          if (s > 16384 && !causal) continue;
          out.push_back(attention(kind, std::max(1, 8192 / s), s, h, causal));
          if (!quick && s <= 4096) out.push_back(attention(kind, 1, s, h, causal));
        }
  // One query a sequence against its cache of keys and values.
  constexpr double largest_cache = 40e9;
  for (const auto& h : {grouped, Heads{32, 32, 128}, {64, 8, 128}, {8, 1, 128}})
    for (const int b : {1, 8, 32, 64, 128})
      for (const int s : {1024, 4096, 16384, 65536}) {
        if (quick && !(h.hq == 32 && h.hk == 8 && b == 32 && s == 4096)) continue;
        if (4.0 * b * s * h.hk * h.d > largest_cache) continue;
        auto c = attention("attn_decode", b, s, h, false);
        c.shape["sq"] = 1;
        out.push_back(std::move(c));
      }
  if (quick) return out;
  constexpr double settle = 2;
  for (const char* kind : {"attn_fwd", "attn_bwd"})
    for (const int s : {4096, 16384}) {
      auto c = attention(kind, std::max(1, 8192 / s), s, grouped, true);
      c.shape["l2"] = "warm";
      c.shape["regime"] = "sustained";
      c.shape["settle_s"] = settle;
      c.seconds = settle + 0.4;
      out.push_back(std::move(c));
    }
  return out;
}

std::vector<Case> metrics_cases(bool quick) {
  std::vector<Case> out;
  const auto count = [&out](Json of) { out.push_back({"metrics", {{"kind", "metrics"}, {"of", std::move(of)}}, 0.6}); };
  const auto product = [&](const char* dtype, int m, int n, int k) {
    count({{"kind", "gemm"}, {"dtype", dtype}, {"layout", "tn"}, {"m", m}, {"n", n}, {"k", k}, {"l2", "cold"}});
  };
  count({{"kind", "copy"}, {"bytes", whole(GiB)}, {"l2", "cold"}});
  product("bf16", 8192, 8192, 8192);
  if (quick) return out;
  for (const int m : {16, 256, 2048}) product("bf16", m, 8192, 8192);
  product("bf16", 4096, 4096, 4096);
  product("bf16", 8192, 28672, 4096);
  for (const int m : {16, 2048, 8192}) product("fp8_e4m3", m, 8192, 8192);
  for (const char* op : {"rms_norm", "softmax", "swiglu", "rope", "add", "cast_fp32"})
    count({{"kind", "membound"}, {"op", op}, {"dtype", "bf16"}, {"tokens", 16384}, {"h", 8192}, {"l2", "cold"}});
  count({{"kind", "adamw_fused_fp32"}, {"params", 512000000}, {"l2", "cold"}});
  for (const char* kind : {"attn_fwd", "attn_bwd"})
    for (const int s : {4096, 16384})
      count({{"kind", kind}, {"backend", "CUDNN_ATTENTION"}, {"dtype", "bf16"}, {"b", std::max(1, 8192 / s)}, {"s", s}, {"hq", 32}, {"hk", 8}, {"d", 128}, {"causal", true}, {"l2", "cold"}});
  count({{"kind", "attn_decode"}, {"backend", "CUDNN_ATTENTION"}, {"dtype", "bf16"}, {"b", 32}, {"s", 4096}, {"hq", 32}, {"hk", 8}, {"d", 128}, {"causal", false}, {"l2", "cold"}, {"sq", 1}});
  return out;
}

std::vector<Case> peer_cases(const Machine& machine, bool quick) {
  std::vector<Case> out;
  for (int from = 0; from < machine.devices; ++from)
    for (int to = 0; to < machine.devices; ++to) {
      if (from == to) continue;
      for (double bytes = quick ? MiB : KiB; bytes <= GiB; bytes *= quick ? 1024 : 4)
        out.push_back({"peer", {{"kind", "p2p_copy"}, {"from", from}, {"to", to}, {"bytes", whole(bytes)}}, 0.1});
    }
  return out;
}

}  // namespace napkin::measure
