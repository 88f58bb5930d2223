// Communication inside a layer as the framework does it: how tokens reach experts, and keys their queries.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "model/collective/expert_exchange.hpp"
#include "model/search/rules.hpp"
#include "model/step/layer_cost.hpp"
#include "tests/step_fixture.hpp"

using namespace napkin;
using test::TestJob;

namespace {

LayerCost<Plain> cost(const TestJob& t, const LayerKey& key) {
  return layer_cost(Scope<Plain>(), t.job, key, t.model.kinds.back());
}
std::vector<Operator<Plain>> communication(const TestJob& t, const LayerKey& key, Axis axis) {
  auto ops = layer_operators(Scope<Plain>(), t.model, t.model.kinds.back(), shard_of(t.job, key), t.profile);
  std::erase_if(ops, [&](const auto& o) { return o.kind != Operator<Plain>::Kind::collective || o.axis != axis; });
  return ops;
}

}  // namespace

TEST_SUITE("layer communication") {
  TEST_CASE("experts: a row each through an all-to-all, or a token once to a node and once to a rank") {
    TestJob t("deepseek-v3", "h100-sxm", "reference", 256, 4096, 256);
    t.profile.expert_exchange = ExpertExchange::all_to_all;
    const LayerKey across{.ep = 64}, inside{.ep = 8};
    const double rows = cost(t, across).forward.ep.si(), rows_inside = cost(t, inside).forward.ep.si();
    t.profile.expert_exchange = ExpertExchange::two_level;
    const double tokens = cost(t, across).forward.ep.si(), tokens_inside = cost(t, inside).forward.ep.si();
    // Top 8 in groups of which 4 count: 3.5 remote nodes instead of 8 · 7/8 rows.
    CHECK(tokens < 0.6 * rows);
    CHECK(tokens > 0.4 * rows);
    CHECK(tokens_inside < rows_inside);
    // Both directions are what model/collective says of one exchange.
    const auto ops = communication(t, across, Axis::ep);
    REQUIRE(ops.size() == 2);
    REQUIRE(ops[0].routing);
    CHECK(ops[0].routing->group_limit == 4);
    const auto one = expert_exchange_cost(Scope<Plain>(), t.hardware.network, {64, 1}, *ops[0].routing, ops[0].bytes);
    CHECK(one.remote_nodes == doctest::Approx(3.5));
    CHECK(tokens == doctest::Approx(2 * (1 - t.profile.overlap.expert_parallel.value.si()) * one.time.si()));
    // The busiest rank ends the exchange.
    t.profile.expert_imbalance.value = 2 * t.profile.expert_imbalance.value;
    CHECK(cost(t, across).forward.ep.si() > 1.9 * tokens);
  }

  TEST_CASE("context parallelism: a ring behind attention, a gather or an all-to-all before it") {
    TestJob t("llama3-8b", "h100-sxm", "reference", 64, 32768, 64);
    const LayerKey key{.cp = 8};
    const double e = 2, part = 32768.0 / 8, kv = 8 * 128 * 2 * part * e, q = 32 * 128 * part * e;
    t.profile.context_exchange = ContextExchange::ring;
    const auto ring = communication(t, key, Axis::cp);
    REQUIRE(ring.size() == 1);
    CHECK(ring[0].operation == Operation::send_recv);
    CHECK(ring[0].bytes.si() == kv);
    CHECK(ring[0].rounds == 7);
    t.profile.context_exchange = ContextExchange::all_gather;
    const auto gather = communication(t, key, Axis::cp);
    REQUIRE(gather.size() == 1);
    CHECK(gather[0].operation == Operation::all_gather);
    CHECK(gather[0].backward_operation == Operation::reduce_scatter);
    CHECK(gather[0].bytes.si() == 8 * kv);
    CHECK(cost(t, key).forward.cp == collective_cost(Scope<Plain>(), t.hardware.network, Operation::all_gather,
                                                     gather[0].bytes, {8, 1}).time);
    // Gathered once more before the backward pass, unless the whole layer is recomputed.
    LayerKey full = key;
    full.recompute = Recompute::full;
    CHECK(cost(t, key).backward.cp > cost(t, full).backward.cp);
    t.profile.context_exchange = ContextExchange::all_to_all;
    const auto trade = communication(t, key, Axis::cp);
    REQUIRE(trade.size() == 2);
    CHECK(trade[0].bytes.si() == q + kv);  // 8 kv heads: one a rank
    CHECK(trade[1].bytes.si() == q);
    // The pairs of queries and keys are the same however they meet.
    const auto attention = [&](ContextExchange how) {
      t.profile.context_exchange = how;
      return cost(t, key).forward.attention.si();
    };
    CHECK(attention(ContextExchange::all_to_all) == attention(ContextExchange::all_gather));
    CHECK(attention(ContextExchange::all_gather) == doctest::Approx(attention(ContextExchange::ring)).epsilon(0.2));
  }

  TEST_CASE("an all-to-all splits heads: cp must divide those of a rank") {
    TestJob t("llama3-8b", "h100-sxm", "deepspeed", 64, 32768, 64);
    Layout l{.tp = 1, .cp = 64, .dp = 1};
    const Rule* broken = broken_rule(t.job, l);
    REQUIRE(broken != nullptr);
    CHECK(explain_broken(*broken, t.job, l).find("32 heads on a rank") != std::string::npos);
    l.cp = 32;
    l.dp = 2;
    CHECK(broken_rule(t.job, l) == nullptr);
  }

  TEST_CASE("plain and traced agree") {
    for (const auto exchange : {ExpertExchange::all_to_all, ExpertExchange::two_level})
      for (const auto how : {ContextExchange::ring, ContextExchange::all_gather, ContextExchange::all_to_all}) {
        TestJob t("deepseek-v3", "h100-sxm", "reference", 256, 4096, 256);
        t.profile.expert_exchange = exchange;
        t.profile.context_exchange = how;
        const LayerKey key{.cp = 2, .ep = 32};
        Derivation d;
        const auto traced = layer_cost(Scope<Traced>(d), t.job, key, t.model.kinds.back());
        const auto plain_cost = cost(t, key);
        CHECK(traced.forward.total().si() == plain_cost.forward.total().si());
        CHECK(traced.backward.total().si() == plain_cost.backward.total().si());
      }
  }
}
