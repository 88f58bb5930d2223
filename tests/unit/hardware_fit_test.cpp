// A whole machine from synthetic samples: known constants come back through noise and 10 % outliers, and the file that is
// written reads back as the machine that was fitted.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "calibrate/fit/hardware_file.hpp"
#include "calibrate/fit/kernel_fit.hpp"
#include "calibrate/samples/check.hpp"
#include "hardware/constants.hpp"
#include "hardware/hardware_input.hpp"

using namespace napkin;
using namespace napkin::fit;

namespace {

class Noise {
  std::mt19937 random_{11};
  std::normal_distribution<double> normal_{0, 0.02};
  int n_ = 0;

 public:
  double operator()(double seconds) {
    const double outlier = ++n_ % 10 == 0 ? 2.5 : 1;
    return seconds * std::exp(normal_(random_)) * outlier;
  }
};

Samples measurements(const Hardware& truth) {
  Noise noise;
  Samples out;
  const auto add = [&](KernelSample s, Regime regime) {
    s.regime = regime;
    s.seconds = noise(predict(truth.accelerator, s, regime));
    out.kernels.push_back(s);
  };
  for (const auto* type : {"bf16", "fp8"})
    for (const double m : {1.0, 64.0, 512.0, 2048.0, 8192.0})
      for (const double n : {1024.0, 4096.0, 14336.0})
        for (const double k : {1024.0, 4096.0, 8192.0, 16384.0}) add(gemm_sample(*matrix_type(type), {m, n, k}, 1), Regime::burst);
  for (const double m : {4096.0, 8192.0, 16384.0}) add(gemm_sample(*matrix_type("bf16"), {m, 8192.0, 8192.0}, 1), Regime::sustained);
  for (const auto pass : {Pass::forward, Pass::backward})
    for (const double b : {1.0, 4.0, 16.0})
      for (const double q : {512.0, 1024.0, 2048.0, 4096.0, 8192.0})
        for (const double d : {64.0, 128.0}) {
          const AttentionShape<Plain> shape{b, q, q, 32.0, 8.0, d, d};
          add(attention_sample("cudnn", shape, pass, 1), Regime::burst);
          if (q == 8192) add(attention_sample("cudnn", shape, pass, 1), Regime::sustained);
        }
  for (double bytes = 1e4; bytes < 1e10; bytes *= 1.6) add(memory_sample(Traffic::stream, bytes, 1), Regime::burst);
  for (double bytes = 1e7; bytes < 1e10; bytes *= 1.6) add(memory_sample(Traffic::norm, bytes, 1), Regime::burst);
  for (double bytes = 64; bytes < 5e9; bytes *= 2)
    for (const auto o : {Operation::all_gather, Operation::reduce_scatter}) {
      auto s = collective_sample(o, 8, 0, bytes, 1);
      s.seconds = noise(predict(truth.network, s));
      out.collectives.push_back(s);
    }
  return out;
}

}  // namespace

