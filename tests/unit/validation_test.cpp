// What `napkin validate` says of a set of runs: statistics by hand-computed values, decisions on small made-up sets.
#include <doctest/doctest.h>

#include <cmath>

#include "model/validation/replay_input.hpp"
#include "model/validation/summary.hpp"

using namespace napkin;
using namespace napkin::validation;

namespace {

// A row that ran (tokens/s measured) or did not (0), predicted at `promise` tokens/s and `usage` of capacity.
Replay row(const std::string& id, double measured, double promise, double usage, const std::string& state = "healthy") {
  Replay r;
  r.run.id = id;
  r.run.configuration = "job";
  r.run.title = "job";
  r.run.cluster_state = measured > 0 ? state : "unknown";
  r.run.framework = "f";
  r.measured.out_of_memory = measured <= 0;
  if (measured > 0) {
    at(r.measured.figures, Metric::tokens_per_s_per_gpu) = measured;
    at(r.measured.figures, Metric::step_time) = 1 / measured;
    at(r.error, Metric::tokens_per_s_per_gpu) = promise / measured - 1;
    at(r.error, Metric::step_time) = measured / promise - 1;
  }
  at(r.predicted, Metric::tokens_per_s_per_gpu) = promise;
  at(r.predicted, Metric::step_time) = 1 / promise;
  r.usage = usage;
  return r;
}

const char* record = R"({"id": "a", "framework": "pytorch-eager", "hardware": "h200-sxm", "gpus": 2, "gpus_per_node": 2,
  "precision": "bf16", "seq_len": 2048, "micro_batch": 4, "global_batch": 8, "recompute": "none",
  "layout": {"tp": 1, "pp": 1, "dp": 2, "zero": 3}, "convention": "full-attention",
  "model": {"name": "m", "layers": 16, "hidden": 2048, "heads": 16, "kv_heads": 16, "ffn": 5632, "gated": true, "vocab": 32000},
  "measured": )";

Replay replay_with(const std::string& measured) {
  std::string text = record + measured + "}";
  for (char& c : text)
    if (c == '\n') c = ' ';
  return replay({text, "test.jsonl", 7});
}

}  // namespace

