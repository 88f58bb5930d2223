#include <doctest/doctest.h>

#include <cmath>

#include "hardware/hardware_input.hpp"
#include "model/input_error.hpp"
#include "model/kernel/kernel.hpp"

using namespace napkin;

namespace {

const Scope<Plain> plain_scope;

// A machine with round numbers: 100 units, 1 PFLOP/s at 0.8, 1 TB/s at 0.5, no floors.
Accelerator round_machine() {
  Accelerator a;
  a.name = "round";
  const auto bf16 = static_cast<std::size_t>(Format::bf16);
  a.peak[bf16] = Constant<FlopsPerSecond>{1000 * TFLOP / second, "", nullptr};
  a.gemm.rate[bf16] = MatrixRate{Constant<Scalar>{0.8, "", nullptr}, Constant<Scalar>{1.0, "", nullptr}};
  a.memory_bandwidth.value = TB / second;
  a.units.value = 100;
  a.gemm.memory_fraction.value = 0.5;
  a.gemm.tiles = {{128, 128}};
  a.elementwise.memory_fraction.value = 0.5;
  auto& fused = a.attention["fused"];
  fused.by_head_dim[128] = {{0.5, "", nullptr}, {0.4, "", nullptr}};
  fused.half_keys.value = fused.half_keys_backward.value = 100;
  fused.block.value = 128;
  fused.sustained.value = 1;
  return a;
}

Seconds gemm(const Accelerator& a, double m, double n, double k, Regime regime = Regime::sustained,
             double count = 1) {
  return gemm_cost<Plain>(plain_scope, a, Format::bf16, 2, 2, {m, n, k, count}, regime).time;
}

Seconds attention(const Accelerator& a, std::string_view kernel, const AttentionShape<Plain>& s,
                  Pass pass = Pass::forward) {
  return attention_cost<Plain>(plain_scope, a, kernel, Format::bf16, s, pass, Regime::sustained).time;
}

// Counts the pairs one by one.
double counted_pairs(int queries, int keys, bool causal, int window) {
  double pairs = 0;
  for (int q = 0; q < queries; ++q) {
    const int seen = causal ? std::max(0, keys - queries + q + 1) : keys;
    pairs += window > 0 ? std::min(seen, window) : seen;
  }
  return pairs;
}

}  // namespace

