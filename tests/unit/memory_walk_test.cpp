// The walk through a step's moments, and the mechanisms that profiles select for memory.
#include <doctest/doctest.h>

#include "model/memory/memory.hpp"
#include "model/step/split.hpp"
#include "tests/step_fixture.hpp"

using namespace napkin;
using namespace napkin::test;

namespace {

Bytes gib(double v) { return v * GiB; }

StageMemory<Plain> walk(const Profile& p, const StageTensors<Plain>& t, const StageLoad& load = {}) {
  return stage_memory(Scope<Plain>(), p, {.parameters = gib(10), .gradients = gib(10), .optimizer = gib(20), .buckets = {}}, t, load);
}

StageMemory<Plain> peak_of(const TestJob& t, const Layout& l) {
  return predict(Scope<Plain>(), t.job, l, FlopConvention::full_attention).step.memory;
}

// The shapes of our own H200 steps.
Architecture llama(int layers, int hidden, int heads, int kv, int ffn, int vocab) {
  Architecture a = gpt(layers, hidden, heads, vocab);
  a.name = "llama-test";
  a.norm = Norm::rmsnorm;
  a.position = Position::rope;
  a.learned_positions = 0;
  a.tied_embeddings = false;
  a.dropout = false;
  a.kinds[0].attention->kv_heads = kv;
  a.kinds[0].ffn.width = ffn;
  a.kinds[0].ffn.gated = true;
  return a;
}

}  // namespace

