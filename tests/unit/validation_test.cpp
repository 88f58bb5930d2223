// What `napkin validate` says of a set of runs: statistics by hand-computed values, decisions on small made-up sets.
#include <doctest/doctest.h>

#include <cmath>

#include "model/validation/constants.hpp"
#include "model/validation/embedded_runs.hpp"
#include "model/validation/log_dialects.hpp"
#include "model/validation/log_input.hpp"
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

  TEST_CASE("a slope is that of least squares") {
    CHECK(*slope(std::vector<double>{1, 2, 3}, std::vector<double>{2, 4, 6}) == doctest::Approx(2));
    CHECK_FALSE(slope(std::vector<double>{1, 1}, std::vector<double>{2, 4}));
  }

  TEST_CASE("a weighted median is where half the weight lies") {
    CHECK(weighted_median({{1, 1}, {2, 1}, {3, 1}}) == 2);
    CHECK(weighted_median({{3, 1}, {1, 5}, {2, 1}}) == 1);
    CHECK_THROWS((void)weighted_median({{1, 0}}));
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
    CHECK(by(s, "framework").at("nanotron").refused == 1);
  }
}

TEST_SUITE("validation parts") {
  TEST_CASE("a kernel is priced on the machine its file names") {
    const auto lines = split_lines("{\"kind\": \"device\", \"name\": \"NVIDIA H200\"}\n"
                                   "{\"kind\": \"gemm\", \"dtype\": \"bf16\", \"m\": 8192, \"n\": 8192, \"k\": 8192, \"t_s\": 0.00165}\n"
                                   "{\"kind\": \"gemm\", \"dtype\": \"bf16\", \"m\": 128, \"n\": 128, \"k\": 128, \"t_s\": 0.00002}\n"
                                   "{\"kind\": \"launch\", \"t_s\": 0.00002}\n", "k.jsonl");
    REQUIRE(lines.size() == 2);
    const Replay big = replay(lines[0]), small = replay(lines[1]);
    REQUIRE(big.refused == "");
    CHECK(big.run.hardware == "h200-sxm");
    CHECK(big.run.place == "k.jsonl:2");
    REQUIRE(big.parts.size() == 1);
    // 2·8192³ FLOP at 400 to 989 TFLOP/s.
    CHECK(big.parts[0].predicted > 2 * std::pow(8192, 3) / 989e12);
    CHECK(big.parts[0].predicted < 2 * std::pow(8192, 3) / 400e12);
    CHECK(small.refused.find("the time is the host's") != std::string::npos);
    const Summary s = summarise({big, small});
    CHECK(s.by_kind.at("gemm").n == 1);
    CHECK(s.all.rows == 0);  // runs only
    CHECK(s.refused == 1);
  }

  TEST_CASE("a collective needs no bandwidth where it has a time, and says what it lacks") {
    const Replay a = replay({R"({"collective": "all_reduce", "hardware": "h100-sxm", "gpus": 8, "gpus_per_node": 8, "bytes": 1073741824, "busbw_GBps": 480})", "c", 1});
    REQUIRE(a.refused == "");
    CHECK(a.parts[0].measured == doctest::Approx(1.75 * 1073741824 / 480e9));
    CHECK(replay({R"({"collective": "all_reduce", "hardware": "h100-sxm", "gpus": 8, "bytes": 1024})", "c", 1}).refused.find("busbw_GBps") != std::string::npos);
    CHECK(replay({R"({"kind": "decode", "hardware": "h200-sxm"})", "c", 1}).refused.find("\"model\" is missing") != std::string::npos);
    CHECK(replay({R"({"kind": "gemm", "dtype": "bf16", "m": 1, "n": 1, "k": 1, "t_s": 1})", "c", 1}).refused.find("no hardware") != std::string::npos);
  }
}

