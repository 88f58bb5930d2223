#include "calibrate/fit/kernel_fit.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>

namespace napkin::fit {
namespace {

// Where a fitted value is written.
struct Slot {
  Parameter parameter;
  std::function<void(Accelerator&, double)> set;
};

constexpr std::size_t felt_by = 2;             // samples: one alone gives no standard error
constexpr double tried = 1.25, felt = 0.002;   // a constant changed so much moves a prediction by this share
constexpr double least_gain = 0.05;  // of median and 90th percentile together, for the last three constants of a product to stay
constexpr std::size_t gemm_samples_of_all = 80;  // fewer tell the first five constants alone
constexpr double slowest_host = 1e9, slowest_row = 1e8;  // B/s
constexpr double shows_floor = 5e-6;  // s: a kernel this short is mostly floor
constexpr double shortest = 1e-9, longest_floor = 50e-6, longest_wave = 20e-6;

// The slots that at least `felt_by` of the fitted samples feel, about their starting values; names of the others go to `kept`.
std::vector<Slot> told(const Accelerator& a, const std::vector<Slot>& slots, const std::vector<KernelSample>& samples,
                       const std::vector<bool>& held_out, const Options& options, std::vector<std::string>& kept) {
  Accelerator trial = a;
  for (const auto& s : slots) s.set(trial, s.parameter.start);
  const auto at_start = [&](std::size_t i) { return predict(trial, samples[i], options.regime); };
  std::vector<double> before;
  for (std::size_t i = 0; i < samples.size(); ++i) before.push_back(held_out[i] ? 0 : at_start(i));
  std::vector<Slot> out;
  for (const auto& s : slots) {
    const double start = s.parameter.start, other = tried * start <= s.parameter.high ? tried * start : start / tried;
    s.set(trial, other);
    std::size_t moved = 0;
    for (std::size_t i = 0; i < samples.size() && moved < felt_by; ++i)
      moved += !held_out[i] && std::abs(at_start(i) / before[i] - 1) > felt ? 1 : 0;
    s.set(trial, start);
    if (moved >= felt_by) out.push_back(s);
    else kept.push_back(s.parameter.name);
  }
  return out;
}

Fit run(Accelerator& a, const std::vector<Slot>& all, const std::vector<KernelSample>& samples,
        const Options& options) {
  std::vector<double> measured;
  std::vector<bool> held_out;
  for (const auto& s : samples) {
    measured.push_back(s.seconds);
    held_out.push_back(is_held_out(s.shape, options.held_out));
  }
  std::vector<std::string> kept;
  const auto slots = told(a, all, samples, held_out, options, kept);
  const auto left = static_cast<std::size_t>(std::count(held_out.begin(), held_out.end(), false));
  if (slots.empty() || left < slots.size()) {
    Fit nothing;
    for (const auto& s : all) nothing.kept.push_back(s.parameter.name);
    return nothing;
  }
  std::vector<Parameter> parameters;
  for (const auto& s : slots) parameters.push_back(s.parameter);
  std::vector<double> current;
  const auto apply = [&](const std::vector<double>& values) {
    if (values == current) return;
    current = values;
    for (std::size_t i = 0; i < slots.size(); ++i) slots[i].set(a, values[i]);
  };
  auto fit = robust_fit(
      parameters,
      [&](const std::vector<double>& values, std::size_t i) {
        apply(values);
        return predict(a, samples[i], options.regime);
      },
      measured, held_out);
  std::vector<double> best;
  for (const auto& p : fit.parameters) best.push_back(p.value);
  apply(best);
  fit.kept = std::move(kept);
  return fit;
}

Slot gemm_rate(Format format, Regime regime) {
  const auto i = static_cast<std::size_t>(format);
  const auto leaf = "/kernels/gemm/" + std::string(regime == Regime::burst ? "burst/" : "sustained/") +
                    std::string(format_names[i]);
  return {{"rate", 0.7, 0.05, 1, leaf}, [i, regime](Accelerator& a, double v) {
            if (!a.gemm.rate[i]) a.gemm.rate[i].emplace();
            auto& rate = regime == Regime::burst ? a.gemm.rate[i]->burst : a.gemm.rate[i]->sustained;
            if (!rate) rate.emplace();
            rate->value = v;
          }};
}

const std::string elementwise = "/kernels/elementwise/";

Slot memory_fraction(Traffic traffic) {
  const auto i = static_cast<std::size_t>(traffic);
  const bool stream = traffic == Traffic::stream;
  const auto leaf = elementwise + (stream ? "memory_fraction" : "by_traffic/" + std::string(traffic_names[i]));
  return {{"memory_fraction", 0.8, 0.02, 1, leaf}, [i, stream](Accelerator& x, double v) {
            auto& fraction = x.elementwise.by_traffic[i];
            if (!stream && !fraction) fraction.emplace();
            (stream ? x.elementwise.memory_fraction : *fraction).value = v;
          }};
}

Slot traffic_floor(Traffic traffic) {
  const auto i = static_cast<std::size_t>(traffic);
  return {{"floor", 2e-6, shortest, longest_floor, elementwise + "floors/" + std::string(traffic_names[i])},
          [i](Accelerator& x, double v) {
            auto& floor = x.elementwise.floors[i];
            if (!floor) floor.emplace();
            floor->value = Seconds::si(v);
          }};
}

const KernelSample& first_of(const std::vector<KernelSample>& samples) {
  if (samples.empty()) throw std::invalid_argument("no samples to fit");
  return samples.front();
}

}  // namespace

Fit fit_gemm(Accelerator& a, const std::vector<KernelSample>& samples, const Options& options) {
  std::vector<Slot> slots{
      gemm_rate(first_of(samples).format, options.regime),
      {{"memory_fraction", 0.8, 0.2, 1, "/kernels/gemm/memory_fraction"}, [](Accelerator& x, double v) { x.gemm.memory_fraction.value = v; }},
      {{"floor", 2.5e-6, shortest, longest_floor, "/kernels/gemm/floor"}, [](Accelerator& x, double v) { x.gemm.floor.value = Seconds::si(v); }},
      {{"wave", 0.3e-6, shortest, longest_wave, "/kernels/gemm/wave"}, [](Accelerator& x, double v) { x.gemm.wave.value = Seconds::si(v); }},
      {{"split", 1.5e-6, shortest, longest_wave, "/kernels/gemm/split"}, [](Accelerator& x, double v) { x.gemm.split.value = Seconds::si(v); }}};
  if (samples.size() < gemm_samples_of_all) return run(a, slots, samples, options);
  auto fuller = slots;
  const auto optional = [&fuller](const char* name, double start, double low, double high, auto member, auto quantity) {
    fuller.push_back({{name, start, low, high, "/kernels/gemm/" + std::string(name)}, [member, quantity](Accelerator& x, double v) {
                        auto& constant = x.gemm.*member;
                        if (!constant) constant.emplace();
                        constant->value = quantity(v);
                      }});
  };
  const auto scalar = [](double v) { return Scalar(v); };
  optional("epilogue", 0.3e-6, shortest, longest_wave, &GemmConstants::epilogue, [](double v) { return Seconds::si(v); });
  optional("balance", 0.5, 0.01, 1, &GemmConstants::balance, scalar);
  optional("spread", 0.1, 1e-3, 1, &GemmConstants::spread, scalar);
  // Three constants more must pay: on the fitted shapes, since the held-out ones are not seen.
  auto plain = a;
  plain.gemm.epilogue.reset(), plain.gemm.balance.reset(), plain.gemm.spread.reset();
  const auto five = run(plain, slots, samples, options), eight = run(a, fuller, samples, options);
  const auto size = [](const Residual& r) { return r.median + r.p90; };
  if (size(eight.fitted) <= (1 - least_gain) * size(five.fitted)) return eight;
  a = std::move(plain);
  return five;
}

Fit fit_gemm_grouped(Accelerator& a, const std::vector<KernelSample>& samples, const Options& options) {
  return run(a,
             {{{"grouped", 0.5, 0.02, 1, "/kernels/gemm/grouped"}, [](Accelerator& x, double v) {
                 if (!x.gemm.grouped) x.gemm.grouped.emplace();
                 x.gemm.grouped->value = v;
               }}},
             samples, options);
}

Fit fit_gemm_rate(Accelerator& a, const std::vector<KernelSample>& samples, const Options& options) {
  Accelerator copy = a;  // the call's own time must not stay in the floor
  std::vector<Slot> slots{gemm_rate(first_of(samples).format, options.regime)};
  if (options.own_call)
    slots.push_back({{"call", 5e-6, shortest, longest_floor},
                     [](Accelerator& x, double v) { x.gemm.floor.value = Seconds::si(v); }});
  auto fit = run(copy, slots, samples, options);
  if (fit.has("rate")) gemm_rate(first_of(samples).format, options.regime).set(a, fit.value("rate"));
  return fit;
}

Fit fit_attention(Accelerator& a, const std::vector<KernelSample>& samples, const Options& options) {
  const auto& first = first_of(samples);
  const auto name = first.kernel;
  const bool backward = first.pass == Pass::backward;
  const auto at = "/kernels/attention/" + name + "/";
  // A head dimension that hold-out leaves fewer than `felt_by` rows of gives no rate, and its rows tell nothing of the rest.
  const auto dim = [](const KernelSample& s) { return static_cast<int>(s.attention.head_dim.si()); };
  std::map<int, std::size_t> left;
  for (const auto& s : samples) left[dim(s)] += is_held_out(s.shape, options.held_out) ? 0 : 1;
  std::vector<KernelSample> used;
  for (const auto& s : samples)
    if (left[dim(s)] >= felt_by) used.push_back(s);
  std::vector<std::string> kept;
  std::vector<Slot> slots;
  for (const auto& [d, n] : left) {
    if (n < felt_by) {
      kept.push_back("rate " + std::to_string(d));
      continue;
    }
    Slot& slot = slots.emplace_back();
    slot.parameter = {.name = "rate " + std::to_string(d), .start = 0.4, .low = 0.02, .high = 1,
                      .leaf = at + (backward ? "backward/" : "forward/") + std::to_string(d)};
    slot.set = [name, d = d, backward](Accelerator& x, double v) {
      auto& rate = x.attention[name].by_head_dim[d];
      (backward ? rate.backward : rate.forward).value = v;
    };
  }
  slots.push_back({{"half_keys", 100, 1, 5000, at + (backward ? "half_keys_backward" : "half_keys")}, [name, backward](Accelerator& x, double v) {
                     auto& c = x.attention[name];
                     (backward ? c.half_keys_backward : c.half_keys).value = v;
                   }});
  if (!backward)
    slots.push_back({{"floor", 5e-6, shortest, longest_floor, at + "floor"}, [name](Accelerator& x, double v) {
                       x.attention[name].floor.value = Seconds::si(v);
                     }});
  auto fit = run(a, slots, used, options);
  fit.kept.insert(fit.kept.end(), kept.begin(), kept.end());
  return fit;
}

Fit fit_attention_sustained(Accelerator& a, const std::vector<KernelSample>& samples) {
  const auto name = first_of(samples).kernel;
  return run(a,
             {{{"sustained", 0.9, 0.2, 1, "/kernels/attention/" + name + "/sustained"},
               [name](Accelerator& x, double v) { x.attention[name].sustained.value = v; }}},
             samples, {.regime = Regime::sustained, .held_out = 0});
}

Fit fit_memory(Accelerator& a, const std::vector<KernelSample>& samples, const Options& options) {
  const auto traffic = first_of(samples).traffic;
  std::vector<Slot> slots{memory_fraction(traffic)};
  const auto shortest_sample = std::min_element(samples.begin(), samples.end(), [](const auto& x, const auto& y) {
    return x.seconds < y.seconds;
  });
  if (traffic == Traffic::stream)
    slots.push_back({{"floor", 3e-6, shortest, longest_floor, elementwise + "floor"},
                     [](Accelerator& x, double v) { x.elementwise.floor.value = Seconds::si(v); }});
  else if (!shortest_sample->host_timed && shortest_sample->seconds < shows_floor)
    slots.push_back(traffic_floor(traffic));
  return run(a, slots, samples, options);
}

Fit fit_rows(Accelerator& a, const std::vector<KernelSample>& samples, const Options& options) {
  std::set<Traffic> kinds;
  for (const auto& s : samples) kinds.insert(s.traffic);
  std::vector<Slot> slots;
  for (const auto t : kinds)
    for (auto slot : {memory_fraction(t), traffic_floor(t)}) {
      slot.parameter.name += " " + std::string(traffic_names[static_cast<std::size_t>(t)]);
      slots.push_back(std::move(slot));
    }
  slots.push_back({{"row_rate", 10e9, slowest_row, a.memory_bandwidth.value.si(), elementwise + "row_rate"},
                   [](Accelerator& x, double v) {
                     if (!x.elementwise.row_rate) x.elementwise.row_rate.emplace();
                     x.elementwise.row_rate->value = Bytes::si(v) / second;
                   }});
  return run(a, slots, samples, options);
}

Fit fit_host(Accelerator& a, const std::vector<KernelSample>& samples, const Options& options) {
  const double nominal = a.host_bandwidth.value.si();
  return run(a,
             {{{"bandwidth", 0.8 * nominal, slowest_host, nominal, "/host/bandwidth"},
               [](Accelerator& x, double v) { x.host_bandwidth.value = Bytes::si(v) / second; }}},
             samples, options);
}

}  // namespace napkin::fit
