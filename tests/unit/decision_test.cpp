// What decides between layouts: curves, elasticities, differences, robustness, goodput, the builders' choices.
#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "cli/plot.hpp"
#include "cli/sweep_axis.hpp"
#include "model/decision/choice.hpp"
#include "model/decision/curve.hpp"
#include "model/decision/difference.hpp"
#include "model/decision/elasticity.hpp"
#include "model/decision/goodput.hpp"
#include "model/decision/robustness.hpp"
#include "model/input_error.hpp"
#include "model/run/run_input.hpp"
#include "model/step/constants.hpp"
#include "tests/step_fixture.hpp"

using namespace napkin;
using namespace napkin::test;

namespace {

Layout layout(int tp, int pp, std::int64_t dp, int zero) {
  Layout l;
  l.tp = tp, l.sp = tp > 1, l.pp = pp, l.dp = dp, l.zero = zero;
  return l;
}

// Every layout of a small job that fits, best first.
std::vector<RankedLayout> ranked(const Job& job) {
  return search({.job = job, .space = {}, .keep = 100'000}).best;
}

cli::SweepAxis axis(cli::AxisKind kind, const std::string& text) {
  return cli::read_axis("--axis", cli::SweepAxis::Of::job, "axis", kind, text);
}

}  // namespace

TEST_SUITE("decision") {
  TEST_CASE("curves cross where straight lines in logarithms meet") {
    const std::vector<double> x{1, 4, 16};
    // 8/x and a constant 1 meet at 8.
    const std::vector<Curve> curves{{1.0, 1.0, 1.0}, {8.0, 2.0, 0.5}};
    const auto found = crossings(x, curves, true);
    REQUIRE(found.size() == 1);
    CHECK(found[0].from == 0);
    CHECK(found[0].to == 1);
    CHECK(*found[0].x == doctest::Approx(8));
    CHECK(found[0].before == 1);
    CHECK(crossings({}, curves, false)[0].x == std::nullopt);
    // Within a tie nobody takes over; a curve that ends hands over without an x.
    CHECK(crossings(x, std::vector<Curve>{{1.0, 1.0, 1.0}, {8.0, 0.999, 0.998}}, true, 0.005).empty());
    const auto ended = crossings(x, std::vector<Curve>{{1.0, std::nullopt, 1.0}, {8.0, 2.0, 2.0}}, true);
    REQUIRE(ended.size() == 2);
    CHECK(!ended[0].x);
    CHECK(ended[1].to == 0);
    CHECK(lowest(curves, 2) == std::size_t{1});
    CHECK(crossings(x, std::vector<Curve>{}, true).empty());
  }

  TEST_CASE("constants are found by the words of their path") {
    const TestJob t("llama3-8b", "h100", "megatron-lm", 64, 4096, 128);
    const std::size_t tiers = t.hardware.network.tiers.size();
    CHECK(constants_named(t.job, "network.bandwidth").size() == tiers);
    CHECK(constants_named(t.job, "network.nvlink.bandwidth").size() == 1);
    CHECK(constants_named(t.job, "/network/tiers/0/latency").size() == 1);
    CHECK(constants_named(t.job, "memory/bandwidth").front().si == t.hardware.accelerator.memory_bandwidth.value.si());
    CHECK(constants_named(t.job, "peak").size() > 1);
    CHECK(constants_named(t.job, "framework.host.step").size() == 1);
    for (const char* none : {"", ".", "bandwidth", "network", "memory", "network.nvlink", "network.bandwidth.latency"})
      CHECK_MESSAGE(constants_named(t.job, none).empty(), none);
    // A path and its label name the constant alone, and scaling it changes nothing else.
    for (const ConstantInfo& c : constants_of(t.job)) {
      CAPTURE(c.path);
      CHECK(constants_named(t.job, c.label).front().path == c.path);
      const Scaling by{c.path, bounds_of(c.path, c.dim).most < 3 * c.si ? 0.5 : 3};
      const ScaledJob scaled(t.job, {&by, 1});
      const auto before = constants_of(t.job), after = constants_of(scaled.job());
      REQUIRE(before.size() == after.size());
      for (std::size_t i = 0; i < before.size(); ++i)
        CHECK(after[i].si == (before[i].path == c.path ? by.factor : 1) * before[i].si);
    }
  }

  TEST_CASE("a share cannot be scaled above all of it, and its elasticity stays below") {
    TestJob t("llama3-8b", "h100", "megatron-lm", 64, 4096, 128);
    const std::string hidden = "/framework/overlap/tensor_parallel";
    const Scaling by{hidden, 8};
    CHECK_THROWS_AS(ScaledJob(t.job, {&by, 1}), InputError);
    CHECK_THROWS_WITH_AS(ScaledJob(t.job, {&by, 1}), doctest::Contains("framework.overlap.tensor_parallel: 8 times"), InputError);
    t.profile.overlap.tensor_parallel.value = 1;
    for (const Elasticity& e : elasticities(t.job, layout(4, 2, 8, 1)))
      if (e.constant.path == hidden) CHECK((std::isfinite(e.kept) && e.kept <= 0));
  }

  TEST_CASE("every second of a step comes from some constant") {
    struct Case {
      const char *model, *hw, *framework;
      Layout layout;
      std::int64_t gpus;
    };
    for (const Case& c : {Case{"llama3-8b", "h100", "megatron-lm", layout(4, 2, 8, 1), 64},
                          Case{"llama3-8b", "h100", "torchtitan", layout(1, 1, 64, 3), 64},
                          Case{"mixtral-8x7b", "b200", "megatron-lm", layout(2, 4, 8, 1), 64},
                          Case{"llama2-13b", "tpu-v5p", "maxtext", layout(1, 1, 64, 3), 64}}) {
      const TestJob t(c.model, c.hw, c.framework, c.gpus, 4096, 128);
      CAPTURE(c.model);
      REQUIRE(broken_rule(t.job, c.layout) == nullptr);
      const auto all = elasticities(t.job, c.layout);
      CHECK(time_weight(all) == doctest::Approx(1).epsilon(0.01));
      for (const Elasticity& e : all) {
        CAPTURE(e.constant.path);
        CHECK(std::isfinite(e.kept));
        CHECK(e.kept < 1.01);
        // What computes or carries more never takes longer.
        if (e.constant.path.ends_with("/bandwidth") || e.constant.path.starts_with("/peak")) CHECK(e.kept <= 1e-9);
        if (e.constant.path.ends_with("/latency")) CHECK(e.kept >= -1e-9);
      }
    }
  }

  TEST_CASE("a better machine is never slower, and planning again never loses") {
    const TestJob t("llama3-8b", "h100", "megatron-lm", 32, 4096, 64);
    const Problem problem{.job = t.job, .space = {}};
    const auto best = best_layout(problem, run_in_order);
    REQUIRE(best);
    const auto all = upgrades(t.job, best->layout, &problem, run_in_order);
    CHECK(all.size() >= 6);
    for (const Upgrade& u : all) {
      CAPTURE(u.name);
      CHECK(u.kept <= (1 + 1e-9) * best->cost.time);
      REQUIRE(u.best);
      CHECK(u.best->cost.time <= (1 + 1e-9) * u.kept);
    }
  }

  TEST_CASE("differences of two layouts add up, in time and in bytes") {
    const TestJob t("llama3-8b", "h100", "megatron-lm", 64, 4096, 128);
    Evaluator<Plain> e(t.job, Scope<Plain>());
    const auto all = ranked(t.job);
    std::mt19937 random(3);
    for (int i = 0; i < 50; ++i) {
      const StepCost<Plain>&a = all[random() % all.size()].cost, &b = all[random() % all.size()].cost;
      const Difference d = difference(a, b);
      CHECK(d.time_change().si() == doctest::Approx((b.time - a.time).si()).epsilon(1e-9));
      CHECK(std::abs((d.memory_change() - (b.memory.device - a.memory.device)).si()) < 1);
    }
  }

  TEST_CASE("the first place holds until lines cross") {
    // Two layouts: the second communicates less and computes more.
    std::vector<RankedLayout> two(2);
    const auto set = [](RankedLayout& l, double compute, double communication) {
      l.cost.terms[static_cast<std::size_t>(Term::forward_gemm)] = compute * second;
      l.cost.terms[static_cast<std::size_t>(Term::tp_comm)] = communication * second;
      l.cost.time = (compute + communication) * second;
    };
    set(two[0], 8, 2);
    set(two[1], 9.2, 1);
    const Robustness r = robustness(two, 0.25);
    const auto find = [&](std::string_view cause) {
      return *std::find_if(r.holds.begin(), r.holds.end(), [&](const Hold& h) { return h.cause == cause; });
    };
    // 10 + 2e = 10.2 + e at e = 0.2; 10 + 8e = 10.2 + 9.2e below e = −1/6.
    CHECK(find("communication").to == doctest::Approx(0.2));
    CHECK(*find("communication").above == 1);
    CHECK(find("communication").share == doctest::Approx(0.9));
    CHECK(find("communication").regret == doctest::Approx(10.5 / 10.45 - 1));
    CHECK(find("arithmetic").from == doctest::Approx(-1.0 / 6));
    CHECK(!find("arithmetic").above);
    CHECK(find("host").share == 1);
    CHECK(r.weakest().cause == "arithmetic");
    CHECK(robustness({}, 0.1).holds.empty());
    CHECK(robustness(std::span(two).first(1), 0.1).weakest().share == 1);
    // Against brute force: no candidate is faster inside.
    const TestJob t("llama3-8b", "h100", "megatron-lm", 64, 4096, 128);
    const auto all = ranked(t.job);
    for (const Hold& h : robustness(all, 0.1).holds) {
      CHECK(h.from <= 0);
      CHECK(h.to >= 0);
      CHECK(h.regret >= 0);
      CHECK((h.share < 1) == (h.above.has_value() || h.below.has_value()));
    }
  }

  TEST_CASE("failures rank layouts by what they load, and the proof is that of all layouts") {
    const TestJob t("llama3-8b", "h100", "megatron-lm", 64, 4096, 128);
    Reliability r = usual_reliability();
    const auto all = ranked(t.job);
    const StepCost<Plain>& first = all.front().cost;
    const Goodput<Plain> g = goodput_of(Scope<Plain>(), t.job, first, r);
    CHECK(g.mttf.si() == doctest::Approx(50676 * 3600.0 / 64));
    CHECK(double(g.goodput) < 1);
    CHECK(g.effective > first.time);
    CHECK(g.write.si() == doctest::Approx(g.checkpoint.si() / (8 * 2e9)));
    // Traced and plain agree to the bit.
    Derivation d;
    const Scope<Traced> scope(d);
    Evaluator<Traced> traced(t.job, scope);
    Evaluator<Plain> plain(t.job, Scope<Plain>());
    CHECK(goodput_of(scope, t.job, traced.evaluate(all.front().layout), r).effective.si() ==
          goodput_of(Scope<Plain>(), t.job, plain.evaluate(all.front().layout), r).effective.si());
    // Fewer failures: the order of the step times. More: never a worse effective step first.
    r.unit_mttf.value = 1e12 * second;
    CHECK(rank_by_goodput(t.job, all, {}, r, 1).best.front().layout.layout == all.front().layout);
    r.unit_mttf.value = 64 * 4 * 3600 * second;
    const EffectiveRanking exact = rank_by_goodput(t.job, all, {}, r, all.size());
    for (std::size_t i = 1; i < exact.best.size(); ++i)
      CHECK(exact.best[i - 1].goodput.effective <= exact.best[i].goodput.effective);
    for (std::size_t keep = 1; keep < all.size(); keep *= 4) {
      const EffectiveRanking some = rank_by_goodput(
          t.job, {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(keep)}, all[keep - 1].cost.time, r, 1);
      if (some.proven) CHECK(some.best.front().goodput.effective == exact.best.front().goodput.effective);
    }
    r.unit_mttf.value = 1 * second;
    CHECK_THROWS_AS((void)rank_by_goodput(t.job, all, {}, r, 1), InputError);
  }

  TEST_CASE("a checkpoint holds what is trained; states in host memory are loaded too") {
    TestJob t("llama3-8b", "h100", "megatron-lm", 64, 4096, 128);
    const Reliability r = usual_reliability();
    const auto of = [&](const Layout& l) {
      return goodput_of(Scope<Plain>(), t.job, Evaluator<Plain>(t.job, Scope<Plain>()).evaluate(l), r);
    };
    Layout l = layout(4, 1, 16, 1);
    const Goodput<Plain> kept = of(l);
    l.optimizer_offload = true;
    CHECK(of(l).load.si() == doctest::Approx(kept.load.si()));
    CHECK(of(l).checkpoint.si() == kept.checkpoint.si());
    // Rank 16 beside q, k, v: r·(d_in + d_out) in each of 32 layers (hu2022lora).
    t.job.adapters = {.rank = 16, .targets = *adapter_target("qkv"), .frozen_bytes = 2, .quantised = false};
    l.optimizer_offload = false;
    const BytePolicy& b = t.profile.bytes;
    const double each = b.parameter.value.si() + b.master.value.si() + b.moments.value.si();
    CHECK(of(l).checkpoint.si() == doctest::Approx(32 * 16 * (4096.0 + 4096 + 2 * 1024) * each));
  }

  TEST_CASE("a layout's rank counts what is faster") {
    const TestJob t("llama3-8b", "h100", "megatron-lm", 32, 4096, 64);
    const auto all = ranked(t.job);
    for (const std::size_t i : {std::size_t{0}, std::size_t{7}, all.size() / 2}) {
      const Choice c = choice_of(t.job, all[i].layout, run_in_order, all.size());
      CHECK(c.rank <= i + 1);  // equals share a rank
      CHECK(c.rank + 3 > i);
      CHECK(c.fits);
      CHECK(c.rank_is_exact);
      CHECK(c.gain() > -0.05);
    }
    const Choice far = choice_of(t.job, all.back().layout, run_in_order, 50);
    CHECK(!far.rank_is_exact);
    CHECK(far.rank == 51);
  }

  TEST_CASE("value lists read as people write them") {
    using cli::AxisKind;
    CHECK(axis(AxisKind::gpus, "256..16384").values ==
          std::vector<std::string>{"256", "512", "1024", "2048", "4096", "8192", "16384"});
    CHECK(axis(AxisKind::gpus, "1..81*3").values == std::vector<std::string>{"1", "3", "9", "27", "81"});
    CHECK(axis(AxisKind::gpus, "8..30+8,4").values == std::vector<std::string>{"4", "8", "16", "24"});
    CHECK(axis(AxisKind::gpus, "1k").numbers == std::vector<double>{1000});
    CHECK(axis(AxisKind::tokens, "4k..16k").values == std::vector<std::string>{"4k", "8k", "16k"});
    CHECK(axis(AxisKind::tokens, "4k..8k+2k").values == std::vector<std::string>{"4k", "6k", "8k"});
    CHECK(axis(AxisKind::batch, "1M-tokens..4M-tokens").values ==
          std::vector<std::string>{"1M-tokens", "2M-tokens", "4M-tokens"});
    CHECK(axis(AxisKind::batch, "1..4M-tokens*2").values.back() == "4M-tokens");
    CHECK(axis(AxisKind::batch, "64,128").numbers == std::vector<double>{64, 128});
    CHECK(axis(AxisKind::factor, "0.5..4").numbers == std::vector<double>{0.5, 1, 2, 4});
    CHECK(axis(AxisKind::factor, "0.8..1.2+0.1").numbers.size() == 5);
    CHECK(axis(AxisKind::degree, "0..3+1").numbers == std::vector<double>{0, 1, 2, 3});
    CHECK(axis(AxisKind::words, "h100,b200,h100").values == std::vector<std::string>{"h100", "b200"});
    for (const auto& [kind, bad] : std::vector<std::pair<AxisKind, std::string>>{
             {AxisKind::gpus, ""},       {AxisKind::gpus, "16..8"},    {AxisKind::gpus, "1.."},
             {AxisKind::gpus, "..4"},    {AxisKind::gpus, "1,,2"},     {AxisKind::gpus, "1..4*1"},
             {AxisKind::gpus, "1..4+0"}, {AxisKind::gpus, "1..4*nan"}, {AxisKind::gpus, "nan..4"},
             {AxisKind::gpus, "1..inf"}, {AxisKind::gpus, "0..4"},     {AxisKind::gpus, "1..1e8+1"},
             {AxisKind::gpus, "1.5"},    {AxisKind::degree, "0..4"},   {AxisKind::degree, "-1"},
             {AxisKind::factor, "0"},    {AxisKind::factor, "-1..2"},  {AxisKind::factor, "1e-300..1"},
             {AxisKind::batch, "2k"},    {AxisKind::tokens, "4q"},     {AxisKind::gpus, "1..4..8"},
             {AxisKind::words, ","},     {AxisKind::gpus, "1..8*1.5"}})
      CHECK_THROWS_AS_MESSAGE((void)axis(kind, bad), InputError, bad);
  }

  TEST_CASE("a plot shows every point, and nothing where there is nothing") {
    const cli::Plot lines{.x_title = "x",
                          .y_title = "y",
                          .x = {1, 10, 100},
                          .words = {"1", "10", "100"},
                          .series = {{"a", {100.0, 10.0, 1.0}}, {"b", {1.0, std::nullopt, 3.0}}}};
    const std::string drawn = cli::draw(lines);
    CHECK(drawn.find("y (log)") == 0);
    CHECK(std::count(drawn.begin(), drawn.end(), 'x') >= 2);
    const cli::Plot bars{
        .x_title = "hw", .y_title = "MFU", .x = {}, .words = {"h100", "b200"}, .series = {{"", {0.5, 0.25}}}};
    CHECK(cli::draw(bars).find("h100 |####") != std::string::npos);
    CHECK(cli::draw(
              {.x_title = "", .y_title = "", .x = {1, 2}, .words = {}, .series = {{"", {std::nullopt, std::nullopt}}}})
              .empty());
    CHECK(cli::draw({.x_title = "", .y_title = "", .x = {5}, .words = {"5"}, .series = {{"", {7.0}}}}).find('o') !=
          std::string::npos);
    CHECK(cli::draw({.x_title = "", .y_title = "", .x = {}, .words = {}, .series = {}}).empty());
  }
}
