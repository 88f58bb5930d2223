#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <random>

#include "calibrate/fit/kernel_fit.hpp"
#include "calibrate/fit/library_fit.hpp"
#include "hardware/hardware_input.hpp"
#include "model/percentile.hpp"

using namespace napkin;
using namespace napkin::fit;

namespace {

// Of the model as it stands, over all samples.
Residual residual(const Accelerator& a, const std::vector<KernelSample>& samples, Regime regime) {
  std::vector<double> errors;
  for (const auto& s : samples) errors.push_back(predict(a, s, regime) / s.seconds - 1);
  return residual_of(std::move(errors));
}

// Times of `truth` with 3 % noise, every tenth sample an outlier twice to four times as slow.
std::vector<KernelSample> synthetic_gemms(const Accelerator& truth) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, 0.03);
  std::uniform_real_distribution<double> outlier(2, 4);
  std::vector<KernelSample> out;
  for (const double m : {1.0, 16.0, 128.0, 512.0, 1024.0, 4096.0, 8192.0})
    for (const double n : {1024.0, 4096.0, 7168.0, 16384.0})
      for (const double k : {1024.0, 2048.0, 5120.0, 8192.0, 16384.0}) {
        KernelSample s;
        s.gemm = {m, n, k};
        s.shape = std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
        s.seconds = predict(truth, s, Regime::burst) * std::exp(noise(random));
        if (out.size() % 10 == 9) s.seconds *= outlier(random);
        out.push_back(s);
      }
  return out;
}

}  // namespace

