#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "model/search/finalists.hpp"
#include "tests/step_fixture.hpp"

using namespace napkin;
using namespace napkin::test;

namespace {

// What a layout costs, from nothing: an evaluator that has seen no other.
StepCost<Plain> alone(const Job& job, const Layout& l) { return Evaluator<Plain>(job, Scope<Plain>()).evaluate(l); }

bool allowed(const Space& s, LayoutAxis axis, std::int64_t v) { return s.limits[static_cast<std::size_t>(axis)].allows(v); }

// By the rules, those of the framework's release included.
bool kept(const Job& job, const Layout& l) {
  const RuleSet set(job);
  for (std::size_t r = 0; r < set.size(); ++r)
    if (!set.keeps(r, job, l)) return false;
  return true;
}

// Brute force over the default space, by counting: it knows the rules and the user's limits, not how a search enumerates.
std::vector<RankedLayout> brute_force(const Problem& p) {
  const Job& j = p.job;
  const int gpus = static_cast<int>(j.gpus), depth = static_cast<int>(j.model->depth());
  int experts = 1;
  for (const LayerKind& k : j.model->kinds) experts = std::max(experts, k.ffn.moe ? k.ffn.moe->experts : 1);
  std::vector<RankedLayout> fit;
  Layout l;
  const auto each = [&](LayoutAxis axis, int from, int to, int& into, auto&& body) {
    for (into = from; into <= to; ++into)
      if (allowed(p.space, axis, into)) body();
  };
  const auto consider = [&] {
    if (!kept(j, l)) return;
    const auto cost = alone(j, l);
    if (cost.memory.device <= (1 - p.margin) * j.hardware->accelerator.capacity.value) fit.push_back({l, cost});
  };
  const auto inner = [&] {
    for (const bool sp : {false, true})
      for (const Recompute r : {Recompute::none, Recompute::selective, Recompute::full})
        for (int mb = 1; mb <= p.space.max_micro_batch && mb <= j.batch; ++mb) {
          if ((sp && l.tp == 1) || j.batch % mb != 0 || !allowed(p.space, LayoutAxis::sp, sp) ||
              !allowed(p.space, LayoutAxis::recompute, static_cast<std::int64_t>(r)) || !allowed(p.space, LayoutAxis::micro_batch, mb))
            continue;
          l.sp = sp;
          l.recompute = r;
          l.micro_batch = mb;
          each(LayoutAxis::zero, 0, 3, l.zero, consider);
        }
  };
  each(LayoutAxis::tp, 1, gpus, l.tp, [&] {
    each(LayoutAxis::cp, 1, gpus / l.tp, l.cp, [&] {
      if (gpus % (l.tp * l.cp) != 0) return;
      each(LayoutAxis::pp, 1, std::min(gpus / l.tp / l.cp, depth), l.pp, [&] {
        if (gpus % (l.tp * l.cp * l.pp) != 0) return;
        l.dp = gpus / (l.tp * l.cp * l.pp);
        if (!p.space.dp.allows(l.dp)) return;
        each(LayoutAxis::vpp, 1, l.pp == 1 ? 1 : (depth + 2) / l.pp, l.vpp, [&] {
          l.schedule = l.vpp > 1 ? Schedule::interleaved : Schedule::one_f_one_b;
          each(LayoutAxis::ep, 1, std::min(experts, gpus), l.ep, [&] {
            each(LayoutAxis::etp, 1, experts > 1 ? l.tp : 1, l.etp, [&] {
              if (gpus % l.ep == 0 && (l.etp == 1 || l.etp == l.tp)) inner();
            });
          });
        });
      });
    });
  });
  std::ranges::sort(fit, better);
  return fit;
}

// The same over a space with more axes: every combination of axis values, the rules applied to whole layouts.
void brute_force(const Problem& p, Layout l, std::size_t axis, std::vector<RankedLayout>& fit) {
  if (axis == axis_count) {
    if (!kept(p.job, l)) return;
    const auto cost = alone(p.job, l);
    if (cost.memory.device <= (1 - p.margin) * p.job.hardware->accelerator.capacity.value) fit.push_back({l, cost});
    return;
  }
  const auto a = static_cast<LayoutAxis>(axis);
  for (const std::int64_t v : axis_values(p.job, p.space, a, l)) {
    set_axis(l, a, v);
    if (a == LayoutAxis::pp) l.dp = p.job.gpus / (static_cast<std::int64_t>(l.tp) * l.cp * l.pp);
    brute_force(p, l, axis + 1, fit);
  }
}

void check_same_order(const Outcome& o, const std::vector<RankedLayout>& all) {
  REQUIRE(o.best.size() == all.size());
  CHECK(o.feasible == static_cast<std::int64_t>(all.size()));
  for (std::size_t k = 0; k < all.size(); ++k) {
    CHECK(o.best[k].layout == all[k].layout);
    CHECK(o.best[k].cost.time.si() == all[k].cost.time.si());
    CHECK(o.best[k].cost.memory.device.si() == all[k].cost.memory.device.si());
  }
}

// Every layout of the space was evaluated or dropped by one rule.
void check_counts(const Problem& p, const Outcome& o) {
  std::int64_t dropped = 0;
  for (const std::int64_t n : o.dropped) dropped += n;
  CHECK(o.searched + dropped == count_layouts(p.job, p.space, Layout{}, 0));
}

struct Drawn {
  std::string model, hardware, framework;
  std::int64_t gpus, sequence, batch;
};
Drawn draw(std::mt19937& random, unsigned doublings) {
  static const std::vector<std::string> models{"llama3-8b", "qwen3-30b-a3b", "gpt3-6.7b", "llama2-13b", "mixtral-8x7b"};
  static const std::vector<std::string> hw{"h100", "a100", "b200", "h200"};
  static const std::vector<std::string> frameworks{"reference", "megatron-lm", "torchtitan", "nanotron", "maxtext", "deepspeed"};
  return {models[random() % models.size()], hw[random() % hw.size()], frameworks[random() % frameworks.size()],
          std::int64_t{1} << (random() % doublings), std::int64_t{1024} << (random() % 2), 4LL << (random() % 3)};
}

std::uint64_t hashed(std::string_view text, std::uint64_t h = 0xCBF29CE484222325ULL) {
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;  // FNV-1a
  return h;
}

}  // namespace

