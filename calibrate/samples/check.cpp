#include "calibrate/samples/check.hpp"

#include <algorithm>
#include <cmath>

#include "model/input_error.hpp"

namespace napkin::fit {
namespace {

constexpr double long_kernel = 100e-6, MiB = 1024.0 * 1024;

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

}  // namespace

Comparison Comparer::summarise(const Name& name, const std::vector<Pair>& pairs) {
  std::vector<double> errors;
  for (const auto& p : pairs) errors.push_back(p.error());
  const auto& worst = *std::max_element(pairs.begin(), pairs.end(), [](const Pair& x, const Pair& y) {
    return std::abs(x.error()) < std::abs(y.error());
  });
  return {name.first, name.second, residual_of(std::move(errors)), worst.shape, worst.measured, worst.predicted};
}

void Comparer::add(const std::string& group, const std::string& large, bool is_large, const Pair& p) {
  groups_[{group, "all"}].push_back(p);
  if (is_large) groups_[{group, large}].push_back(p);
}

void Comparer::add(const Hardware& h, const Samples& samples, HeldOut held_out, Regime regime) {
  const auto unseen = [held_out](const std::string& shape) { return held_out.share <= 0 || is_held_out(shape, held_out); };
  for (const auto& s : samples.kernels) {
    if (!unseen(s.shape)) continue;
    if (hides_behind_call(s)) {
      ++out_.short_calls;
      continue;
    }
    if (const auto why = reason(h.accelerator, s); !why.empty()) {
      ++out_.refused[why];
      continue;
    }
    const Pair p{s.shape, s.seconds, predict(h.accelerator, s, s.regime.value_or(regime))};
    for (const auto& group : {s.group, family(s)}) add(group, "100 us and more", s.seconds >= long_kernel, p);
  }
  for (const auto& s : samples.collectives) {
    if (!unseen(s.shape)) continue;
    if (hides_behind_call(s)) {
      ++out_.short_calls;
      continue;
    }
    try {
      const Pair p{s.shape, s.seconds, predict(h.network, s)};
      // Where the run forced a method, that is another question than what the library does.
      add(s.group, "1 MiB and more", s.bytes >= MiB, p);
      if (s.method) continue;
      add("all collectives", "1 MiB and more", s.bytes >= MiB, p);
      groups_[{s.group + ", " + std::to_string(s.ranks) + " ranks", std::string(size_classes[size_class(s.bytes)])}].push_back(p);
      groups_[{"all collectives", std::string(size_classes[size_class(s.bytes)])}].push_back(p);
    } catch (const InputError& e) {
      ++out_.refused[e.what()];
    }
  }
}

CheckReport Comparer::report() && {
  for (const auto& [name, pairs] : groups_) {
    // A band that holds the whole group says nothing new.
    if (const auto whole = groups_.find({name.first, "all"});
        name.second != "all" && whole != groups_.end() && pairs.size() == whole->second.size())
      continue;
    out_.groups.push_back(summarise(name, pairs));
  }
  std::stable_sort(out_.groups.begin(), out_.groups.end(), [](const Comparison& x, const Comparison& y) {
    return x.residual.median > y.residual.median;
  });
  return std::move(out_);
}

CheckReport check(const Hardware& h, const Samples& samples, HeldOut held_out, Regime regime) {
  Comparer c;
  c.add(h, samples, held_out, regime);
  return std::move(c).report();
}

}  // namespace napkin::fit