TEST_SUITE("kernel") {
  TEST_CASE("a huge square GEMM runs at the rate of its regime") {
    const auto a = round_machine();
    const double ideal = 2 * std::pow(12800.0, 3) / 1e15;
    CHECK(gemm(a, 12800, 12800, 12800, Regime::burst).si() == doctest::Approx(ideal).epsilon(1e-3));
    CHECK(gemm(a, 12800, 12800, 12800).si() == doctest::Approx(ideal / 0.8).epsilon(1e-3));
  }

  TEST_CASE("a skinny GEMM runs at the memory rate") {
    const double bytes = 2 * (16384.0 * 16384 + 2 * 16384);
    CHECK(gemm(round_machine(), 1, 16384, 16384).si() == doctest::Approx(bytes / 0.5e12).epsilon(0.01));
  }

  TEST_CASE("one tile more than a full wave costs a wave") {
    auto a = round_machine();
    a.gemm.memory_fraction.value = 1;
    a.memory_bandwidth.value = 1e6 * TB / second;  // compute alone
    const auto full = gemm(a, 128 * 10, 128 * 10, 4096), over = gemm(a, 128 * 10 + 1, 128 * 10, 4096);
    CHECK(over.si() == doctest::Approx(2 * full.si()));
    CHECK(gemm(a, 128 * 20, 128 * 10, 4096).si() == doctest::Approx(over.si()));
    // Batched products share the waves.
    CHECK(gemm(a, 128, 128, 4096, Regime::sustained, 100).si() == doctest::Approx(full.si()));
  }

  TEST_CASE("k is split only while units are idle, and costs what it costs") {
    auto a = round_machine();
    a.memory_bandwidth.value = 1e6 * TB / second;
    const auto whole = gemm(a, 128, 128, 16384);
    CHECK(whole.si() == doctest::Approx(2.0 * 128 * 128 * 16384 / 8 / 8e12).epsilon(0.01));  // 8 units work
    a.gemm.split.value = Seconds::si(1);
    CHECK(gemm(a, 128, 128, 16384).si() == doctest::Approx(8 * whole.si()).epsilon(0.01));
  }

  TEST_CASE("empty products and empty attention are free") {
    const auto a = round_machine();
    CHECK(gemm(a, 0, 128, 128).si() == 0);
    CHECK(gemm(a, 128, 128, 0).si() == 0);
    CHECK(elementwise_cost<Plain>(plain_scope, a, Bytes{}).time.si() == 0);
    CHECK(attention(a, "fused", {0, 128, 128, 8, 8, 128, 128}).si() == 0);
    CHECK(attention(a, "unfused", {1, 0, 128, 8, 8, 128, 128}).si() == 0);
  }

  TEST_CASE("what a machine lacks is refused by name") {
    const auto a = round_machine();
    CHECK(has_format(a, Format::bf16));
    CHECK_FALSE(has_format(a, Format::fp8));
    CHECK_THROWS_WITH_AS((void)gemm_cost<Plain>(plain_scope, a, Format::fp8, 1, 2, {8, 8, 8}, Regime::burst),
                         "round has no matrix rate for fp8; it has bf16", InputError);
    CHECK_THROWS_WITH_AS((void)attention(a, "fa9", {1, 128, 128, 8, 8, 128, 128}),
                         "round has no attention kernel \"fa9\"; write one of fused, unfused", InputError);
  }

  TEST_CASE("pairs are counted exactly") {
    for (const int queries : {1, 2, 7, 16})
      for (const int keys : {1, 5, 16, 33})
        for (const int window : {0, 1, 4, 16, 64})
          for (const bool causal : {true, false}) {
            CAPTURE(queries);
            CAPTURE(keys);
            CAPTURE(window);
            CAPTURE(causal);
            const AttentionShape<Plain> s{1, queries, keys, 1, 1, 64, 64, causal, window};
            CHECK(attention_pairs(s).si() == counted_pairs(queries, keys, causal, window));
          }
  }

  TEST_CASE("attention FLOPs: two products over the pairs; backward 2.5 times") {
    const auto a = round_machine();
    const AttentionShape<Plain> s{2, 1024, 1024, 8, 2, 128, 64};
    CHECK(attention_flops(s).si() == 2.0 * 2 * 8 * (1024.0 * 1025 / 2) * (128 + 64));
    const auto forward = attention_cost<Plain>(plain_scope, a, "fused", Format::bf16, s, Pass::forward, Regime::burst);
    const auto backward =
        attention_cost<Plain>(plain_scope, a, "fused", Format::bf16, s, Pass::backward, Regime::burst);
    CHECK(backward.flops.si() == doctest::Approx(2.5 * forward.flops.si()));
    const auto unfused = attention_cost<Plain>(plain_scope, a, "unfused", Format::bf16, s, Pass::forward, Regime::burst);
    CHECK(unfused.flops.si() == 2.0 * 2 * 8 * 1024 * 1024 * (128 + 64));  // no product skips the masked half
    CHECK(unfused.bytes > forward.bytes);
  }

  TEST_CASE("long attention approaches its rate, decode the memory rate") {
    const auto a = round_machine();
    const AttentionShape<Plain> longest{1, 1 << 20, 1 << 20, 64, 8, 128, 128};
    CHECK(attention(a, "fused", longest).si() == doctest::Approx(attention_flops(longest).si() / 0.5e15).epsilon(0.01));
    const AttentionShape<Plain> decode{64, 1, 16384, 32, 8, 128, 128};
    const double bytes = 64.0 * (16384 * 8 + 32) * 256 * 2;
    CHECK(attention(a, "fused", decode).si() == doctest::Approx(bytes / 0.5e12).epsilon(0.01));
    // A window bounds the work of a long sequence.
    auto windowed = longest;
    windowed.window = 1024;
    CHECK(attention(a, "fused", windowed).si() < 0.01 * attention(a, "fused", longest).si());
  }

  TEST_CASE("over the catalog: never faster than peak or bandwidth, growing with the shape") {
    for (const auto& name : catalog_names()) {
      CAPTURE(name);
      const auto a = read_hardware(name).accelerator;
      const auto format = has_format(a, Format::bf16) ? Format::bf16 : Format::fp16;
      const double peak = a.peak[static_cast<std::size_t>(format)]->value.si();
      for (const auto regime : {Regime::sustained, Regime::burst})
        for (const double m : {1.0, 100.0, 1024.0, 8192.0})
          for (const double n : {1024.0, 5000.0, 16384.0})
            for (const double k : {64.0, 4096.0, 28672.0}) {
              const auto cost = [&](double x, double y, double z) {
                return gemm_cost<Plain>(plain_scope, a, format, 2, 2, {x, y, z}, regime);
              };
              const auto c = cost(m, n, k);
              CHECK(c.time.si() >= c.flops.si() / peak);
              CHECK(c.time.si() >= c.bytes.si() / a.memory_bandwidth.value.si());
              // Twice the work never takes less; waves and splits may hide a few per cent of it.
              for (const auto& twice : {cost(2 * m, n, k), cost(m, 2 * n, k), cost(m, n, 2 * k)}) {
                CHECK(twice.time.si() >= 0.999 * c.time.si());
                CHECK(twice.time.si() <= 2.7 * c.time.si());
              }
            }
      for (const auto& [kernel, constants] : a.attention)
        for (const double s : {128.0, 1024.0, 16384.0})
          for (const auto pass : {Pass::forward, Pass::backward}) {
            const AttentionShape<Plain> shape{1, s, s, 32, 8, 128, 128};
            const auto c = attention_cost<Plain>(plain_scope, a, kernel, format, shape, pass, Regime::burst);
            CHECK(c.time.si() >= c.flops.si() / peak);
            CHECK(c.time.si() >= c.bytes.si() / a.memory_bandwidth.value.si());
            auto longer = shape;
            longer.queries = longer.keys = 2 * s;
            CHECK(attention_cost<Plain>(plain_scope, a, kernel, format, longer, pass, Regime::burst).time > c.time);
          }
    }
  }

  TEST_CASE("plain and traced costs are bit-identical") {
    for (const auto name : {"h200-sxm", "a100-sxm-80gb", "tpu-v6e"}) {
      const auto a = read_hardware(name).accelerator;
      for (const double m : {1.0, 130.0, 4096.0})
        for (const double k : {80.0, 5120.0})
          for (const auto regime : {Regime::sustained, Regime::burst}) {
            Derivation d;
            const Scope<Traced> scope(d);
            const GemmShape<Traced> shape{scope.input("m", m), scope.input("n", 1536), scope.input("k", k)};
            const auto traced = gemm_cost<Traced>(scope, a, Format::bf16, 2, 2, shape, regime);
            const auto plain = gemm_cost<Plain>(plain_scope, a, Format::bf16, 2, 2, {m, 1536, k}, regime);
            CHECK(traced.time.si() == plain.time.si());
            CHECK(traced.flops.si() == plain.flops.si());
            CHECK(traced.bytes.si() == plain.bytes.si());
            CHECK(traced.time.why() != nullptr);
          }
      for (const std::string& kernel : {a.attention.begin()->first, std::string("unfused")})
        for (const double s : {1.0, 96.0, 4096.0})
          for (const std::int64_t window : {0, 512})
            for (const auto pass : {Pass::forward, Pass::backward}) {
              Derivation d;
              const Scope<Traced> scope(d);
              const auto length = scope.input("s", s);
              const AttentionShape<Traced> shape{2, length, length, 16, 4, 192, 128, true, window};
              const AttentionShape<Plain> same{2, s, s, 16, 4, 192, 128, true, window};
              const auto traced =
                  attention_cost<Traced>(scope, a, kernel, Format::bf16, shape, pass, Regime::sustained);
              const auto plain =
                  attention_cost<Plain>(plain_scope, a, kernel, Format::bf16, same, pass, Regime::sustained);
              CHECK(traced.time.si() == plain.time.si());
              CHECK(traced.flops.si() == plain.flops.si());
              CHECK(traced.bytes.si() == plain.bytes.si());
            }
      Derivation d;
      const Scope<Traced> scope(d);
      CHECK(elementwise_cost<Traced>(scope, a, scope.input("bytes", 3 * MB), Traffic::norm).time.si() ==
            elementwise_cost<Plain>(plain_scope, a, 3 * MB, Traffic::norm).time.si());
    }
  }
}