TEST_SUITE("search") {
  TEST_CASE("search and brute force agree on winner and order over 200 random small problems") {
    std::mt19937 random(7);
    std::int64_t layouts = 0;
    for (int i = 0; i < 200; ++i) {
      const Drawn d = draw(random, 4);
      TestJob t(d.model, d.hardware, d.framework, d.gpus, d.sequence, d.batch);
      Problem p{.job = t.job, .space = {}, .keep = 1000000};
      p.space.max_micro_batch = 2;
      // Some of them under limits, so that every kind of limit is met.
      if (i % 3 == 0) p.space.limit(LayoutAxis::vpp).at_most = 3;
      if (i % 4 == 0) p.space.limit(LayoutAxis::recompute).forbid = {static_cast<std::int64_t>(random() % 3)};
      if (i % 5 == 0) p.space.limit(LayoutAxis::tp).require = {1, 2};
      if (i % 7 == 0) p.space.dp.at_least = 2;
      const Outcome o = search(p);
      CAPTURE(i);
      CAPTURE(d.model);
      CAPTURE(d.framework);
      CAPTURE(d.gpus);
      check_same_order(o, brute_force(p));
      check_counts(p, o);
      layouts += o.searched;
    }
    CHECK(layouts > 10000);
  }

  TEST_CASE("so they do over spaces with every axis opened") {
    std::mt19937 random(11);
    for (int i = 0; i < 40; ++i) {
      const Drawn d = draw(random, 4);
      TestJob t(d.model, d.hardware, d.framework, d.gpus, d.sequence, d.batch);
      Problem p{.job = t.job, .space = {}, .keep = 1000000};
      p.space.max_micro_batch = 1;
      p.space.limit(LayoutAxis::vpp).at_most = 2;
      p.space.limit(LayoutAxis::recompute_layers).at_most = 4;
      // Three optional axes at a time, in turn.
      for (std::size_t n = 0; n < 3; ++n)
        p.space.opened[static_cast<std::size_t>(optional_axes[(static_cast<std::size_t>(i) + 4 * n) % optional_axes.size()])] = true;
      const Outcome o = search(p);
      std::vector<RankedLayout> all;
      brute_force(p, Layout{}, 0, all);
      std::ranges::sort(all, better);
      CAPTURE(i);
      CAPTURE(d.model);
      CAPTURE(d.framework);
      check_same_order(o, all);
      check_counts(p, o);
    }
  }

  TEST_CASE("what a release could not run is dropped, named and counted") {
    TestJob t("llama3-8b", "h100", "megatron-lm", 16, 4096, 32);
    CHECK(RuleSet(t.job).size() == rules().size());  // the newest release
    t.job.release = 12 * 2021 + 11;
    const RuleSet set(t.job);
    REQUIRE(set.size() > rules().size());
    Space small;
    small.max_micro_batch = 2;
    const Problem p{.job = t.job, .space = small, .keep = 100000, .margin = -1e6};
    const Outcome o = search(p);
    check_counts(p, o);
    REQUIRE(!o.best.empty());
    for (const RankedLayout& c : o.best) CHECK((c.layout.cp == 1 && !c.layout.sp && c.layout.recompute != Recompute::selective));
    for (std::size_t r = rules().size(); r < set.size(); ++r) {
      CHECK(!set.name(r).empty());
      CHECK(!set.source(r).empty());
      if (set.name(r).starts_with("context parallelism came")) CHECK(o.dropped[r] > 0);
    }
  }

  // A commit that changes the space says so here: what is searched, what each rule drops, which layouts these are.
  TEST_CASE("signature of the space") {
    const auto signature = [](const TestJob& t, const Space& space) {
      Problem p{.job = t.job, .space = space, .keep = 1000000, .margin = -1e6};  // everything fits
      Outcome o = search(p);
      std::ranges::sort(o.best, {}, &RankedLayout::layout);
      std::uint64_t h = hashed(std::to_string(o.searched));
      for (const std::int64_t n : o.dropped) h = hashed(std::to_string(n), h);
      for (const RankedLayout& c : o.best) h = hashed(describe(c.layout), h);
      return std::pair(o.searched, h);
    };
    Space small;
    small.max_micro_batch = 4;
    Space full = small;
    full.opened.fill(true);
    const TestJob dense("llama3-8b", "h100", "megatron-lm", 16, 4096, 32);
    const TestJob experts("qwen3-30b-a3b", "h100", "torchtitan", 16, 4096, 32);
    const TestJob two("llama3-8b", "h100", "reference", 2, 4096, 4);
    const auto same = [&](const TestJob& t, const Space& space, std::int64_t searched, std::uint64_t hash) {
      const auto [n, h] = signature(t, space);
      CHECK(n == searched);
      CHECK(h == hash);
    };
    same(dense, small, 11931, 2349854660598699760ULL);
    same(experts, small, 41493, 16331783134741238273ULL);  // without ZeRO-1, which FSDP2 does not have
    same(two, full, 6752, 15464123783445567866ULL);
  }

  TEST_CASE("more memory never makes the best slower, nor does a faster link") {
    std::mt19937 random(23);
    for (int i = 0; i < 60; ++i) {
      const Drawn d = draw(random, 6);
      TestJob t(d.model, d.hardware, d.framework, d.gpus, d.sequence, 4 * d.batch);
      CAPTURE(i);
      CAPTURE(d.model);
      CAPTURE(d.framework);
      CAPTURE(d.hardware);
      CAPTURE(d.gpus);
      const auto best = [&] { return search({.job = t.job, .space = {}, .keep = 1}); };
      const Outcome before = best();
      if (before.best.empty()) continue;
      t.hardware.accelerator.capacity.value = 1.3 * t.hardware.accelerator.capacity.value;
      const Outcome roomier = best();
      REQUIRE(!roomier.best.empty());
      CHECK(roomier.best.front().cost.time <= before.best.front().cost.time);
      CHECK(roomier.feasible >= before.feasible);
      const std::size_t tier = random() % t.hardware.network.tiers.size();
      t.hardware.network.tiers[tier].bandwidth.value = 2 * t.hardware.network.tiers[tier].bandwidth.value;
      CHECK(best().best.front().cost.time <= roomier.best.front().cost.time);
    }
  }

  TEST_CASE("twice the accelerators never need longer for the same batch where the old layout still embeds") {
    std::mt19937 random(29);
    int embedded = 0;
    for (int i = 0; i < 60; ++i) {
      const Drawn d = draw(random, 6);
      TestJob t(d.model, d.hardware, d.framework, d.gpus, d.sequence, 64);
      const Outcome before = search({.job = t.job, .space = {}, .keep = 1});
      if (before.best.empty()) continue;
      t.job.gpus *= 2;
      Layout twice = before.best.front().layout;
      twice.dp *= 2;
      if (broken_rule(t.job, twice) != nullptr) continue;
      ++embedded;
      CAPTURE(i);
      CAPTURE(d.model);
      CAPTURE(d.framework);
      CAPTURE(d.hardware);
      CAPTURE(d.gpus);
      const Outcome after = search({.job = t.job, .space = {}, .keep = 1});
      REQUIRE(!after.best.empty());
      CHECK(after.best.front().cost.time <= before.best.front().cost.time);
    }
    CHECK(embedded > 20);
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

  TEST_CASE("a framework's own sharding group is made of whole replicas when stages are inside") {
    TestJob t("llama2-7b", "a100", "internevo", 768, 30720, 256);
    REQUIRE(t.profile.data_parallel.group == 8);
    Layout l{.cp = 3, .pp = 2, .dp = 128, .zero = 1};
    const Rule* const before = broken_rule(t.job, l);
    l.order = RankOrder::stages_inside;
    const Rule* const r = broken_rule(t.job, l);
    REQUIRE(r != nullptr);
    CHECK(r != before);
    CHECK(r->name.find("whole replicas") != std::string::npos);
    Problem p{.job = t.job, .space = {}};
    p.space.opened[static_cast<std::size_t>(LayoutAxis::order)] = true;
    CHECK_NOTHROW((void)search(p));
  }

  TEST_CASE("the front holds one layout of each time") {
    RankedLayout a, b;
    a.layout.dp = 1, b.layout.dp = 2;
    a.cost.time = b.cost.time = 1 * second;
    a.cost.memory.device = 2 * GB, b.cost.memory.device = 1 * GB;
    Front front;
    front.add(a);
    front.add(b);
    REQUIRE(front.layouts().size() == 1);
    CHECK(front.layouts().front().layout == b.layout);
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
