#include "calibrate/fit/hardware_fit.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "calibrate/fit/tier_fit.hpp"
#include "calibrate/fit/kernel_fit.hpp"
#include "calibrate/fit/library_fit.hpp"
#include "hardware/constants.hpp"
#include "model/input_error.hpp"
#include "model/text.hpp"

namespace napkin::fit {
namespace {

using Kind = KernelSample::Kind;
using Kernels = std::vector<KernelSample>;

// Samples that a fit of n constants needs, and below how many shapes none is held out.
constexpr std::size_t samples_per_constant = 4, fewest_to_hold_out = 10, gemm_constants = 5,
                      fewest_for_library = 60, fewest_for_rate = 2;
constexpr double same = 1e-4;
constexpr double far_off = 0.5;  // median error of shapes that were held out: the constants do not describe the group
// Backward against forward of a kernel that was never measured backward: the ratio of fused kernels on H100 and H200.
constexpr double backward_ratio = 0.85;

template <class Sample>
std::string range_of(const std::vector<Sample>& samples) {
  const auto [least, most] = std::minmax_element(samples.begin(), samples.end(), [](const auto& x, const auto& y) {
    return x.seconds < y.seconds;
  });
  return least->shape + " to " + most->shape + ", " + format(Seconds::si(least->seconds)) + " to " +
         format(Seconds::si(most->seconds));
}

template <class Sample>
HeldOut share(const std::vector<Sample>& samples, HeldOut held_out) {
  std::set<std::string> shapes;
  for (const auto& s : samples) shapes.insert(s.shape);
  return shapes.size() < fewest_to_hold_out ? HeldOut() : held_out;
}

// Rows of the fit: those that hold-out leaves.
template <class Sample>
std::size_t left(const std::vector<Sample>& samples, HeldOut held_out) {
  const auto s = share(samples, held_out);
  return static_cast<std::size_t>(std::count_if(samples.begin(), samples.end(), [&](const auto& x) { return !is_held_out(x.shape, s); }));
}

// Host-timed and kernel-timed samples are not of one group: those timed as most are (kernels, where they are as many).
template <class Sample>
std::vector<Sample> timed_alike(const std::vector<Sample>& samples) {
  const auto host = static_cast<std::size_t>(std::count_if(samples.begin(), samples.end(), [](const auto& s) { return s.host_timed; }));
  const bool keep_host = 2 * host > samples.size();
  std::vector<Sample> out;
  for (const auto& s : samples)
    if (s.host_timed == keep_host) out.push_back(s);
  return out;
}

std::string word(Regime r) { return r == Regime::burst ? "burst" : "sustained"; }

class Fitter {
  HardwareFit out_;
  Accelerator& a_ = out_.hardware.accelerator;
  const Hardware& base_;
  const Samples& samples_;
  HeldOut held_out_;
  Regime otherwise_;
  std::size_t too_short_ = 0;

  [[nodiscard]] Regime regime(const KernelSample& s) const { return s.regime.value_or(otherwise_); }

  [[nodiscard]] Kernels keep(const std::function<bool(const KernelSample&)>& wanted) const {
    Kernels out;
    for (const auto& s : samples_.kernels)
      if (!hides_behind_call(s) && wanted(s)) out.push_back(s);
    return out;
  }