TEST_SUITE("memory-walk") {
  TEST_CASE("the peak is the highest moment, and its parts add up to it") {
    Profile p = read_profile("reference");
    const auto sum = [](const StageMemory<Plain>& m) {
      return m.parameters + m.gradients + m.optimizer + m.activations + m.logits + m.transient + m.buffers;
    };
    StageTensors<Plain> t{.activations = gib(8), .layer = gib(1), .head = gib(6), .transient = gib(2)};
    const auto loss = walk(p, t);
    CHECK(loss.peak == Moment::loss);
    CHECK(loss.allocated == gib(40 + 8 + 6) + p.memory.workspace.value);
    CHECK(loss.transient == Bytes{});

    t.transient = gib(9);  // full recomputation of a wide layer: the logits are gone when it runs
    const auto backward = walk(p, t);
    CHECK(backward.peak == Moment::backward);
    CHECK(backward.allocated == gib(40 + 8 + 9) + p.memory.workspace.value);
    CHECK(backward.logits == Bytes{});

    // Freed gradients stand in nobody's way at the loss, and are whole at the end but for what is made last.
    p.bytes.gradients_stand = false;
    t.last_gradients = gib(2);
    t.head = gib(1);
    t.transient = gib(2);
    const auto end = walk(p, t);
    CHECK(end.peak == Moment::end);
    CHECK(end.allocated == gib(10 + 20 + (10 - 2) + 1 + 2) + p.memory.workspace.value);
    // Accumulating, the earlier micro-batches' gradients are there.
    CHECK(walk(p, t, {.in_flight = {}, .accumulates = true}).allocated == gib(40 + 8 + 2) + p.memory.workspace.value);

    t.updated = gib(30);
    const auto update = walk(p, t);
    CHECK(update.peak == Moment::optimizer);
    CHECK(update.allocated == update.standing);
    CHECK(update.standing == gib(40 + 30) + p.memory.workspace.value);
    for (const auto& m : {loss, backward, end, update}) CHECK(sum(m) == m.allocated);
  }

  TEST_CASE("allocated bytes of our own H200 steps (PyTorch 2.11), to 0.2 %") {
    const auto check = [](double measured_gib, Architecture a, std::int64_t sequence, std::int64_t batch, Recompute r) {
      TestJob t(std::move(a), "h200", "pytorch-eager", 1, sequence, batch);
      t.profile.bytes.parameter.value = t.profile.bytes.gradient.value = 2;  // bf16 everywhere
      t.profile.bytes.moments.value = 4;
      t.profile.bytes.compute_copy.value = 0;
      const auto m = peak_of(t, {.dp = 1, .micro_batch = static_cast<int>(batch), .recompute = r});
      CHECK(double(m.allocated / GiB) == doctest::Approx(measured_gib).epsilon(2e-3));
    };
    check(30.572, llama(12, 768, 12, 12, 2048, 50304), 1024, 32, Recompute::none);
    check(32.010, llama(16, 2048, 32, 8, 8192, 128256), 8192, 1, Recompute::none);
    check(39.788, llama(2, 12288, 96, 96, 32768, 51200), 2048, 4, Recompute::none);
    check(72.386, llama(32, 4096, 32, 8, 14336, 128256), 2048, 2, Recompute::none);
    check(57.663, llama(16, 2048, 32, 8, 8192, 128256), 32768, 1, Recompute::full);
  }

  TEST_CASE("a loss on gathered logits holds all of them on every rank") {
    TestJob t(llama(16, 2048, 32, 8, 8192, 128256), "h200", "pytorch-eager", 2, 2048, 4);
    const Layout l{.tp = 2, .sp = true, .dp = 1, .micro_batch = 4};
    const auto gathered = peak_of(t, l).logits;
    t.profile.loss_parallel = true;
    const auto split = peak_of(t, l).logits;
    const double logits = 4.0 * 2048 * 128256;
    CHECK((gathered - split).si() == doctest::Approx(6 * logits).epsilon(1e-9));
  }

  TEST_CASE("GPipe keeps the logits of every micro-batch, 1F1B only what the caller gets back") {
    TestJob t(llama(28, 3072, 24, 8, 8192, 128256), "h200", "pytorch-eager", 2, 4096, 8);
    const auto logits = [&](Schedule s) {
      return predict(Scope<Plain>(), t.job, {.pp = 2, .schedule = s, .dp = 1}, FlopConvention::full_attention).stages.back().logits.si();
    };
    const double one = 4096.0 * 128256;
    // 4 bytes of fp32 log-softmax for each micro-batch that waits; the peak of both includes 2 bytes for each of the 8.
    CHECK(logits(Schedule::gpipe) - logits(Schedule::one_f_one_b) >= 4 * 6 * one);
    t.profile.saved.pipeline_outputs.value = 0;
    CHECK(logits(Schedule::one_f_one_b) < 13 * one);
  }

  TEST_CASE("weight gradients that are put off keep the output gradients") {
    TestJob t(llama(28, 3072, 24, 8, 8192, 128256), "h200", "pytorch-eager", 2, 4096, 8);
    const auto first = [&](Schedule s) {
      return predict(Scope<Plain>(), t.job, {.pp = 2, .vpp = 2, .schedule = s, .dp = 1}, FlopConvention::full_attention)
          .stages.front()
          .activations.si();
    };
    // Two chunks of seven layers wait, with 2T(q + 2kv + h + 2f + h) bytes a layer: half of what both chunks would hold.
    const double zb = first(Schedule::zb_interleaved);
    const double linears = 14 * 2 * 4096.0 * (3072 + 2048 + 3072 + 16384 + 3072);
    const double held = zb - linears;  // micro-batches in flight, as the schedule says
    const double one = first(Schedule::interleaved) / micro_batches_in_flight(Schedule::interleaved, 2, 2, 0, 8);
    CHECK(held == doctest::Approx(one * micro_batches_in_flight(Schedule::zb_interleaved, 2, 2, 0, 8)).epsilon(1e-9));
  }

  TEST_CASE("stages by cost: a chunk ends where the cumulative cost reaches its share; the head weighs too") {
    Architecture a = llama(16, 2048, 32, 32, 8192, 131072);
    a.tied_embeddings = true;
    // A head of four layers: 20 units over two stages end after the tenth layer.
    const auto two = split_layers(a, Schedule::one_f_one_b, 2, 1, SplitRule::by_cost);
    REQUIRE(two.size() == 2);
    CHECK(two[0].depth() == 10);
    CHECK(two[1].depth() == 6);
    CHECK(two[1].head);
    const CostSplit eight = split_by_cost(a, 8);
    CHECK(eight.depths == std::vector<int>{3, 2, 3, 2, 3, 2, 1, 0});
    CHECK(eight.head_at == 6);  // 16 of 20 units have not reached 17.5: the last chunk stays empty
    CHECK(split_layers(a, Schedule::one_f_one_b, 1, 1, SplitRule::by_cost).front().depth() == 16);
  }

  TEST_CASE("a folded schedule puts the head beside the embedding") {
    const Architecture a = llama(28, 3072, 24, 8, 8192, 128256);
    const auto folded = split_layers(a, Schedule::zb_v, 2, 2);
    REQUIRE(folded.size() == 2);
    CHECK(folded[0].embedding);
    CHECK(folded[0].head);
    CHECK_FALSE(folded[1].embedding);
    CHECK_FALSE(folded[1].head);
    int layers = 0;
    for (const auto& s : folded) layers += s.depth() * s.ranks;
    CHECK(layers == 28);
  }

  TEST_CASE("FSDP that keeps its copy shards the fp32 parameters; autocast leaves the embedding in fp32") {
    const RankParameters<Plain> n{.dense = 1e9, .expert = 0, .lookup = 2e8};
    const BytePolicy& bytes = read_profile("pytorch-eager").bytes;
    const auto whole = state_bytes(Scope<Plain>(), bytes, n, {.zero = 0, .dense = 1, .expert = 1});
    CHECK(whole.parameters.si() == doctest::Approx(4e9 + 2 * 8e8));
    const auto kept = state_bytes(Scope<Plain>(), bytes, n, {.zero = 2, .dense = 2, .expert = 2});
    CHECK(kept.parameters.si() == doctest::Approx(4e9 / 2 + 2e9));
    CHECK(state_bytes(Scope<Plain>(), bytes, n, {.zero = 3, .dense = 2, .expert = 2}).parameters.si() == doctest::Approx(2e9));
  }
}
