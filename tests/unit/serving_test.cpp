#include <doctest/doctest.h>

#include <cmath>

#include "model/serving/decode.hpp"
#include "model/serving/forward.hpp"
#include "model/serving/kv_cache.hpp"
#include "model/serving/queueing.hpp"
#include "model/serving/traffic.hpp"
#include "model/transformer/model_input.hpp"
#include "tests/step_fixture.hpp"

using namespace napkin;

TEST_SUITE("serving") {
  TEST_CASE("bytes that a token leaves in the cache") {
    const Scope<Plain> s;
    const auto token = [&](const char* model) { return kv_bytes_per_token(kv_layers(s, read_model(model)), 2 * byte).si(); };
    CHECK(token("llama2-7b") == 512 * 1024);     // multi-head
    CHECK(token("llama3-70b") == 320 * 1024);    // grouped
    CHECK(token("falcon-7b") == 32 * 2 * 64 * 2);  // one key-value head
    CHECK(token("deepseek-v3") == 61 * 576 * 2);   // latent
  }

  TEST_CASE("tensor parallelism splits heads, and copies what it cannot split") {
    const Scope<Plain> s;
    const auto rank = [&](const char* model, double tp) {
      return kv_bytes_per_token_of_rank(kv_layers(s, read_model(model)), 2 * byte, Scalar(tp)).si();
    };
    CHECK(rank("llama3-70b", 8) == 40 * 1024);
    CHECK(rank("llama3-70b", 16) == 40 * 1024);  // eight heads: two ranks keep the same
    CHECK(rank("deepseek-v3", 8) == 61 * 576 * 2);
  }

  TEST_CASE("a window keeps its own length, and no more than there is") {
    const std::vector<KvLayers<Plain>> layers{{4, 2048, 0}, {22, 2048, 1024}};
    const auto at = [&](double tokens) { return kv_bytes_of_sequence(layers, 2 * byte, Scalar(tokens)).si(); };
    CHECK(at(32768) == 2 * 2048.0 * (4 * 32768 + 22 * 1024));
    CHECK(at(512) == 2 * 2048.0 * 26 * 512);
    CHECK(at(1024) == doctest::Approx(kv_bytes_per_token(layers, 2 * byte).si() * 1024));
  }

  TEST_CASE("a decode step reads its weights until the batch is critical") {
    const BytesPerSecond w = BytesPerSecond::si(3.35e12);
    const FlopsPerSecond c = FlopsPerSecond::si(989e12);
    const double b = critical_batch(c, w, 2 * byte).si();
    const auto step = [&](double batch) { return decode_step(Bytes::si(140e9), Bytes{}, Scalar(70e9), Scalar(batch), Scalar(8), w, c); };
    CHECK(step(1).time.si() == step(b * 0.99).time.si());
    CHECK(step(b).weights.si() == doctest::Approx(step(b).math.si()));
    CHECK(step(2 * b).time.si() == doctest::Approx(2 * step(1).time.si()));
    CHECK(step(b).tokens_per_s.si() == doctest::Approx(8 * step(b).per_accelerator.si()));
  }

  TEST_CASE("waiting: one server, many, and the tail") {
    const Scope<Plain> s;
    CHECK(erlang_c(1, 0.6) == doctest::Approx(0.6));
    CHECK(erlang_c(2, 1.0) == doctest::Approx(1.0 / 3));       // a²/2/(1−ρ) over 1 + a + that
    CHECK(erlang_c(10, 7.0) == doctest::Approx(0.2217).epsilon(1e-3));  // tables of formula C
    const auto wait = [&](double rate, double servers, double v, double q) {
      return queue_wait(s, PerSecond::si(rate), 0.1 * second, Scalar(servers), Scalar(v), Scalar(q));
    };
    CHECK(wait(6, 1, 1, 0.99).mean.si() == doctest::Approx(0.6 / (1 - 0.6) * 0.1));    // M/M/1
    CHECK(wait(6, 1, 0, 0.99).mean.si() == doctest::Approx(0.6 / (1 - 0.6) * 0.1 / 2));  // M/D/1: half of it
    CHECK(wait(6, 1, 1, 0.99).tail.si() == doctest::Approx(std::log(0.6 / 0.01) * 0.1 / 0.4));  // exact for M/M/1
    CHECK(wait(6, 10, 0, 0.99).tail.si() == 0);  // hardly anyone waits
    CHECK(wait(6, 1, 0, 0.999).tail.si() > wait(6, 1, 0, 0.99).tail.si());
    CHECK(wait(9, 1, 0, 0.99).tail.si() > wait(6, 1, 0, 0.99).tail.si());
    CHECK(poisson_quantile(1, 0.99) == 4);
    CHECK(poisson_quantile(10, 0.99) == 18);
    CHECK(poisson_quantile(10000, 0.5) == doctest::Approx(10000).epsilon(1e-4));
    CHECK(poisson_quantile(10000, 0.99) == doctest::Approx(10000 + 2.326 * 100).epsilon(1e-3));
  }

  TEST_CASE("a pass of a server from operators: laws, and the derivation gives the same bits") {
    test::TestJob t("llama3-8b", "h200", "pytorch-eager", 2, 4096, 8);
    const auto time = [&](int tp, const ServedBatch& b) { return served_pass(Scope<Plain>(), t.job, tp, b).time.si(); };
    const ServedBatch decode{.sequences = 8, .cached = 2048, .graph = true};
    CHECK(time(1, {.sequences = 8, .cached = 8192, .graph = true}) > time(1, decode));
    CHECK(time(1, {.sequences = 64, .cached = 2048, .graph = true}) > time(1, decode));
    CHECK(time(1, {.sequences = 8, .cached = 2048}) >= time(1, decode));  // launches are waited for
    CHECK(time(2, decode) < time(1, decode));
    CHECK(time(2, decode) > time(1, decode) / 2);
    // No faster than the weights' bytes; the cache costs no less than its bytes.
    const double weights = 2 * (8030261248.0 - 525336576.0) / 4.8e12;
    CHECK(time(1, {.graph = true}) > weights);
    const double cache = 8 * (8192.0 - 2048) * 131072 / 4.8e12;
    CHECK(time(1, {.sequences = 8, .cached = 8192, .graph = true}) - time(1, decode) > 0.9 * cache);
    const double one = time(1, {.tokens = 2048}), two = time(1, {.sequences = 2, .tokens = 2048});
    CHECK(two > 1.8 * one);
    CHECK(two < 2 * one);
    CHECK(time(1, {.tokens = 4096}) > 2 * one);  // attention grows with the square
    for (const int tp : {1, 2}) {
      Derivation d;
      CHECK(served_pass(Scope<Traced>(d), t.job, tp, decode).time.si() == time(tp, decode));
    }
  }

  TEST_CASE("speculation and queues at their ends") {
    CHECK(tokens_per_verification(Scalar(0), Scalar(4)).si() == 1);
    CHECK(tokens_per_verification(Scalar(1), Scalar(4)).si() == 5);
    CHECK(tokens_per_verification(Scalar(0.8), Scalar(1)).si() == doctest::Approx(1.8));
    CHECK(concurrency(PerSecond::si(20), 0.5 * second, Scalar(500), 25 * ms).si() == doctest::Approx(260));
    CHECK(power_of_two_above(Scalar(0.3)).si() == 1);
    CHECK(power_of_two_above(Scalar(8)).si() == 8);
    CHECK(power_of_two_above(Scalar(8.01)).si() == 16);
  }
}