TEST_SUITE("hardware fit") {
  // The committed runs of `calibrate measure`: what was held out, by hash, against the file fitted to the rest.
  TEST_CASE("one and two H200: held-out medians and 90th percentiles") {
    const std::string folder = NAPKIN_SOURCE_DIR "/tests/own/measure/";
    const auto samples = read_samples({folder + "h200.jsonl", folder + "h200-2gpu.jsonl"});
    CHECK(samples.rows == 3306);
    CHECK(samples.device.at("name") == "NVIDIA H200");
    const auto fit = fit_hardware(read_hardware("h200"), samples, 0.2, Regime::burst);
    const auto report = check(fit.hardware, samples, 0.2, Regime::burst);
    const struct {
      const char *group, *sizes;
      double median, p90;  // per cent: what was asked for
    } rows[] = {{"gemm bf16", "100 us and more", 3, 9},
                {"gemm bf16", "all", 5, 13},
                {"gemm fp8", "100 us and more", 3, 9},
                {"gemm fp8", "all", 4, 10},
                {"attention forward cudnn", "all", 4, 12},
                {"attention backward cudnn", "all", 6, 15},
                {"all attention decode", "100 us and more", 4, 12},
                {"all memory-bound", "100 us and more", 5, 12},
                {"all memory-bound", "all", 5, 12}};
    for (const auto& row : rows) {
      CAPTURE(row.group);
      CAPTURE(row.sizes);
      const auto at = std::find_if(report.groups.begin(), report.groups.end(), [&](const Comparison& c) {
        return c.group == row.group && c.sizes == row.sizes;
      });
      REQUIRE(at != report.groups.end());
      CHECK(100 * at->residual.median <= row.median);
      CHECK(100 * at->residual.p90 <= row.p90);
    }
    const auto& gemm = fit.hardware.accelerator.gemm.rate[static_cast<std::size_t>(Format::bf16)];
    CHECK(gemm->sustained->value.si() < 0.9 * gemm->burst->value.si());
  }

  // Few sizes of each kind are held out of one fit: here every one is predicted by a fit that has not seen it.
  TEST_CASE("two H200: every collective by the one of five fits that did not see it") {
    const auto samples = read_samples({NAPKIN_SOURCE_DIR "/tests/own/measure/h200-2gpu.jsonl"});
    const auto report = cross_validated(read_hardware("h200"), samples, 5, Regime::burst);
    const auto median = [&](const std::string& group, const std::string& sizes) {
      const auto at = std::find_if(report.groups.begin(), report.groups.end(),
                                   [&](const Comparison& c) { return c.group == group && c.sizes == sizes; });
      REQUIRE(at != report.groups.end());
      std::printf("%-16s %-16s n %3zu  median %4.1f %%  p90 %4.1f %%\n", group.c_str(), sizes.c_str(), at->residual.n,
                  100 * at->residual.median, 100 * at->residual.p90);
      return 100 * at->residual.median;
    };
    for (const auto* kind : {"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "send-recv", "broadcast"}) {
      CAPTURE(kind);
      CHECK(median(kind, "1 MiB and more") <= 8);
      CHECK(median(kind + std::string(", 2 ranks"), "to 4 KiB") <= 20);
    }
  }

  // The tables: fitted on half of the shapes, reported on the other.
  TEST_CASE("bf16 products of third-party tables, by a fit to the other half") {
    const char* given = std::getenv("NAPKIN_SHARED_DATA");
    const std::string table = (given != nullptr ? given : NAPKIN_SOURCE_DIR "/../shared/data") + std::string("/measured/gemm_us.csv");
    if (!std::filesystem::exists(table)) {
      std::printf("skipped: no %s\n", table.c_str());
      return;
    }
    const struct {
      const char *device, *hardware;
      double median, p90;  // per cent
    } rows[] = {{"A100-SXM4-80GB", "a100-sxm-80gb", 4, 13},
                {"H100-SXM5-80GB", "h100-sxm", 3, 11},
                {"H200-SXM-141GB", "h200-sxm", 4.5, 13},
                {"B200-HGX", "b200-hgx", 7, 19}};
    for (const auto& row : rows) {
      CAPTURE(row.device);
      auto a = read_hardware(row.hardware).accelerator;
      const auto fit = fit_gemm(a, read_gemm_table(table, row.device, "bfloat16"), {.held_out = 0.5});
      std::printf("gemm bf16 %-16s held out %zu  median %4.1f %%  p90 %4.1f %%\n", row.device, fit.held_out.n,
                  100 * fit.held_out.median, 100 * fit.held_out.p90);
      CHECK(100 * fit.held_out.median <= row.median);
      CHECK(100 * fit.held_out.p90 <= row.p90);
    }
  }

  TEST_CASE("known constants come back, in two regimes, and the written file holds them") {
    auto truth = read_hardware("h200");
    auto& a = truth.accelerator;
    const auto bf16 = static_cast<std::size_t>(Format::bf16), fp8 = static_cast<std::size_t>(Format::fp8);
    a.gemm.rate[bf16]->burst->value = 0.78;
    a.gemm.rate[bf16]->sustained->value = 0.62;
    a.gemm.rate[fp8]->burst->value = 0.66;
    a.gemm.memory_fraction.value = 0.9;
    a.elementwise.memory_fraction.value = 0.85;
    a.elementwise.by_traffic[static_cast<std::size_t>(Traffic::norm)]->value = 0.6;
    truth.network.tiers[0].efficiency.value = 0.75;
    a.attention["cudnn"].sustained.value = 0.85;
    a.attention["cudnn"].by_head_dim[128].backward.value = 0.55;
    const auto fit = fit_hardware(read_hardware("h200"), measurements(truth), 0.2, Regime::burst);
    const auto text = hardware_file(fit, "mine", "synthetic", {{"driver", "1"}});
    CHECK(hardware_problems(Document::parse(text, "mine.json")).empty());
    const auto back = read_hardware(Document::parse(text, "mine.json"));
    const auto& b = back.accelerator;
    CHECK(b.gemm.rate[bf16]->burst->value.si() == doctest::Approx(0.78).epsilon(0.02));
    CHECK(b.gemm.rate[bf16]->sustained->value.si() == doctest::Approx(0.62).epsilon(0.03));
    CHECK(b.gemm.rate[fp8]->burst->value.si() == doctest::Approx(0.66).epsilon(0.02));
    CHECK(b.gemm.rate[fp8]->sustained->value.si() == doctest::Approx(0.66 * 0.62 / 0.78).epsilon(0.04));  // by the ratio
    CHECK(b.gemm.rate[fp8]->sustained->source->kind == Evidence::assumed);
    CHECK(b.gemm.memory_fraction.value.si() == doctest::Approx(0.9).epsilon(0.03));
    CHECK(b.elementwise.memory_fraction.value.si() == doctest::Approx(0.85).epsilon(0.02));
    CHECK(b.elementwise.by_traffic[static_cast<std::size_t>(Traffic::norm)]->value.si() == doctest::Approx(0.6).epsilon(0.02));
    CHECK(back.network.tiers[0].efficiency.value.si() == doctest::Approx(0.75).epsilon(0.03));
    CHECK(b.attention.at("cudnn").sustained.value.si() == doctest::Approx(0.85).epsilon(0.03));
    CHECK(b.attention.at("cudnn").by_head_dim.at(128).backward.value.si() == doctest::Approx(0.55).epsilon(0.04));
    CHECK(b.gemm.rate[bf16]->burst->source->kind == Evidence::fitted);
    for (const auto& g : fit.groups) {
      CAPTURE(g.group);
      CHECK(g.fit.fitted.median < 0.04);
      for (const auto& p : g.fit.parameters) CHECK(p.standard_error >= 0);
    }
    CHECK(text.find("held_out_median_pct") != std::string::npos);
    CHECK(text.find("standard_error") != std::string::npos);
  }

  TEST_CASE("every machine of the catalog survives being written and read") {
    Samples s;
    for (double bytes = 1e7; bytes < 1e10; bytes *= 1.5) s.kernels.push_back(memory_sample(Traffic::stream, bytes, bytes / 5e11 + 3e-6));
    for (const auto& name : catalog_names()) {
      CAPTURE(name);
      const auto fit = fit_hardware(read_hardware(name), s, 0, Regime::burst);
      const auto back = read_hardware(Document::parse(hardware_file(fit, "mine", "synthetic", {}), "mine.json"));
      std::map<std::string, double> values;
      for_each_constant(fit.hardware, [&](const std::string& leaf, const auto& c) { values[leaf] = c.value.si(); });
      std::size_t same = 0;
      for_each_constant(back, [&](const std::string& leaf, const auto& c) {
        CAPTURE(leaf);
        CHECK(c.value.si() == doctest::Approx(values.at(leaf)).epsilon(1e-4));
        ++same;
      });
      CHECK(same == values.size());
    }
  }

  TEST_CASE("samples that tell nothing are refused") {
    CHECK_THROWS_AS((void)fit_hardware(read_hardware("h200"), Samples{}, 0.2, Regime::burst), InputError);
  }
}