TEST_SUITE("validation embedded") {
  TEST_CASE("a collective runs on the NICs that its record names, and no faster than a framework calls it") {
    const auto seconds = [](const std::string& more, double bytes) {
      const std::string line = R"({"collective": "all_reduce", "hardware": "h100-sxm", "gpus": 16, "gpus_per_node": 8, "nodes": 2,
        "time_us": 100, "bytes": )" + std::to_string(bytes) + more + "}";
      const Replay r = replay({line, "c", 1});
      REQUIRE(r.refused.empty());
      return r.parts.front().predicted;
    };
    constexpr double small = 8, large = 1e9;
    CHECK(seconds(R"x(, "nic": "EFA 3200 Gbps/node")x", small) > 1.5 * seconds("", small));
    CHECK(seconds(R"x(, "nic": "EFA 400 Gbps/node (4x100)")x", large) > 4 * seconds("", large));
    CHECK(seconds(R"x(, "notes": "timed by torch.distributed")x", small) == doctest::Approx(50e-6));
    CHECK(seconds(R"x(, "algo": "Ring (NCCL_NVLS_ENABLE=0)")x", small) > seconds("", small));
  }

  TEST_CASE("what is compiled in is predicted, but for what the host hides or no formula prices") {
    std::vector<Replay> rows;
    for (const SourceText& t : embedded_sources()) rows.push_back(replay(t));
    const Summary s = summarise(rows);
    CHECK(s.all.rows >= 120);
    CHECK(s.all.refused == 0);
    CHECK(s.by_kind.at("gemm").n >= 100);
    CHECK(s.by_kind.at("run").n == s.all.metrics[0].n);
    for (const auto& [reason, n] : s.reasons) {
      CAPTURE(reason);
      CHECK((reason.find("the time is the host's") != std::string::npos || reason.find("no formula predicts") != std::string::npos ||
             reason.find("does not multiply") != std::string::npos));
    }
    for (const ConstantCount& c : constants_of(rows)) CHECK(c.rows > 0);
  }
}

namespace {

Replay of_log(const std::string& name, const std::string& extra) {
  const std::string path = std::string(NAPKIN_SOURCE_DIR) + "/examples/logs/" + name;
  std::string text = read_log(read_text(path), name).record;
  text.insert(text.size() - 1, extra);
  return replay({text, name, 1});
}

}  // namespace