TEST_SUITE("fit") {
  TEST_CASE("known GEMM constants come back through noise and outliers") {
    auto truth = read_hardware("h100-sxm").accelerator;
    const auto bf16 = static_cast<std::size_t>(Format::bf16);
    truth.gemm.rate[bf16]->burst->value = 0.7;
    truth.gemm.memory_fraction.value = 0.9;
    truth.gemm.floor.value = 4 * us;
    truth.gemm.wave.value = 1 * us;
    truth.gemm.split.value = 3 * us;
    truth.gemm.epilogue = {.value = 2 * us, .place = {}, .source = {}};
    truth.gemm.balance = {.value = 0.6, .place = {}, .source = {}};
    truth.gemm.spread = {.value = 0.2, .place = {}, .source = {}};
    auto fitted = read_hardware("h100-sxm").accelerator;
    const auto fit = fit_gemm(fitted, synthetic_gemms(truth), {});
    CHECK(fit.value("rate") == doctest::Approx(0.7).epsilon(0.02));
    CHECK(fit.value("memory_fraction") == doctest::Approx(0.9).epsilon(0.04));
    CHECK(fit.value("floor") == doctest::Approx(4e-6).epsilon(0.15));
    // A wave's constant and its epilogue differ by the tile alone: their sum over a full tile is what is told well.
    CHECK(fit.value("wave") + fit.value("epilogue") == doctest::Approx(3e-6).epsilon(0.15));
    CHECK(fit.value("balance") == doctest::Approx(0.6).epsilon(0.25));
    CHECK(fit.value("spread") == doctest::Approx(0.2).epsilon(0.3));
    CHECK(fit.value("split") == doctest::Approx(3e-6).epsilon(0.25));
    CHECK(fitted.gemm.rate[bf16]->burst->value.si() == fit.value("rate"));
    CHECK(fit.held_out.n > 40);
    CHECK(fit.held_out.median < 0.04);
    for (const auto& p : fit.parameters) {
      CAPTURE(p.name);
      CHECK(p.standard_error > 0);
      CHECK_FALSE(p.at_bound);
    }
  }

  TEST_CASE("few samples leave epilogue, balance and spread as they are") {
    auto truth = read_hardware("a100-sxm-80gb").accelerator;
    auto samples = synthetic_gemms(truth);
    samples.resize(60);
    const auto fit = fit_gemm(truth, samples, {.held_out = 0});
    CHECK(fit.parameters.size() == 5);
    CHECK_FALSE(truth.gemm.epilogue);
  }

  TEST_CASE("the constants of a library come back, those that no sample feels stay, and the hop stays where ranks do not vary") {
    const auto base = read_hardware("h200").network;
    auto truth = base;
    auto tuning = std::make_shared<CollectiveTuning>(*base.tuning);
    tuning->ring[0].base.value = 3 * us;
    tuning->direct.base.value = 5 * us;
    tuning->direct.fill.value = 30 * us;
    tuning->direct.fill_size.value = 8e6 * byte;
    truth.tuning = tuning;
    truth.tiers[0].efficiency.value = 0.8;
    std::mt19937 random(5);
    std::normal_distribution<double> noise(0, 0.01);
    std::vector<CollectiveSample> samples;
    for (const auto o : {Operation::all_gather, Operation::all_reduce, Operation::send_recv, Operation::all_to_all, Operation::broadcast})
      for (double bytes = 8; bytes < 5e9; bytes *= 2) {
        auto s = collective_sample(o, 2, 0, bytes, 1);
        s.seconds = predict(truth, s) * std::exp(noise(random)) * (samples.size() % 10 == 9 ? 2 : 1);
        samples.push_back(s);
      }
    auto network = base;
    const auto fit = fit_library(network, samples, 0.2);
    CHECK(fit.value("efficiency") == doctest::Approx(0.8).epsilon(0.02));
    CHECK(fit.value("ring/ll/base") == doctest::Approx(3e-6).epsilon(0.05));
    CHECK(fit.value("direct/base") == doctest::Approx(5e-6).epsilon(0.05));
    CHECK(fit.value("direct/fill") == doctest::Approx(30e-6).epsilon(0.2));
    CHECK(fit.held_out.median < 0.03);
    for (const auto& p : fit.parameters) CHECK_FALSE(p.name.ends_with("/hop"));
    CHECK(network.tuning->own);
    CHECK_FALSE(base.tuning->own);
    CHECK(network.tuning->nvls.base.value == base.tuning->nvls.base.value);
  }

  TEST_CASE("constants of the library that all-reduce alone does not tell stay as they were") {
    auto base = read_hardware("h200").network;
    const auto given = std::make_shared<CollectiveTuning>(*base.tuning);
    given->ring[1].share.value = 0.7;
    given->chain_hop.value = 0.91;
    given->direct.base.value = 1e-9 * second;  // below what a search would start from
    base.tuning = given;
    std::vector<CollectiveSample> samples;
    for (double bytes = 8; bytes < 5e9; bytes *= 1.3) {
      auto s = collective_sample(Operation::all_reduce, 2, 0, bytes, 1);
      s.seconds = 1.05 * predict(base, s);
      samples.push_back(s);
    }
    auto network = base;
    const auto fit = fit_library(network, samples, 0);
    for (const auto& p : fit.parameters) {
      CAPTURE(p.name);
      CHECK_FALSE(p.name.starts_with("direct/"));
      CHECK(p.name != "chain_hop");
    }
    if (!fit.has("ring/ll128/share")) CHECK(network.tuning->ring[1].share.value.si() == 0.7);
    CHECK(network.tuning->chain_hop.value.si() == 0.91);
    CHECK(network.tuning->direct.base.value.si() == 1e-9);
    CHECK(network.tuning->direct.share.value == given->direct.share.value);
  }

  TEST_CASE("a constant that hold-out leaves no rows of is not written") {
    auto a = read_hardware("h200-sxm").accelerator;
    std::vector<KernelSample> samples;
    for (const double b : {1.0, 2.0, 4.0, 8.0})
      for (const double q : {512.0, 1024.0, 4096.0, 8192.0}) samples.push_back(attention_sample("cudnn", {b, q, q, 32.0, 8.0, 128.0, 128.0}, Pass::forward, 1));
    samples.push_back(attention_sample("cudnn", {2.0, 2048.0, 2048.0, 32.0, 8.0, 64.0, 64.0}, Pass::forward, 1));
    for (auto& s : samples) s.seconds = predict(a, s, Regime::burst);
    const double before = a.attention["cudnn"].by_head_dim[64].forward.value.si();
    const auto fit = fit_attention(a, samples, {.held_out = 0});
    CHECK_FALSE(fit.has("rate 64"));
    CHECK(fit.has("rate 128"));
    REQUIRE(fit.kept.size() == 1);
    CHECK(fit.kept.front() == "rate 64");
    CHECK(a.attention["cudnn"].by_head_dim[64].forward.value.si() == before);
  }

  TEST_CASE("known attention constants come back") {
    auto truth = read_hardware("h200-sxm").accelerator;
    const auto a = truth;
    auto& c = truth.attention["cudnn"];
    c.by_head_dim[128].forward.value = 0.6;
    c.half_keys.value = 200;
    c.floor.value = 6 * us;
    std::mt19937 random(3);
    std::normal_distribution<double> noise(0, 0.02);
    std::vector<KernelSample> samples;
    for (const double b : {1.0, 4.0, 16.0})
      for (const double s : {256.0, 512.0, 1024.0, 2048.0, 8192.0})
        for (const double h : {8.0, 32.0}) {
          KernelSample x;
          x.kind = KernelSample::Kind::attention;
          x.kernel = "cudnn";
          x.attention = {b, s, s, h, h, 128, 128};
          x.shape = std::to_string(b * 1e6 + s * 10 + h);
          x.seconds = predict(truth, x, Regime::burst) * std::exp(noise(random));
          samples.push_back(x);
        }
    auto fitted = a;
    const auto fit = fit_attention(fitted, samples, {.held_out = 0.2});
    CHECK(fit.value("rate 128") == doctest::Approx(0.6).epsilon(0.03));
    CHECK(fit.value("half_keys") == doctest::Approx(200).epsilon(0.25));
    CHECK(fit.value("floor") == doctest::Approx(6e-6).epsilon(0.15));
    CHECK(residual(fitted, samples, Regime::burst).median < 0.04);
  }

  TEST_CASE("a rate stays physical: the bound holds it and is marked") {
    const Model line = [](const std::vector<double>& v, std::size_t i) { return static_cast<double>(i + 1) / v[0]; };
    const auto fit = robust_fit({{"fraction", 0.5, 0.1, 1}}, line, {0.5, 1.0, 1.5, 2.0}, std::vector<bool>(4, false));
    CHECK(fit.value("fraction") == doctest::Approx(1));
    CHECK(fit.parameters.front().at_bound);
  }

  TEST_CASE("what cannot be fitted is refused") {
    const Model one = [](const std::vector<double>& v, std::size_t) { return v[0]; };
    CHECK_THROWS_AS((void)robust_fit({}, one, {1}, {false}), std::invalid_argument);
    CHECK_THROWS_AS((void)robust_fit({{"a"}}, one, {0.0}, {false}), std::invalid_argument);
    CHECK_THROWS_AS((void)robust_fit({{"a"}}, one, {1.0}, {true}), std::invalid_argument);
    CHECK_THROWS_AS((void)robust_fit({{"a"}}, one, {1.0}, {}), std::invalid_argument);
    auto a = read_hardware("h200-sxm").accelerator;
    CHECK_THROWS_AS((void)fit_gemm(a, {}, {}), std::invalid_argument);
  }

  TEST_CASE("percentiles interpolate; the held-out share is what was asked for") {
    CHECK(percentile({4, 1, 3, 2}, 0.5) == 2.5);
    CHECK(percentile({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 0.9) == 10);
    const auto r = residual_of({-0.2, 0.1, 0.4});
    CHECK(r.median == doctest::Approx(0.2));
    CHECK(r.bias == doctest::Approx(0.1));
    int held = 0;
    for (int i = 0; i < 10000; ++i) {
      const auto shape = "1x" + std::to_string(i) + "x4096";
      held += is_held_out(shape, 0.2) ? 1 : 0;
      int folds = 0;
      for (int f = 0; f < 5; ++f) folds += is_held_out(shape, {0.2, f}) ? 1 : 0;
      CHECK(folds == 1);
    }
    CHECK(held > 1850);
    CHECK(held < 2150);
  }
}