  void record(const std::string& group, const std::string& range, Fit fit) {
    for (const auto& name : fit.kept)
      out_.notes.push_back(group + ": too few of the fitted samples tell " + name + "; the base's stays");
    if (fit.parameters.empty()) return;
    for (auto& p : fit.parameters) {
      if (!p.at_bound || p.leaf.empty()) continue;
      out_.notes.push_back(group + ": " + p.name + " is held by its physical bound");
      if (p.leaf.starts_with("/network/library/")) continue;  // of one tier's efficiency, which is fitted too
      const auto given = restore(p.leaf);
      // What the base has is the bound itself (host copies): nothing is changed by it.
      if (!given || std::abs(*given / p.value - 1) > same)
        out_.doubts.push_back(group + ": " + p.name + " is at its physical bound" + (given ? ", the base's stays" : ""));
      p.leaf.clear();
    }
    if (fit.held_out.n > 0 && fit.held_out.median > far_off)
      out_.doubts.push_back(group + ": shapes that were held out are off by " + format_count(std::round(100 * fit.held_out.median)) + " % (median)");
    out_.groups.push_back({group, range, std::move(fit)});
  }
  // The base's value of a constant that it has.
  std::optional<double> restore(const std::string& leaf) {
    std::optional<double> given;
    for_each_constant(base_, [&](const std::string& path, const auto& c) {
      if (path == leaf) given = c.value.si();
    });
    if (!given) return given;
    for_each_constant(out_.hardware, [&](const std::string& path, auto& c) {
      if (path == leaf) c.value = std::decay_t<decltype(c.value)>::si(*given);
    });
    return given;
  }
  bool has_rows(const std::string& group, std::size_t n, std::size_t least, std::size_t constants) {
    if (n >= least) return true;
    out_.notes.push_back(group + ": " + std::to_string(n) + (n == 1 ? " sample" : " samples") + " to fit, too few for " + std::to_string(constants) +
                         (constants == 1 ? " constant" : " constants") + "; the base's stay");
    return false;
  }
  // Counts the rows that hold-out leaves.
  template <class Sample>
  bool enough(const std::string& group, const std::vector<Sample>& samples, std::size_t constants) {
    return !samples.empty() && has_rows(group, left(samples, held_out_), samples_per_constant * constants, constants);
  }

  [[nodiscard]] Kernels gemms(Format format, Regime r) const {
    return timed_alike(keep([&](const KernelSample& s) {
      return s.kind == Kind::gemm && s.format == format && s.gemm.count.si() == 1 && regime(s) == r;
    }));
  }

  // All five constants, from the 16-bit or other product with most kernel-timed samples.
  std::optional<std::pair<Format, Regime>> fit_form() {
    std::optional<std::pair<Format, Regime>> of;
    std::size_t most = 0;
    for (std::size_t i = 0; i < number_format_count; ++i)
      for (const auto r : {Regime::burst, Regime::sustained}) {
        const auto samples = gemms(static_cast<Format>(i), r);
        if (samples.size() <= most || samples.front().host_timed) continue;  // all of a group are timed alike
        most = samples.size();
        of = {static_cast<Format>(i), r};
      }
    if (!of || left(gemms(of->first, of->second), held_out_) < samples_per_constant * gemm_constants || !a_.peak[static_cast<std::size_t>(of->first)]) return {};
    const auto samples = gemms(of->first, of->second);
    record("gemm " + std::string(to_string(of->first)) + ", " + word(of->second), range_of(samples),
           fit_gemm(a_, samples, {.regime = of->second, .held_out = share(samples, held_out_)}));
    return of;
  }

  void fit_rates() {
    const auto form = fit_form();
    for (std::size_t i = 0; i < number_format_count; ++i)
      for (const auto r : {Regime::burst, Regime::sustained}) {
        const auto format = static_cast<Format>(i);
        if (form && *form == std::pair{format, r}) continue;
        const auto samples = gemms(format, r);
        if (samples.empty()) continue;
        const auto group = "gemm " + std::string(to_string(format)) + ", " + word(r);
        if (!a_.peak[i]) {
          out_.notes.push_back(group + ": the base has no peak for it");
          continue;
        }
        const bool host_timed = samples.front().host_timed;
        if (host_timed ? !enough(group, samples, 2) : !has_rows(group, left(samples, held_out_), fewest_for_rate, 1)) continue;
        record(group, range_of(samples),
               fit_gemm_rate(a_, samples,
                             {.regime = r, .held_out = share(samples, held_out_), .own_call = host_timed}));
      }
  }