TEST_SUITE("validation logs") {
  TEST_CASE("sizes, layout, time and memory of each format") {
    struct Expected {
      const char *log, *extra, *layout;
      double step, gib;
    };
    for (const Expected& e : {Expected{"megatron-lm.log", R"(, "hardware": "h100-sxm")", "tp4 sp pp2 dp8 zero1 mb1", 1.951, 25110.8 / 1024},
                              Expected{"torchtitan.log", "", "dp8 zero3 mb1 selective", 8192 / 5758.0, 47.65},
                              Expected{"nanotron.log", R"(, "hardware": "h100-sxm")", "tp4 sp dp8 zero1 mb2", 1.205, 29410.5 / 1024},
                              Expected{"maxtext.log", R"(, "hardware": "tpu-v6e")", "dp64 zero3 mb3 full", 4.99, 0},
                              Expected{"deepspeed.log", R"(, "hardware": "h100-sxm", "model": "llama3-8b", "seq_len": 4096)", "dp16 zero3 mb4", 0.5 * (64 / 21.6 + 64 / 21.5), 47.2}}) {
      CAPTURE(e.log);
      const Replay r = of_log(e.log, e.extra);
      REQUIRE(r.refused == "");
      CHECK(r.layout == e.layout);
      CHECK(*at(r.measured.figures, Metric::step_time) == doctest::Approx(e.step));
      const auto& allocated = at(r.measured.figures, Metric::allocated);
      const double bytes = allocated ? *allocated : at(r.measured.figures, Metric::reserved).value_or(0);
      CHECK(bytes == doctest::Approx(e.gib * 0x1p30));
    }
  }

  // Lines as the programs print them in public issues and pull requests, with numbers of our own.
  TEST_CASE("the line formats of several releases") {
    const auto steps = [](const std::string& text) { return read_log(text, "x.log"); };
    // TorchTitan tees the line of every rank: one step is one step.
    const LogRun titan = steps(
        "[titan] 2026-02-24 10:00:00,508 - root - INFO - step:  1  loss:  9.1  grad_norm: 26.6250  memory: 60.10GiB(37.51%)  tps: 1,050  tflops: 314.71  mfu: 13.99%\n"
        "[titan] 2026-02-24 10:00:00,508 - root - INFO - step:  1  loss:  9.1  grad_norm: 26.6250  memory: 60.10GiB(37.51%)  tps: 1,050  tflops: 314.69  mfu: 13.99%\n"
        "[rank0]:[titan] 2025-06-16 10:00:02,322 - root - INFO - step: 10  loss:  6.1384  memory: 49.66GiB(52.28%)  tps: 5,856  tflops: 339.16  mfu: 34.29%\n"
        "[rank1]:[titan] 2025-06-16 10:00:02,322 - root - INFO - step: 10  loss:  6.1384  memory: 49.66GiB(52.28%)  tps: 5,856  tflops: 339.16  mfu: 34.29%\n");
    CHECK(titan.steps == 2);
    CHECK(titan.record.find("\"reserved_gib\":60.1") != std::string::npos);
    // nanotron, with a date of its own and the memory that one line in a while carries.
    const LogRun nano = steps(
        "10/17/2025 16:31:56 [INFO|DP=0|PP=0|TP=0]: iteration: 1 / 90 | consumed_tokens: 85.8M | elapsed_time_per_iteration_ms: 11.5K | tokens_per_sec: 22.8K | tokens_per_sec_per_gpu: 11.4K | global_batch_size: 64 | lm_loss: 2.38 | cuda_memory_allocated: 9.09G | cuda_max_memory_reserved: 21.5G | hd_total_memory_tb: 312G\n"
        "10/17/2025 16:32:07 [INFO|DP=0|PP=1|TP=0]: iteration: 1 / 90 | consumed_tokens: 85.8M | elapsed_time_per_iteration_ms: 11.5K | tokens_per_sec: 22.8K | global_batch_size: 64 | lm_loss: 2.35\n"
        "10/17/2025 16:32:19 [INFO|DP=0|PP=0|TP=0]: iteration: 2 / 90 | consumed_tokens: 85.9M | elapsed_time_per_iteration_ms: 10.5K | tokens_per_sec: 22.8K | global_batch_size: 64 | lm_loss: 2.51\n");
    CHECK(nano.steps == 2);
    CHECK(nano.record.find("\"reserved_gib\":20.0") != std::string::npos);  // 21.5·10⁹ bytes
    // Megatron-LM with a time stamp; every rank's memory on one line.
    const LogRun megatron = steps(
        "[Rank 0] (after 1 iterations) memory (MB) | allocated: 10770.3779296875 | max allocated: 15360.0 | reserved: 16334.0 | max reserved: 16384.0\n"
        " [2025-08-01 07:19:37] iteration        1/    5000 | consumed samples:          128 | elapsed time per iteration (ms): 19138.8 | throughput per GPU (TFLOP/s/GPU): 80.2 | learning rate: 6.976744E-08 | global batch size:   128 | lm loss: 1.043863E+01 |\n"
        " [2025-08-01 07:19:50] iteration        2/    5000 | consumed samples:          256 | elapsed time per iteration (ms): 12936.1 | throughput per GPU (TFLOP/s/GPU): 118.7 | learning rate: 1.4E-07 | global batch size:   128 | lm loss: 1.04E+01 |\n");
    CHECK(megatron.steps == 2);
    CHECK(megatron.record.find("\"framework\":\"megatron-lm\"") != std::string::npos);
    CHECK(megatron.record.find("\"alloc_gib\":15.0") != std::string::npos);
    // Megatron-DeepSpeed has both kinds of line.
    const LogRun both = steps(
        "[2023-07-25 21:03:17,269] [INFO] [timer.py:215:stop] epoch=0/micro_step=34/global_step=34, RunningAvgSamplesPerSec=7.86, CurrSamplesPerSec=8.01, MemAllocated=59.65GB, MaxMemAllocated=63.31GB\n"
        " samples/sec: 7.799 | iteration       34/   10000 | elapsed time per iteration (ms): 4103.1 | learning rate: 2.111E-06 | approx flops per GPU: 112.9TFLOPS | lm_loss: 1.118665E+01 |\n");
    CHECK(both.record.find("\"framework\":\"megatron-deepspeed\"") != std::string::npos);
    // DeepSpeed of 2020-2022: the average alone.
    const LogRun old = steps(
        "[2022-03-11 02:06:58,000] [INFO] [config.py:900:print]   train_batch_size ............. 64\n"
        "[2022-03-11 02:06:58,985] [INFO] [timer.py:189:stop] 0/40, SamplesPerSec=83.48609168106144, MemAllocated=0.26GB, MaxMemAllocated=9.02GB\n"
        "[2022-03-11 02:07:14,130] [INFO] [timer.py:189:stop] 0/50, SamplesPerSec=80.0, MemAllocated=0.26GB, MaxMemAllocated=9.02GB\n");
    CHECK(old.steps == 2);
    CHECK(old.record.find("\"alloc_gib\":9.02") != std::string::npos);
    CHECK(steps("completed step: 9, seconds: 5.667, TFLOP/s/device: 134.924, Tokens/s/device: 8672.758, total_weights: 196608, loss: 10.374\n").steps == 1);
  }

  TEST_CASE("a log without step lines is refused") {
    CHECK_THROWS_AS((void)read_log("hello\nworld\n", "x.log"), InputError);
    CHECK_THROWS_AS((void)read_log("", "x.log"), InputError);
  }

  TEST_CASE("numbers as logs print them") {
    CHECK(*number_behind("tps: 5,745  tflops", "tps:") == 5745);
    CHECK(*number_behind("elapsed_time_per_iteration_ms: 1.2K | x", "elapsed_time_per_iteration_ms") == 1200);
    CHECK(*number_behind("memory: 57.83GiB(73%)", "memory:") == 57.83);
    CHECK(*number_behind("a=1e-3,", "a") == 1e-3);
    CHECK_FALSE(number_behind("a: none", "a"));
  }
}
