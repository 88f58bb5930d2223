// Mechanisms that framework profiles select: what is run again, how states are sharded and exchanged, what drifts.
#include <doctest/doctest.h>

#include <cmath>

#include "model/step/data_parallel.hpp"
#include "tests/step_fixture.hpp"

using namespace napkin;
using namespace napkin::test;

namespace {

const Scope<Plain> plain_scope;

// One layer of Llama-3-8B: h 4096, kv 1024, ffn 14336.
LayerCost<Plain> layer(const TestJob& t, Recompute r, std::uint8_t modules) {
  return layer_cost(plain_scope, t.job, {.recompute = r, .modules = modules}, t.model.kinds[0]);
}
double term(const StepCost<Plain>& s, Term t) { return s.terms[static_cast<std::size_t>(t)].si(); }

}  // namespace

TEST_SUITE("mechanisms") {
  TEST_CASE("every second linear: k, the output projection and one of gate and up run again") {
    TestJob t("llama3-8b", "h100", "torchtitan", 8, 8192, 8);
    const LayerKey key{.recompute = Recompute::selective, .modules = recompute_second_products};
    const auto ops = layer_operators(plain_scope, t.model, t.model.kinds[0], shard_of(t.job, key), t.profile);
    double again = 0, all = 0;
    for (const auto& o : ops) {
      if (o.kind != Operator<Plain>::Kind::gemm) continue;
      const double work = (o.gemm.m * o.gemm.n * o.gemm.k).si();
      all += work;
      if ((o.rerun & recompute_second_products) != 0) again += o.second_rerun.si() * work;
    }
    const double h = 4096, kv = 1024, f = 14336;
    CHECK(again / all == doctest::Approx((h * kv + h * h + h * f) / (2 * h * h + 2 * h * kv + 3 * h * f)));
  }

  TEST_CASE("every second linear: kept are the input, q, v, the attention's output and one of gate and up") {
    TestJob t("llama3-8b", "h100", "torchtitan", 8, 8192, 8);
    const auto c = layer(t, Recompute::selective, recompute_second_products);
    const double T = 8192, h = 4096, kv = 1024, f = 14336, heads = 32;
    const double statistics = T * 4 * t.profile.saved.norm_statistics.value.si();
    CHECK(c.saved.si() == doctest::Approx(T * 2 * (3 * h + kv + f) + T * heads * 4 + statistics));
    const auto none = layer(t, Recompute::none, 0);
    CHECK((c.saved + c.transient).si() == doctest::Approx(none.saved.si()));
    CHECK(c.recompute.si() > 0.28 * none.forward.total().si());
    CHECK(c.recompute.si() < 0.5 * none.forward.total().si());
  }

  TEST_CASE("between linears: products' outputs are kept, the attention is not and runs again") {
    TestJob t("llama3-8b", "tpu-v5p", "maxtext", 8, 8192, 8);
    const auto c = layer(t, Recompute::selective, recompute_between_products);
    const double T = 8192, h = 4096, kv = 1024, f = 14336;
    const double statistics = 2 * T * 4 * t.profile.saved.norm_statistics.value.si();
    CHECK(c.saved.si() == doctest::Approx(T * 2 * (2 * h + h + 2 * kv + 2 * f) + statistics));
    CHECK(c.recompute.si() == doctest::Approx((c.forward.attention + c.forward.elementwise).si()));
  }

  TEST_CASE("full recomputation that stops early skips the last linear and what follows") {
    TestJob t("llama3-8b", "h100", "reference", 8, 8192, 8);
    const auto whole = layer(t, Recompute::full, 0);
    t.profile.recompute.early_stop = true;
    const auto early = layer(t, Recompute::full, 0);
    const Seconds skipped = whole.recompute - early.recompute;
    const auto down = gemm_cost<Plain>(plain_scope, t.hardware.accelerator, Format::bf16, 2, 2, {8192, 4096, 14336}, Regime::sustained);
    CHECK(skipped > down.time);
    CHECK(skipped < 1.2 * down.time);
    CHECK(early.saved.si() == whole.saved.si());
  }

  TEST_CASE("HFU counts what selective recomputation runs again: by module, the attention under the convention") {
    TestJob t("llama3-8b", "h100", "megatron-lm", 8, 4096, 8);
    const auto extra = [&](std::uint8_t modules) {
      const auto p = predict(plain_scope, t.job, {.dp = 8, .zero = 1, .recompute = Recompute::selective, .modules = modules},
                             FlopConvention::full_attention);
      return (p.hfu / p.mfu).si() * p.token_flops.total.si() - p.token_flops.total.si();
    };
    const double h = 4096, f = 14336, layers = 32, s = 4096;
    CHECK(extra(recompute_core_attention) == doctest::Approx(layers * 4 * s * h));
    CHECK(extra(recompute_ffn) == doctest::Approx(layers * 6 * h * f));
    CHECK(extra(recompute_core_attention | recompute_ffn) == doctest::Approx(layers * (4 * s * h + 6 * h * f)));
    CHECK(std::abs(extra(recompute_norms)) < 1);  // no product
  }

  TEST_CASE("fp8 primary weights replace those in bf16, and half as many bytes are gathered") {
    TestJob t("llama3-8b", "h100", "megatron-lm", 64, 4096, 64, 2025);
    t.job.precision = *precision_named("fp8");
    REQUIRE(t.profile.low_precision.primary);
    const Layout l{.dp = 64, .zero = 1};
    const auto step = [&] { return predict(plain_scope, t.job, l, FlopConvention::full_attention).step; };
    const auto primary = step();
    t.profile.low_precision.primary = false;
    const auto beside = step();
    const double layers = 32 * (4096.0 * (4096 * 2 + 2 * 1024) + 3 * 4096.0 * 14336 + 2 * 4096);
    CHECK((beside.memory.parameters - primary.memory.parameters).si() == doctest::Approx(2 * layers));
    CHECK(term(primary, Term::param_gather) < term(beside, Term::param_gather));
    t.job.precision = *precision_named("nvfp4");  // has no primary weights
    t.profile.low_precision.primary = true;
    CHECK(!primary_weights(t.job));
  }

  TEST_CASE("adapters gather the sequence once more for no weight gradient") {
    TestJob t("llama3-70b", "h100", "megatron-lm", 8, 8192, 8, 2025);
    const Layout l{.tp = 8, .sp = true, .dp = 1};
    const auto comm = [&] { return term(predict(plain_scope, t.job, l, FlopConvention::full_attention).step, Term::tp_comm); };
    const double trained = comm();
    t.job.adapters = {.rank = 16, .targets = adapter_qkv | adapter_out};
    CHECK(comm() == doctest::Approx(0.8 * trained).epsilon(0.03));  // 8 of 10 messages; the head gathers as before
  }

  TEST_CASE("a tied embedding's gradients are summed between the ends of a pipeline") {
    TestJob t("llama3.2-1b", "h100", "megatron-lm", 16, 4096, 64);
    REQUIRE(t.model.tied_embeddings);
    const Layout l{.pp = 2, .dp = 8, .zero = 1};
    const auto comm = [&] { return term(predict(plain_scope, t.job, l, FlopConvention::full_attention).step, Term::dp_comm); };
    const double tied = comm();
    t.model.tied_embeddings = false;
    CHECK(tied > comm());
  }

  TEST_CASE("owners broadcast in turn: the group's size times a broadcast of one part") {
    TestJob t("llama3-8b", "a100", "internevo", 64, 2048, 512);
    const Layout l{.dp = 64, .zero = 1, .zero_group = 64, .micro_batch = 2};
    const LayerCosts<Plain> layers = layer_costs(plain_scope, t.job, layer_key(t.job, l));
    const StageCost<Plain> stage = stage_cost(plain_scope, t.job, layers, split_layers(t.model, l.schedule, 1, 1).front());
    const auto turns = data_parallel_cost(plain_scope, t.job, l, stage);
    const Bytes part = stage.parameters.dense * t.profile.data_parallel.parameter_bytes.value * (1 * byte) / 64;
    const auto one = collective_cost<Plain>(plain_scope, t.hardware.network, Operation::broadcast, part, {.size = 64, .stride = 1});
    CHECK(turns.gather.si() == doctest::Approx(64 * one.time.si()));
    t.profile.data_parallel.by_owner = false;
    CHECK(data_parallel_cost(plain_scope, t.job, l, stage).gather < turns.gather);
  }

  TEST_CASE("copies of shards are reduced behind the backward pass, or wait for its end, interleaved or not") {
    TestJob t("llama3-8b", "h100", "reference", 64, 4096, 1024);
    t.profile.data_parallel.usable_window.value = 1;
    t.profile.data_parallel.contention.value = 0;
    for (const int vpp : {1, 2}) {
      const Layout l{.pp = 2, .vpp = vpp, .schedule = vpp > 1 ? Schedule::interleaved : Schedule::one_f_one_b,
                     .dp = 32, .zero = 1, .zero_group = 8, .micro_batch = 4};
      t.profile.data_parallel.overlap_replicas = false;
      Evaluator<Plain> evaluator(t.job, plain_scope);
      const auto after = evaluator.evaluate(l);
      const Seconds copies = evaluator.stages()[static_cast<std::size_t>(after.slowest)].dp->reduce_replicas;
      CHECK(copies.si() > 1e-2);
      CHECK(term(after, Term::dp_comm) == doctest::Approx(copies.si()));
      t.profile.data_parallel.overlap_replicas = true;
      CHECK(term(Evaluator<Plain>(t.job, plain_scope).evaluate(l), Term::dp_comm) == 0);
    }
  }

  TEST_CASE("without a group given the framework's is used; a torus job shards over its slice and copies beyond") {
    TestJob evo("llama3-8b", "a100", "internevo", 64, 2048, 512);
    CHECK(state_shards(evo.job, {.dp = 64, .zero = 1}).dense == 8);
    CHECK(state_shards(evo.job, {.dp = 64, .zero = 1, .zero_group = 16}).dense == 16);
    TestJob one("llama3-8b", "tpu-v5e", "maxtext", 256, 2048, 1024), two("llama3-8b", "tpu-v5e", "maxtext", 512, 2048, 2048);
    CHECK(state_shards(one.job, {.dp = 256, .zero = 3}).dense == 256);
    CHECK(state_shards(two.job, {.dp = 512, .zero = 3}).dense == 256);
    const auto within = Evaluator<Plain>(one.job, plain_scope).evaluate({.dp = 256, .zero = 3, .micro_batch = 4});
    const auto across = Evaluator<Plain>(two.job, plain_scope).evaluate({.dp = 512, .zero = 3, .micro_batch = 4});
    // The slices' copies are reduced over the data-centre network, and their steps drift apart; inside one they do not.
    CHECK(term(within, Term::straggler) == 0);
    CHECK(term(across, Term::straggler) > 0);
    CHECK(term(across, Term::dp_comm) > 1.2 * term(within, Term::dp_comm));
    CHECK(across.memory.parameters.si() == within.memory.parameters.si());
  }

  TEST_CASE("backward gathers that are not prefetched stand in the open") {
    TestJob t("llama3-8b", "h100", "llm-foundry", 64, 2048, 128);
    const Layout l{.dp = 64, .zero = 3, .micro_batch = 2};
    const auto late = Evaluator<Plain>(t.job, plain_scope).evaluate(l);
    t.profile.data_parallel.prefetch_backward = true;
    const auto ahead = Evaluator<Plain>(t.job, plain_scope).evaluate(l);
    CHECK(term(late, Term::param_gather) > 1.5 * term(ahead, Term::param_gather));
  }

  TEST_CASE("unfused scores of head dimensions that are no whole 16-byte lines run on the vector units") {
    const Hardware a100 = read_hardware("a100");
    const auto time = [&](double d) {
      const AttentionShape<Plain> s{1, 2048, 2048, 16, 16, d, d, true, 0};
      return attention_cost<Plain>(plain_scope, a100.accelerator, "unfused", Format::fp16, s, Pass::forward, Regime::sustained);
    };
    const auto odd = time(108), even = time(112);
    const auto vector = odd.flops / a100.accelerator.peak[static_cast<std::size_t>(Format::fp32)]->value;
    CHECK(odd.time > vector);
    CHECK(odd.time > 3 * even.time);
    CHECK(even.time.si() == doctest::Approx(time(104).time.si()).epsilon(0.15));
  }
}