  void fit_grouped() {
    const auto samples = keep([&](const KernelSample& s) { return s.kind == Kind::gemm && s.gemm.grouped && has_format(a_, s.format); });
    if (enough("grouped products", samples, 1))
      record("grouped products", range_of(samples), fit_gemm_grouped(a_, samples, {.held_out = share(samples, held_out_)}));
  }

  [[nodiscard]] bool has_leaf(const std::string& leaf) const {
    return std::any_of(out_.groups.begin(), out_.groups.end(), [&](const GroupFit& g) {
      return std::any_of(g.fit.parameters.begin(), g.fit.parameters.end(),
                         [&](const Estimate& e) { return e.leaf == leaf; });
    });
  }

  // Where one regime of a format was measured and the other was not, sustained stays at or below burst.
  void reconcile() {
    std::optional<double> ratio;  // sustained / burst, where both were measured
    for (std::size_t i = 0; i < number_format_count; ++i) {
      const auto name = std::string(format_names[i]);
      if (has_leaf("/kernels/gemm/burst/" + name) && has_leaf("/kernels/gemm/sustained/" + name) && !ratio)
        ratio = std::min(1.0, (a_.gemm.rate[i]->sustained->value / a_.gemm.rate[i]->burst->value).si());
    }
    for (std::size_t i = 0; i < number_format_count; ++i) {
      auto& rate = a_.gemm.rate[i];
      if (!rate) continue;
      const auto at = "/kernels/gemm/", name = format_names[i].data();
      const auto burst = at + ("burst/" + std::string(name)), sustained = at + ("sustained/" + std::string(name));
      const bool b = has_leaf(burst), s = has_leaf(sustained);
      if (b && !s && ratio) {
        if (!rate->sustained) rate->sustained.emplace();
        rate->sustained->value = *ratio * rate->burst->value;
        out_.consequences.push_back({sustained, "the burst rate by sustained over burst of another format measured here"});
      } else if (b && !s && (!rate->sustained || rate->sustained->value > rate->burst->value)) {
        if (!rate->sustained) rate->sustained.emplace();
        rate->sustained->value = rate->burst->value;
        out_.consequences.push_back({sustained, "at most the burst rate measured here; long runs were not measured"});
      } else if (s && rate->burst && rate->burst->value < rate->sustained->value) {
        if (b) out_.notes.push_back("gemm " + std::string(name) + ": sustained was measured faster than burst");
        rate->burst->value = rate->sustained->value;
        out_.consequences.push_back({burst, "at least the sustained rate measured here"});
      }
    }
  }

