#include "calibrate/samples/check.hpp"

#include <algorithm>
#include <cmath>

#include "model/input_error.hpp"

namespace napkin::fit {
namespace {

constexpr double long_kernel = 100e-6, large_message = 1024.0 * 1024;

struct Pair {
  std::string shape;
  double measured, predicted;
  [[nodiscard]] double error() const { return predicted / measured - 1; }
};
using Groups = std::map<std::pair<std::string, std::string>, std::vector<Pair>>;

// What a group belongs to: its first word, and for attention the pass.
std::string family(const KernelSample& s) {
  switch (s.kind) {
    case KernelSample::Kind::gemm: return "all gemm";
    case KernelSample::Kind::attention:
      if (is_decode(s.attention)) return "all attention decode";
      return s.pass == Pass::forward ? "all attention forward" : "all attention backward";
    case KernelSample::Kind::memory: return "all memory-bound";
    case KernelSample::Kind::host: break;
  }
  return "all host copies";
}

// Why a machine's file cannot predict a sample; empty = it can.
std::string reason(const Accelerator& a, const KernelSample& s) {
  if (s.kind == KernelSample::Kind::attention && !a.attention.contains(s.kernel))
    return a.name + " has no attention kernel \"" + s.kernel + "\"";
  const bool matrix = s.kind == KernelSample::Kind::gemm || s.kind == KernelSample::Kind::attention;
  if (matrix && !has_format(a, s.format)) return a.name + " has no rate for " + std::string(to_string(s.format));
  return {};
}

Comparison summarise(const std::pair<std::string, std::string>& name, const std::vector<Pair>& pairs) {
  std::vector<double> errors;
  for (const auto& p : pairs) errors.push_back(p.error());
  const auto& worst = *std::max_element(pairs.begin(), pairs.end(), [](const Pair& x, const Pair& y) {
    return std::abs(x.error()) < std::abs(y.error());
  });
  return {name.first, name.second, residual_of(std::move(errors)), worst.shape, worst.measured, worst.predicted};
}

}  // namespace

CheckReport check(const Hardware& h, const Samples& samples, double held_out, Regime regime) {
  CheckReport out;
  Groups groups;
  const auto unseen = [held_out](const std::string& shape) { return held_out <= 0 || is_held_out(shape, held_out); };
  const auto add = [&groups](const std::string& group, const std::string& large, bool is_large, const Pair& p) {
    groups[{group, "all"}].push_back(p);
    if (is_large) groups[{group, large}].push_back(p);
  };
  for (const auto& s : samples.kernels) {
    if (!unseen(s.shape)) continue;
    if (hides_behind_call(s)) {
      ++out.short_calls;
      continue;
    }
    if (const auto why = reason(h.accelerator, s); !why.empty()) {
      ++out.refused[why];
      continue;
    }
    const Pair p{s.shape, s.seconds, predict(h.accelerator, s, s.regime.value_or(regime))};
    for (const auto& group : {s.group, family(s)}) add(group, "100 us and more", s.seconds >= long_kernel, p);
  }
  for (const auto& s : samples.collectives) {
    if (!unseen(s.shape)) continue;
    if (hides_behind_call(s)) {
      ++out.short_calls;
      continue;
    }
    try {
      const Pair p{s.shape, s.seconds, predict(h.network, s)};
      for (const auto& group : {s.group, std::string("all collectives")})
        add(group, "1 MiB and more", s.bytes >= large_message, p);
    } catch (const InputError& e) {
      ++out.refused[e.what()];
    }
  }
  for (const auto& [name, pairs] : groups) {
    // A band that holds the whole group says nothing new.
    if (name.second != "all" && pairs.size() == groups.at({name.first, "all"}).size()) continue;
    out.groups.push_back(summarise(name, pairs));
  }
  std::stable_sort(out.groups.begin(), out.groups.end(), [](const Comparison& x, const Comparison& y) {
    return x.residual.median > y.residual.median;
  });
  return out;
}

Residual check(const Accelerator& a, const std::vector<KernelSample>& samples, Regime regime) {
  std::vector<double> errors;
  for (const auto& s : samples) errors.push_back(predict(a, s, regime) / s.seconds - 1);
  return residual_of(std::move(errors));
}

}  // namespace napkin::fit