TEST_SUITE("validation statistics") {
  TEST_CASE("percentiles interpolate between order statistics") {
    CHECK(percentile({3, 1, 2}, 0.5) == 2);
    CHECK(percentile({4, 1, 3, 2}, 0.5) == 2.5);
    CHECK(percentile({0, 10}, 0.9) == doctest::Approx(9));
    CHECK(percentile({7}, 0.9) == 7);
    CHECK(percentile({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 0.9) == doctest::Approx(10));
  }

  TEST_CASE("a summary has the median and 90th percentile of magnitudes, and the signed median") {
    const ErrorSummary s = napkin::validation::summarise(std::vector<double>{-0.1, 0.2, -0.3, 0.05});
    CHECK(s.n == 4);
    CHECK(s.median_abs == doctest::Approx(0.15));
    CHECK(s.p90_abs == doctest::Approx(0.27));
    CHECK(s.bias == doctest::Approx(-0.025));
    CHECK(s.worst == doctest::Approx(-0.3));
    CHECK(napkin::validation::summarise(std::vector<double>{}).n == 0);
  }

  TEST_CASE("rank correlation") {
    const std::vector<double> x{1, 2, 3, 4, 5}, same{10, 20, 30, 40, 500}, reversed{5, 4, 3, 2, 1};
    CHECK(*spearman(x, same) == doctest::Approx(1));
    CHECK(*spearman(x, reversed) == doctest::Approx(-1));
    // d = (0, 1, −1, 0, 0): 1 − 6·2/(5·24)
    CHECK(*spearman(x, std::vector<double>{1, 3, 2, 4, 5}) == doctest::Approx(0.9));
    // Ties take their mean rank: ranks 1.5 1.5 3 against 1 2 3.
    CHECK(*spearman(std::vector<double>{1, 1, 2}, std::vector<double>{1, 2, 3}) == doctest::Approx(std::sqrt(3.0) / 2));
    CHECK_FALSE(spearman(std::vector<double>{1, 1}, std::vector<double>{1, 2}));
    CHECK_FALSE(spearman(std::vector<double>{1}, std::vector<double>{1}));
  }

  TEST_CASE("a weighted median is where half the weight lies") {
    CHECK(weighted_median({{1, 1}, {2, 1}, {3, 1}}) == 2);
    CHECK(weighted_median({{3, 1}, {1, 5}, {2, 1}}) == 1);
    CHECK_THROWS(weighted_median({{1, 0}}));
  }
}

TEST_SUITE("validation decisions") {
  TEST_CASE("the verdict's confusion matrix and its band near capacity") {
    const std::vector<Replay> rows{row("fits", 1, 1, 0.5), row("false alarm", 1, 1, 1.1), row("caught", 0, 1, 1.5),
                                   row("missed", 0, 1, 0.9)};
    const FitSummary f = summarise(rows).fit;
    CHECK(f.n == 4);
    CHECK(f.accuracy() == doctest::Approx(0.5));
    CHECK(f.measured_out == 2);
    CHECK(f.caught == 1);
    CHECK(f.false_fits == 1);
    CHECK(f.false_ooms == 1);
    CHECK(f.band == 2);  // 1.1 and 0.9; 0.5 and 1.5 are outside 0.63–1.38
    CHECK(f.band_right == 0);
  }

  TEST_CASE("regret: what our first pick that should fit lost against the best that ran") {
    std::vector<Replay> rows;
    for (int i = 1; i <= 8; ++i) rows.push_back(row("r" + std::to_string(i), 10.0 * i, i == 6 ? 100 : i, 0.5));
    Summary s = summarise(rows);
    REQUIRE(s.groups.size() == 1);
    CHECK(s.groups[0].n == 8);
    CHECK(s.groups[0].picked == "r6");
    CHECK(s.groups[0].best == "r8");
    CHECK(*s.groups[0].regret == doctest::Approx(0.25));
    CHECK(*s.groups[0].spearman < 1);

    SUBCASE("a pick predicted not to fit is not ours") {
      rows[5].usage = 1.2;
      s = summarise(rows);
      CHECK(s.groups[0].picked == "r8");
      CHECK(*s.groups[0].regret == doctest::Approx(0));
    }
    SUBCASE("a pick that ran out of memory loses everything") {
      rows.push_back(row("oom", 0, 1000, 0.9));
      s = summarise(rows);
      CHECK(s.groups[0].n == 9);
      CHECK(s.groups[0].picked_out_of_memory);
      CHECK(*s.groups[0].regret == 1);
    }
    SUBCASE("fewer than eight rows are no group") {
      rows.pop_back();
      CHECK(summarise(rows).groups.empty());
    }
    SUBCASE("cluster states are separate, rows without memory belong to both") {
      for (int i = 1; i <= 7; ++i) rows.push_back(row("d" + std::to_string(i), i, i, 0.5, "degraded"));
      CHECK(summarise(rows).groups.size() == 1);
      rows.push_back(row("oom", 0, 0.5, 2));
      s = summarise(rows);
      REQUIRE(s.groups.size() == 2);
      CHECK(s.groups[0].n + s.groups[1].n == 9 + 8);
    }
    SUBCASE("suspect rows belong to no group and no error but their own") {
      rows.back().run.suspect = true;
      s = summarise(rows);
      CHECK(s.groups.empty());
      CHECK(s.all.metrics[0].n == 7);
      CHECK(s.suspect.metrics[0].n == 1);
      CHECK(s.fit.n == 7);
    }
  }

  TEST_CASE("the residual names the term that is wrong, and its factor") {
    // True step = a + 2b, predicted a + b with varying shares.
    std::vector<Replay> rows;
    for (int i = 1; i <= 6; ++i) {
      const double a = 1, b = 0.2 * i;
      Replay r = row("r" + std::to_string(i), 1, 1, 0.5);
      r.terms[static_cast<std::size_t>(Term::forward_gemm)] = a;
      r.terms[static_cast<std::size_t>(Term::bubble)] = b;
      at(r.predicted, Metric::step_time) = a + b;
      at(r.measured.figures, Metric::step_time) = a + 2 * b;
      at(r.error, Metric::step_time) = (a + b) / (a + 2 * b) - 1;
      rows.push_back(r);
    }
    const auto& explained = summarise(rows).all.explained;
    REQUIRE(explained.size() >= 2);
    CHECK(explained[0].term == Term::bubble);
    CHECK(explained[0].scale == doctest::Approx(2));
    CHECK(explained[0].median_abs == doctest::Approx(0).epsilon(1e-12));
    CHECK(explained[1].median_abs > 0.01);
  }

  TEST_CASE("reasons that differ in numbers only are one") {
    CHECK(reason_class("/layout/pp: 80 layers over 1,024 chunks of fp8-block2") == "/layout/pp: N layers over N chunks of fp8-block2");
  }
}

TEST_SUITE("validation records") {
  TEST_CASE("step time and tokens per second follow from each other") {
    const Replay a = replay_with(R"({"oom": false, "step_time_s": 0.5})");
    REQUIRE(a.refused == "");
    CHECK(*at(a.measured.figures, Metric::tokens_per_s_per_gpu) == doctest::Approx(8 * 2048 / 0.5 / 2));
    CHECK(a.measured.derived[static_cast<std::size_t>(Metric::tokens_per_s_per_gpu)]);
    CHECK(*at(a.error, Metric::step_time) == doctest::Approx(*at(a.predicted, Metric::step_time) / 0.5 - 1));
    const Replay b = replay_with(R"({"tokens_per_s_per_gpu": 16384})");
    CHECK(*at(b.measured.figures, Metric::step_time) == doctest::Approx(0.5));
  }

  TEST_CASE("a TFLOP/s or MFU with its convention is a step time") {
    const Replay a = replay_with(R"({"mfu": 0.4})");
    REQUIRE(at(a.error, Metric::step_time));
    CHECK(*at(a.error, Metric::step_time) == doctest::Approx(0.4 / *at(a.predicted, Metric::mfu) - 1));
    const Replay b = replay_with(R"({"tflops_per_gpu": 400})");
    CHECK(*at(b.error, Metric::tokens_per_s_per_gpu) == doctest::Approx(*at(b.predicted, Metric::tflops_per_gpu) / 400 - 1));
  }

  TEST_CASE("memory is that of the rank that was measured") {
    const Replay r = replay_with(R"({"alloc_gib": 20, "reserved_gib": 25, "memory_of": "first_stage", "alloc_by_rank_gib": [20]})");
    REQUIRE(r.refused == "");
    CHECK(*at(r.measured.figures, Metric::allocated) == 20 * 0x1p30);
    REQUIRE(r.error_by_rank.size() == 1);
    CHECK(r.error_by_rank[0] == doctest::Approx(*at(r.error, Metric::allocated)));
  }

  TEST_CASE("what cannot be read or predicted is refused with its field, and classed as far as it was read") {
    CHECK(replay_with(R"({"step_time_s": -1})").refused == "/measured/step_time_s: is -1; a measured value is above zero");
    CHECK(replay({"{\"id\": ", "f", 3}).refused != "");
    CHECK(replay({"[]", "f", 3}).refused != "");
    const Replay r = replay({R"({"id": "x", "framework": "nanotron", "hardware": "no-such", "surprise": 1})", "f.jsonl", 3});
    CHECK(r.refused.starts_with("/surprise: "));
    CHECK(r.run.framework == "nanotron");
    CHECK(r.run.place == "f.jsonl:3");
    const Summary s = summarise({r});
    CHECK(s.refused == 1);
    CHECK(s.by_framework.at("nanotron").refused == 1);
  }
}