  void fit_attention_kernel(const std::string& name, Format format) {
    if (!a_.peak[static_cast<std::size_t>(format)]) return;
    const auto at = "/kernels/attention/" + name + "/";
    const auto every = keep([&](const KernelSample& s) {
      return s.kind == Kind::attention && s.kernel == name && s.format == format && !is_decode(s.attention);
    });
    // The rates come from the regime with most samples; the other one, where it is the sustained, gives its share.
    const auto long_runs = static_cast<std::size_t>(
        std::count_if(every.begin(), every.end(), [this](const auto& s) { return regime(s) == Regime::sustained; }));
    const auto r = 2 * long_runs > every.size() ? Regime::sustained : Regime::burst;
    const auto of = [&](Pass pass) {
      Kernels out;
      for (const auto& s : every)
        if (s.pass == pass && regime(s) == r) out.push_back(s);
      return out;
    };
    const auto forward = of(Pass::forward), backward = of(Pass::backward);
    const auto constants = [](const Kernels& samples, std::size_t shared) {
      std::set<double> dims;
      for (const auto& s : samples) dims.insert(s.attention.head_dim.si());
      return dims.size() + shared;
    };
    if (!enough("attention forward " + name, forward, constants(forward, 2))) return;
    const bool known = a_.attention.contains(name);
    auto& kernel = a_.attention[name];
    if (!known) {
      kernel.block.value = 128;
      out_.consequences.push_back({at + "block", "usual tile of queries"});
    }
    // Where these measurements ran at sustained clocks the fitted rates are what training gets.
    const auto ratio = [&]() -> double {
      const auto& rate = a_.gemm.rate[static_cast<std::size_t>(format)];
      if (r == Regime::sustained || !rate || !rate->sustained || !rate->burst) return 1;
      return std::min(1.0, (rate->sustained->value / rate->burst->value).si());
    }();
    const bool share_measured = r == Regime::burst && long_runs >= fewest_for_rate;
    if (!share_measured && (!known || kernel.sustained.value.si() == 1 || r == Regime::sustained)) {
      kernel.sustained.value = ratio;
      out_.consequences.push_back({at + "sustained", r == Regime::sustained
                                                         ? "the rates were measured under sustained load"
                                                         : "sustained over burst of the matrix product"});
    }
    record("attention forward " + name, range_of(forward),
           fit_attention(a_, forward, {.regime = r, .held_out = share(forward, held_out_)}));
    if (enough("attention backward " + name, backward, constants(backward, 1))) {
      record("attention backward " + name, range_of(backward),
             fit_attention(a_, backward, {.regime = r, .held_out = share(backward, held_out_)}));
    }
    if (share_measured) {
      const auto samples = keep([&](const KernelSample& s) {
        return s.kind == Kind::attention && s.kernel == name && s.format == format && !is_decode(s.attention) &&
               regime(s) == Regime::sustained;
      });
      record("attention sustained " + name, range_of(samples), fit_attention_sustained(a_, samples));
    }
    for (auto& [dim, rate] : kernel.by_head_dim) {
      if (rate.backward.value.si() > 0) continue;
      rate.backward.value = backward_ratio * rate.forward.value;
      out_.consequences.push_back({at + "backward/" + std::to_string(dim),
                                   "backward was not measured: 0.85 of forward, as of other fused kernels"});
    }
    if (!known && !has_leaf(at + "half_keys_backward")) {
      kernel.half_keys_backward.value = kernel.half_keys.value;
      out_.consequences.push_back({at + "half_keys_backward", "as forward"});
    }
  }

  void fit_attentions() {
    std::set<std::pair<std::string, Format>> kernels;
    for (const auto& s : samples_.kernels)
      if (s.kind == Kind::attention) kernels.emplace(s.kernel, s.format);
    for (const auto& [name, format] : kernels) fit_attention_kernel(name, format);
  }

  void fit_memories() {
    // Kernels whose blocks reduce rows of known width are fitted together.
    const auto rows = keep([](const KernelSample& s) { return s.kind == Kind::memory && s.row.si() > 0 && !s.host_timed; });
    std::set<Traffic> by_rows;
    for (const auto& s : rows) by_rows.insert(s.traffic);
    if (left(rows, held_out_) < samples_per_constant * (2 * by_rows.size() + 1)) by_rows.clear();
    if (!by_rows.empty()) record("memory of rows", range_of(rows), fit_rows(a_, rows, {.held_out = share(rows, held_out_)}));
    for (std::size_t i = 0; i < traffic_count; ++i) {
      const auto traffic = static_cast<Traffic>(i);
      if (by_rows.contains(traffic)) continue;
      const auto samples = keep([&](const KernelSample& s) { return s.kind == Kind::memory && s.traffic == traffic; });
      const auto group = "memory " + std::string(traffic_names[i]);
      if (enough(group, samples, traffic == Traffic::stream ? 2 : 1))
        record(group, range_of(samples), fit_memory(a_, samples, {.held_out = share(samples, held_out_)}));
    }
    const auto copies = keep([](const KernelSample& s) { return s.kind == Kind::host; });
    if (enough("host copies", copies, 1))
      record("host copies", range_of(copies), fit_host(a_, copies, {.held_out = share(copies, held_out_)}));
  }

