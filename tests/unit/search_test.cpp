#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "model/search/finalists.hpp"
#include "tests/step_fixture.hpp"

using namespace napkin;
using namespace napkin::test;

namespace {

// Brute force over the space: every combination of axis values, the rules applied to whole layouts.
void brute_force(const Problem& p, Layout l, std::size_t axis, Evaluator<Plain>& e, std::vector<RankedLayout>& found) {
  if (axis == axis_count) {
    if (broken_rule(p.job, l) != nullptr) return;
    const auto cost = e.evaluate(l);
    if (cost.memory.device <= (1 - p.margin) * p.job.hardware->accelerator.capacity.value) found.push_back({l, cost});
    return;
  }
  const auto a = static_cast<LayoutAxis>(axis);
  for (const std::int64_t v : axis_values(p.job, p.space, a, l)) {
    set_axis(l, a, v);
    if (a == LayoutAxis::pp) l.dp = p.job.gpus / (static_cast<std::int64_t>(l.tp) * l.cp * l.pp);
    brute_force(p, l, axis + 1, e, found);
  }
}

}  // namespace

TEST_SUITE("search") {
  TEST_CASE("search and brute force agree on winner and order over random small problems") {
    std::mt19937 random(7);
    const std::vector<std::string> models{"llama3-8b", "qwen3-30b-a3b", "gpt3-6.7b", "llama2-13b"};
    const std::vector<std::string> hw{"h100", "a100", "b200"};
    for (int i = 0; i < 12; ++i) {
      TestJob t(models[random() % models.size()], hw[random() % hw.size()], i % 2 == 0 ? "reference" : "megatron-lm",
                std::int64_t{1} << (random() % 5), std::int64_t{1024} << (random() % 3), 8 << (random() % 3));
      Problem p{.job = t.job, .space = {}, .keep = 1000000};
      p.space.max_micro_batch = 4;
      const Outcome o = search(p);
      Evaluator<Plain> e(t.job, Scope<Plain>());
      std::vector<RankedLayout> all;
      brute_force(p, Layout{}, 0, e, all);
      std::sort(all.begin(), all.end(), better);
      CAPTURE(t.model.name);
      CAPTURE(t.job.gpus);
      REQUIRE(o.best.size() == all.size());
      CHECK(o.feasible == static_cast<std::int64_t>(all.size()));
      for (std::size_t k = 0; k < all.size(); ++k) {
        CHECK(o.best[k].layout == all[k].layout);
        CHECK(o.best[k].cost.time.si() == all[k].cost.time.si());
      }
      // Every layout of the space was evaluated or dropped by one rule.
      std::int64_t dropped = 0;
      for (const std::int64_t n : o.dropped) dropped += n;
      CHECK(o.searched + dropped == count_layouts(p.job, p.space, Layout{}, 0));
    }
  }

  TEST_CASE("an executor that runs blocks backwards gives the same answer") {
    TestJob t("llama3-8b", "h100", "reference", 64, 4096, 128);
    const Problem p{.job = t.job, .space = {}, .keep = 20};
    const Outcome a = search(p);
    const Outcome b = search(p, [](std::size_t n, const std::function<void(std::size_t)>& body) {
      for (std::size_t i = n; i-- > 0;) body(i);
    });
    REQUIRE(a.best.size() == b.best.size());
    for (std::size_t i = 0; i < a.best.size(); ++i) CHECK(a.best[i].layout == b.best[i].layout);
    CHECK(a.searched == b.searched);
    CHECK(a.dropped == b.dropped);
  }

  TEST_CASE("limits are obeyed, and an impossible problem names the closest layout") {
    TestJob t("llama3-70b", "h100", "reference", 64, 4096, 128);
    Problem p{.job = t.job, .space = {}, .keep = 50};
    p.space.limits[static_cast<std::size_t>(LayoutAxis::tp)].require = {4, 8};
    p.space.limits[static_cast<std::size_t>(LayoutAxis::recompute)].forbid = {2};
    const Outcome o = search(p);
    REQUIRE(!o.best.empty());
    for (const RankedLayout& c : o.best) {
      CHECK((c.layout.tp == 4 || c.layout.tp == 8));
      CHECK(c.layout.recompute != Recompute::full);
      CHECK(broken_rule(t.job, c.layout) == nullptr);
    }
    TestJob small("llama3.1-405b", "l40s", "reference", 8, 4096, 8);
    const Outcome none = search({.job = small.job, .space = {}});
    CHECK(none.why == Outcome::Why::infeasible);
    REQUIRE(none.closest);
    CHECK(none.closest->cost.memory.device > small.hardware.accelerator.capacity.value);
  }

  TEST_CASE("every rule says what is broken and never keeps a layout it should not") {
    TestJob t("llama3-8b", "h100", "reference", 64, 4096, 128);
    const Layout bad{.tp = 1, .pp = 48, .dp = 1};
    const Rule* r = broken_rule(t.job, bad);
    REQUIRE(r != nullptr);
    CHECK(explain_broken(*r, t.job, bad).find("48") != std::string::npos);
  }

  TEST_CASE("frameworks that take uneven splits get them: 61 layers over 16 stages") {
    for (const char* framework : {"megatron-lm", "reference"}) {
      TestJob t("deepseek-v3", "h100", framework, 256, 4096, 256);
      const Layout l{.tp = 1, .ep = 16, .pp = 16, .dp = 16, .zero = 1};
      const Rule* broken = broken_rule(t.job, l);
      if (t.profile.uneven_split) {
        CHECK(broken == nullptr);
      } else {
        REQUIRE(broken != nullptr);
        CHECK(broken->name == "layers split over pp·vpp");
      }
      Layout deep = l;
      deep.pp = 64;
      deep.dp = 4;
      CHECK(broken_rule(t.job, deep) != nullptr);  // more stages than 61 layers and two ends
    }
  }

  TEST_CASE("finalists are timed as predict times them, and ranked by that") {
    TestJob t("llama3-70b", "h100", "megatron-lm", 64, 4096, 128);
    const Problem p{.job = t.job, .space = {}, .keep = finalists(10)};
    Outcome o = search(p);
    const FinalistTiming timing = time_finalists(p, 10, o);
    CHECK(o.best.size() == 10);
    CHECK(std::ranges::is_sorted(o.best, better));
    bool interleaved = false;
    for (const RankedLayout& c : o.best) {
      interleaved |= c.layout.schedule == Schedule::interleaved;
      CHECK(c.cost.time.si() == predict(Scope<Plain>(), t.job, c.layout, FlopConvention::full_attention).step.time.si());
    }
    if (interleaved) CHECK(timing.simulated > 0);
    CHECK(timing.largest_change < 0.05);
    for (const auto& of_axis : o.best_by_axis)
      for (const auto& [value, c] : of_axis) CHECK(!better(c, o.best.front()));
  }
}
