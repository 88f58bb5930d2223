// MFU and TFLOP/s that projects printed, reproduced to the digits they gave, each under its named convention.
#include <doctest/doctest.h>

#include <cmath>

#include "model/transformer/flops.hpp"
#include "model/transformer/model_input.hpp"
#include "model/transformer/parameters.hpp"

using namespace napkin;

namespace {

constexpr double h100_peak = 989e12;  // FLOP/s, dense bf16, as these projects take it

double flops_per_token(const char* model, std::int64_t sequence, FlopConvention convention) {
  return training_flops_per_token(Scope<Plain>(), read_model(model), sequence, convention).total.si();
}
// Weights of norms, which TorchTitan and Megatron count among the parameters a token is multiplied with and MaxText does not.
double norms(const char* model) {
  const Architecture a = read_model(model);
  double n = static_cast<double>(a.hidden);
  for (const auto kind : a.layers) n += static_cast<double>(layer_parameters(a, a.kinds[kind]).norms);
  return 6 * n;
}
double mfu(double flops, double tokens_per_s) { return flops * tokens_per_s / h100_peak; }
double rounded(double v, double digits) { return std::round(v * digits) / digits; }

}  // namespace

TEST_SUITE("published") {
  TEST_CASE("MFU anchors: full attention") {
    constexpr auto full = FlopConvention::full_attention;
    const double llama8b = flops_per_token("llama3-8b", 8192, full) + norms("llama3-8b");
    CHECK(llama8b / 1e9 == doctest::Approx(57.915).epsilon(0.00002));  // 57.9144
    // TorchTitan pull request 808, per cent to two decimals.
    CHECK(rounded(100 * mfu(llama8b, 5760), 100) == 33.73);
    CHECK(rounded(100 * mfu(llama8b, 6468), 100) == 37.88);
    CHECK(rounded(100 * mfu(llama8b, 7186), 100) == 42.08);
    // NeMo 24.07 performance summary, TFLOP/s.
    CHECK(std::round(12036 * llama8b / 1e12) == 697);
    CHECK(std::round(1533 * flops_per_token("llama3-70b", 8192, full) / 1e12) == 738);
    // TorchTitan pull request 481: Llama 3.1 405B, 128 GPUs; its log says 29 %.
    CHECK(rounded(100 * mfu(flops_per_token("llama3.1-405b", 8192, full), 109), 10) == 28.9);
    // MaxText issue 644: 1,053.4 TFLOP for 24,576 tokens of Llama 2 7B at sequence 2,048.
    const double llama7b = flops_per_token("llama2-7b", 2048, full);
    CHECK(llama7b / 1e9 == doctest::Approx(42.863).epsilon(0.00002));
    CHECK(rounded(24576 * llama7b / 1e12, 10) == 1053.4);
    // Mixtral 8x7B, 128 sequences in 5,580.9 ms on 16 GPUs print 234.0 TFLOP/s: at sequence 2,048 and no other.
    const auto mixtral = [&](std::int64_t s) {
      return 128.0 * static_cast<double>(s) * flops_per_token("mixtral-8x7b", s, full) / 5.5809 / 16 / 1e12;
    };
    CHECK(mixtral(2048) == doctest::Approx(234.0).epsilon(0.005));
    CHECK(mixtral(4096) > 400);
  }

  TEST_CASE("MFU anchors: causal half") {
    constexpr auto half = FlopConvention::causal_half;
    // Megatron-Bridge 2026: 148.04 GFLOP a token for Qwen3-235B at 4,096, without the router's projection; full attention would be 167.
    const Architecture qwen = read_model("qwen3-235b-a22b");
    double router = 0;
    for (const auto kind : qwen.layers)
      if (const auto& moe = qwen.kinds[kind].ffn.moe) router += 6.0 * static_cast<double>(qwen.hidden) * static_cast<double>(moe->experts);
    CHECK(rounded((flops_per_token("qwen3-235b-a22b", 4096, half) + norms("qwen3-235b-a22b") - router) / 1e9, 100) == 148.04);
    CHECK(std::round(flops_per_token("qwen3-235b-a22b", 4096, FlopConvention::full_attention) / 1e9) == 167);
    // DeepSeek-V3 with its MTP module at 4,096: 260.3 printed, 260.6 by separate widths of queries and values.
    CHECK(flops_per_token("deepseek-v3", 4096, half) / 1e9 == doctest::Approx(260.6).epsilon(0.003));
  }

  TEST_CASE("MFU anchors: 6N alone") {
    // GLM-130B: 400 billion tokens in 60 days on 768 A100.
    const double rate = 6 * 130e9 * 400e9 / (60 * 86400.0 * 768);
    CHECK(std::round(rate / 1e12) == 78);
    CHECK(std::round(100 * rate / 312e12) == 25);
  }
}