  void fit_network() {
    auto& network = out_.hardware.network;
    std::map<std::size_t, std::vector<CollectiveSample>> by_tier;
    for (const auto& s : samples_.collectives)
      if (s.ranks > 1 && !s.method && !hides_behind_call(s)) by_tier[tier_of(network, s)].push_back(s);
    for (const auto& [tier, every] : by_tier) {
      const auto samples = timed_alike(every);
      const auto group = "network tier " + network.tiers[tier].name;
      const bool latency = !samples.front().host_timed;
      if (tier == 0 && latency && network.tuning && left(samples, held_out_) >= fewest_for_library) {
        record("collectives in a node", range_of(samples), fit_library(network, samples, share(samples, held_out_)));
        continue;
      }
      if (!enough(group, samples, latency ? 2 : 1)) continue;
      record(group, range_of(samples), fit_tier(network, tier, samples, latency, share(samples, held_out_)));
    }
  }

  // Time must not fall as the work grows, over shapes that were not measured either.
  void check_monotone() {
    const auto check = [this](const std::string& what, const auto& seconds_at) {
      double before = 0;
      for (double size = 128; size <= 32768; size *= 2) {
        const double t = seconds_at(size);
        if (!(t >= before * (1 - 1e-9)))
          out_.notes.push_back(what + ": " + format(Seconds::si(t)) + " at size " + format_count(size) +
                               ", less than at half of it");
        before = t;
      }
    };
    const Scope<Plain> scope;
    for (std::size_t i = 0; i < number_format_count; ++i)
      if (has_format(a_, static_cast<Format>(i)))
        check("gemm " + std::string(format_names[i]), [&](double m) {
          return gemm_cost<Plain>(scope, a_, static_cast<Format>(i), 2, 2, {m, 4096.0, 4096.0}, Regime::burst).time.si();
        });
    const auto half = has_format(a_, Format::bf16) ? Format::bf16 : Format::fp16;
    if (!has_format(a_, half)) return;
    for (const auto& [name, unused] : a_.attention)
      for (const auto pass : {Pass::forward, Pass::backward})
        check("attention " + name, [&, &name = name](double s) {
          return attention_cost<Plain>(scope, a_, name, half, {1.0, s, s, 32.0, 8.0, 128.0, 128.0}, pass,
                                       Regime::burst)
              .time.si();
        });
  }

 public:
  Fitter(const Hardware& base, const Samples& samples, HeldOut held_out, Regime otherwise)
      : out_{.hardware = base, .groups = {}, .consequences = {}, .notes = {}},
        base_(base),
        samples_(samples),
        held_out_(held_out),
        otherwise_(otherwise) {
    for (const auto& s : samples_.kernels) too_short_ += hides_behind_call(s) ? 1 : 0;
    for (const auto& s : samples_.collectives) too_short_ += hides_behind_call(s) ? 1 : 0;
  }

  HardwareFit run() {
    fit_rates();
    reconcile();
    fit_grouped();
    fit_memories();
    fit_attentions();
    fit_network();
    if (out_.groups.empty()) throw InputError("none of the samples can be fitted" + (out_.notes.empty() ? std::string() : " (" + out_.notes.front() + ")") +
                                               "; napkin calibrate check lists what they hold");
    check_monotone();
    for (const auto& n : samples_.notes) out_.notes.push_back(n);
    if (too_short_ > 0)
      out_.notes.push_back(std::to_string(too_short_) + " samples timed by the host are shorter than four of its calls: not fitted");
    for (const auto& [kind, n] : samples_.unused) out_.notes.push_back(std::to_string(n) + " rows of " + kind + ": not used");
    return std::move(out_);
  }
};

}  // namespace

HardwareFit fit_hardware(const Hardware& base, const Samples& samples, HeldOut held_out, Regime regime) {
  return Fitter(base, samples, held_out, regime).run();
}

CheckReport cross_validated(const Hardware& base, const Samples& samples, int folds, Regime regime) {
  Comparer all;
  for (int fold = 0; fold < folds; ++fold) {
    const HeldOut held_out(1.0 / folds, fold);
    all.add(fit_hardware(base, samples, held_out, regime).hardware, samples, held_out, regime);
  }
  return std::move(all).report();
}

}  // namespace napkin::fit
