#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "model/search/rules.hpp"
#include "model/step/timeline.hpp"
#include "model/transformer/parameters.hpp"
#include "tests/step_fixture.hpp"

using namespace napkin;
using namespace napkin::test;

namespace {

// Layouts that reach every mechanism.
std::vector<Layout> layouts() {
  std::vector<Layout> v;
  for (int tp : {1, 4})
    for (int cp : {1, 2})
      for (int pp : {1, 2, 4})
        for (int zero : {0, 1, 2, 3})
          for (Recompute r : {Recompute::none, Recompute::selective, Recompute::full}) {
            Layout l{.tp = tp, .sp = tp > 1, .cp = cp, .pp = pp, .dp = 64 / (tp * cp * pp), .zero = zero, .recompute = r};
            v.push_back(l);
          }
  return v;
}

}  // namespace

namespace {

// Everything before data parallelism: what a step spends in its pipeline.
double pipeline_of(const StepCost<Plain>& step) {
  double pipeline = 0;
  for (std::size_t i = 0; i <= static_cast<std::size_t>(Term::bubble); ++i) pipeline += step.terms[i].si();
  return pipeline;
}

}  // namespace

TEST_SUITE("step") {
  TEST_CASE("the explained prediction is the plain one, bit for bit") {
    for (const char* model : {"llama3-8b", "mixtral-8x7b", "deepseek-v2-lite"}) {
      TestJob t(model, "h100", "reference", 64, 4096, 256);
      const bool moe = t.model.kinds.back().ffn.moe.has_value();
      std::size_t checked = 0;
      for (Layout l : layouts()) {
        if (moe) l.ep = 4;
        if (broken_rule(t.job, l) != nullptr) continue;
        ++checked;
        Derivation d;
        const auto plain_p = predict(Scope<Plain>(), t.job, l, FlopConvention::full_attention);
        const auto traced = predict(Scope<Traced>(d), t.job, l, FlopConvention::full_attention);
        CAPTURE(model);
        CAPTURE(describe(l));
        CHECK(plain_p.step.time.si() == traced.step.time.si());
        for (std::size_t i = 0; i < term_count; ++i) CHECK(plain_p.step.terms[i].si() == traced.step.terms[i].si());
        CHECK(plain_p.mfu.si() == traced.mfu.si());
        CHECK(plain_p.hfu.si() == traced.hfu.si());
        REQUIRE(plain_p.stages.size() == traced.stages.size());
        for (std::size_t i = 0; i < plain_p.stages.size(); ++i)
          CHECK(plain_p.stages[i].device.si() == traced.stages[i].device.si());
        REQUIRE(traced.step.time.why() != nullptr);
        CHECK(d.size() > 100);
      }
      CHECK(checked >= 20);
    }
  }

  TEST_CASE("the breakdown sums to the step exactly, and no term is negative or undefined") {
    TestJob t("llama3-8b", "h100", "megatron-lm", 64, 4096, 256);
    Evaluator<Plain> e(t.job, Scope<Plain>());
    for (const Layout& l : layouts()) {
      if (broken_rule(t.job, l) != nullptr) continue;
      const auto s = e.evaluate(l);
      double sum = 0;
      for (const Seconds v : s.terms) {
        CHECK(v.si() >= 0);
        CHECK(std::isfinite(v.si()));
        sum += v.si();
      }
      CHECK(sum == s.time.si());
      CHECK(s.memory.device.si() > 0);
    }
  }

  TEST_CASE("model FLOPs are 6N a token in the limit of a short sequence") {
    for (const char* model : {"llama3-8b", "gpt3-175b", "mixtral-8x7b"}) {
      const Architecture a = read_model(model);
      const Parameters p = parameters(a);
      const auto f = training_flops_per_token(Scope<Plain>(), a, 1, FlopConvention::full_attention);
      // N counts what a token multiplies with: no norms, no positions, no input embedding; the head even when tied.
      const double n = static_cast<double>(p.active - p.embedding - p.positions - p.norms) +
                       (a.tied_embeddings ? static_cast<double>(a.vocab * a.hidden) : 0.0);
      CHECK(f.total.si() == doctest::Approx(6 * n).epsilon(2e-3));
    }
  }

  TEST_CASE("the operators of a step execute the model's FLOPs: 6N and causal attention") {
    TestJob t("llama3-8b", "h100", "reference", 8, 4096, 8);
    const Layout l{.dp = 8};
    double gemm = 0;
    const Shard sh = shard_of(t.job, layer_key(t.job, l));
    for (const auto& o : layer_operators(Scope<Plain>(), t.model, t.model.kinds[0], sh, t.profile))
      if (o.kind == Operator<Plain>::Kind::gemm)
        gemm += 6 * o.gemm.m.si() * o.gemm.n.si() * o.gemm.k.si() * o.gemm.count.si();
    for (const auto& o : head_operators(Scope<Plain>(), t.model, sh, t.profile, t.model.vocab))
      if (o.kind == Operator<Plain>::Kind::gemm)
        gemm += 6 * o.gemm.m.si() * o.gemm.n.si() * o.gemm.k.si() / static_cast<double>(t.model.depth());
    const auto f = training_flops_per_token(Scope<Plain>(), t.model, 4096, FlopConvention::weights_only);
    CHECK(gemm * static_cast<double>(t.model.depth()) == doctest::Approx(f.weights.si() * 4096).epsilon(1e-9));
  }

  TEST_CASE("TorchTitan's and NeMo's printed MFU (reference/users.md: exact to two decimals)") {
    const Architecture a = read_model("llama3-8b");
    const auto f = training_flops_per_token(Scope<Plain>(), a, 8192, FlopConvention::full_attention).total.si();
    CHECK(f == doctest::Approx(57.915e9).epsilon(1e-4));
    CHECK(5760 * f / 989e12 == doctest::Approx(0.3373).epsilon(5e-4));
    CHECK(12036 * f / 1e12 == doctest::Approx(697).epsilon(1e-3));
  }

  TEST_CASE("states under ZeRO-3 are 16 bytes over all ranks; TP and PP divide them too") {
    TestJob t("100B", "h100", "reference", 1024, 4096, 1024);
    const double n = static_cast<double>(parameters(t.model).total);
    const auto zero3 = predict(Scope<Plain>(), t.job, {.dp = 1024, .zero = 3}, FlopConvention::full_attention);
    const auto& m = zero3.step.memory;
    CHECK((m.parameters + m.gradients + m.optimizer).si() == doctest::Approx(16 * n / 1024).epsilon(1e-9));
    const auto grid = predict(Scope<Plain>(), t.job, {.tp = 8, .sp = true, .pp = 4, .dp = 32}, FlopConvention::full_attention);
    double all = 0;
    for (std::size_t i = 0; i < grid.stages.size(); ++i)
      all += (grid.stages[i].parameters + grid.stages[i].gradients + grid.stages[i].optimizer).si() * 8 * grid.ranks[i].count;
    CHECK(all == doctest::Approx(16 * n).epsilon(1e-3));  // norms are replicated over tp
    // narayanan2021: the first stage of 1F1B holds pp micro-batches.
    CHECK(grid.ranks.front().in_flight == 4);
    CHECK(grid.ranks.back().in_flight == 1);
  }

  TEST_CASE("bubble over work is (p−1)/m for equal stages, (p−1)/(m·v) interleaved (narayanan2021)") {
    Architecture a = gpt(32, 4096, 32, 4096);
    a.vocab = 1;  // no head to speak of: stages are equal
    TestJob t(std::move(a), "h100", "reference", 8, 2048, 64);
    t.profile.overlap.pipeline.value = 1;
    for (int vpp : {1, 2, 4}) {
      Layout l{.pp = 8, .vpp = vpp, .schedule = vpp > 1 ? Schedule::interleaved : Schedule::one_f_one_b, .dp = 1};
      const auto s = predict(Scope<Plain>(), t.job, l, FlopConvention::full_attention).step;
      const double bubble = s.terms[static_cast<std::size_t>(Term::bubble)].si();
      double work = 0;
      for (std::size_t i = 0; i < static_cast<std::size_t>(Term::bubble); ++i) work += s.terms[i].si();
      CHECK(bubble / work == doctest::Approx(7.0 / (64.0 * vpp)).epsilon(0.05));
    }
  }

  TEST_CASE("predict spends in the pipeline what the timeline of its own stages takes, for every schedule") {
    for (const char* model : {"llama3-70b", "qwen3-30b-a3b"}) {
      TestJob t(model, "h100", "megatron-lm", 64, 4096, 64);
      const int ep = std::string(model) == "llama3-70b" ? 1 : 8;
      for (int s = 0; s <= static_cast<int>(Schedule::looped_bfs); ++s) {
        const auto schedule = static_cast<Schedule>(s);
        const bool chunked = schedule == Schedule::interleaved || schedule == Schedule::zb_interleaved || schedule == Schedule::looped_bfs;
        const bool v_shaped = schedule == Schedule::zb_v || schedule == Schedule::dualpipe_v;
        for (const int zero : {1, 3}) {
          const Layout l{.tp = 2, .sp = true, .ep = ep, .pp = 4, .vpp = chunked || v_shaped ? 2 : 1, .schedule = schedule, .dp = 8,
                         .zero = zero};
          const auto p = predict(Scope<Plain>(), t.job, l, FlopConvention::full_attention);
          CAPTURE(model);
          CAPTURE(to_string(schedule));
          CAPTURE(zero);
          const double rounding = p.step.simulated ? 1e-9 : 2e-3;
          double pipeline = pipeline_of(p.step);
          if (zero == 3)
            pipeline += (p.step.terms[static_cast<std::size_t>(Term::dp_comm)] + p.step.terms[static_cast<std::size_t>(Term::param_gather)]).si();
          CHECK(pipeline == doctest::Approx(step_timeline(t.job, l).timeline.makespan.si()).epsilon(rounding));
          CHECK(p.step.simulated == (schedule != Schedule::gpipe && schedule != Schedule::one_f_one_b));
          double terms = 0;
          for (const Seconds term : p.step.terms) {
            CHECK(term.si() >= 0);
            terms += term.si();
          }
          CHECK(terms == doctest::Approx(p.step.time.si()));
        }
      }
    }
  }

  TEST_CASE("pairs hide the expert all-to-all, and two directions hold the parameters twice") {
    TestJob t("qwen3-30b-a3b", "h100", "megatron-lm", 64, 4096, 512);  // 32 micro-batches: 28 pairs a rank
    Layout l{.tp = 1, .ep = 8, .pp = 4, .dp = 16, .zero = 1};
    const auto plain = predict(Scope<Plain>(), t.job, l, FlopConvention::full_attention);
    l.schedule = Schedule::dualpipe;
    const auto two = predict(Scope<Plain>(), t.job, l, FlopConvention::full_attention);
    const auto ep = static_cast<std::size_t>(Term::ep_comm);
    REQUIRE(plain.step.terms[ep].si() > 0);
    CHECK(two.step.terms[ep].si() < 0.6 * plain.step.terms[ep].si());
    Bytes once, twice;
    for (std::size_t i = 0; i < plain.ranks.size(); ++i) once += plain.ranks[i].count * plain.stages[i].parameters;
    for (std::size_t i = 0; i < two.ranks.size(); ++i) twice += two.ranks[i].count * two.stages[i].parameters;
    CHECK(twice.si() == doctest::Approx(2 * once.si()));
    // deepseek-ai2024v3: PP + 1 micro-batches at most.
    for (const StageRanks& r : two.ranks) CHECK(r.in_flight <= 5.5);
  }

  // qi2024zerobubble §6: ZB-V holds p micro-batches on every rank, as 1F1B does on its first; embedding and head share rank 0.
  TEST_CASE("what ranks hold under ZB-V and GPipe") {
    TestJob t("llama3-8b", "h100", "megatron-lm", 8, 4096, 64);
    const Layout v{.pp = 4, .vpp = 2, .schedule = Schedule::zb_v, .dp = 2, .zero = 1};
    const auto zb = predict(Scope<Plain>(), t.job, v, FlopConvention::full_attention);
    for (const StageRanks& r : zb.ranks) CHECK(r.in_flight == doctest::Approx(4).epsilon(0.02));
    CHECK(zb.stages.front().logits.si() > 0);
    CHECK(zb.stages.back().logits.si() == 0);
    // All logits of GPipe wait for their backward; one of 1F1B.
    Prices<Plain> prices(Scope<Plain>(), t.job);
    const auto head = head_cost(Scope<Plain>(), t.job, layer_key(t.job, {.pp = 4, .dp = 2, .zero = 1}), prices);
    const double waiting = double((head.saved - head.at_once) / head.saved);
    const auto gpipe = predict(Scope<Plain>(), t.job, {.pp = 4, .schedule = Schedule::gpipe, .dp = 2, .zero = 1}, FlopConvention::full_attention);
    const auto one = predict(Scope<Plain>(), t.job, {.pp = 4, .dp = 2, .zero = 1}, FlopConvention::full_attention);
    CHECK(gpipe.stages.back().logits.si() == doctest::Approx((1 + 31 * waiting) * one.stages.back().logits.si()));
  }

  TEST_CASE("context parallelism shares the attention pairs, windowed or chunked, and adds none") {
    for (const char* model : {"llama3-8b", "mistral-7b-v0.1", "llama4-scout"}) {
      const Architecture a = read_model(model);
      for (const LayerKind& kind : a.kinds) {
        const auto pairs = [&](int cp) {
          const Shard sh{.tp = 1, .sp = false, .cp = cp, .ep = 1, .etp = 1, .micro_batch = 1, .sequence = 65536, .exchange = {}};
          for (const auto& o : layer_operators(Scope<Plain>(), a, kind, sh, read_profile("reference")))
            if (o.kind == Operator<Plain>::Kind::attention) return attention_flops(o.attention).si() * cp;
          return 0.0;
        };
        CAPTURE(model);
        REQUIRE(pairs(1) > 0);
        for (int cp : {2, 4}) CHECK(pairs(cp) == doctest::Approx(pairs(1)).epsilon(0.02));
      }
    }
  }

  TEST_CASE("more memory-saving never saves less, and costs time") {
    TestJob t("llama3-70b", "h100", "megatron-lm", 64, 4096, 128);
    Evaluator<Plain> e(t.job, Scope<Plain>());
    Layout l{.tp = 8, .sp = true, .pp = 2, .dp = 4, .zero = 1};
    const auto none = e.evaluate(l);
    l.recompute = Recompute::selective;
    const auto selective = e.evaluate(l);
    l.recompute = Recompute::full;
    const auto full = e.evaluate(l);
    CHECK(none.memory.device >= selective.memory.device);
    CHECK(selective.memory.device > full.memory.device);
    CHECK(none.time <= selective.time);
    CHECK(selective.time < full.time);
  }
}
