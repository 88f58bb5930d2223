// Bubbles and memory of the papers that defined the schedules, the question bank, and schedules measured on two H200s.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>

#include "model/input/document_input.hpp"
#include "model/pipeline/boundary.hpp"
#include "model/pipeline/stage_costs.hpp"
#include "model/validation/replay_input.hpp"

using namespace napkin;

namespace {

struct Simulated {
  PipelineProgram program;
  Timeline timeline;
  std::vector<RankMemory> memory;
  [[nodiscard]] double own_clock_bubble() const { return (timeline.span - timeline.ideal).si(); }
  [[nodiscard]] double peak() const { return std::ranges::max(memory, {}, &RankMemory::peak).peak; }
};

// `of_rank`: F, I, W of one micro-batch on one rank, seconds.
Simulated run(Schedule s, ScheduleShape shape, double f = 1, double i = 1, double w = 1) {
  StageWork rank;
  rank.forward = Seconds::si(f);
  rank.input_gradient = Seconds::si(i);
  rank.weight_gradient = Seconds::si(w);
  Simulated r{build_program(s, shape), {}, {}};
  const auto stages = share_out(rank, r.program.ranks, r.program.depth);
  r.timeline = simulate(r.program, stages);
  for (int k = 0; k < shape.ranks; ++k) r.memory.push_back(memory_of(r.program, stages, r.timeline, k));
  return r;
}

std::string shared_data() {
  if (const char* path = std::getenv("NAPKIN_SHARED_DATA")) return path;
  return std::string(NAPKIN_SOURCE_DIR) + "/../shared/data";
}

// The lines of a file of the shared data; none (and a line that says so) where it is not there.
std::vector<std::string> shared_lines(const std::string& name) {
  std::ifstream file(shared_data() + "/" + name);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  if (lines.empty()) MESSAGE("skipped: ", name, " is not beside the source");
  return lines;
}

const std::string own_runs = std::string(NAPKIN_SOURCE_DIR) + "/tests/own/runs-h200-pytorch.jsonl";

}  // namespace

TEST_SUITE("published pipeline") {
  // huang2019gpipe, section 2.3: (K − 1)/(M + K − 1) of the time is bubble; all M activations are held.
  TEST_CASE("GPipe") {
    for (const int p : {2, 4, 8, 16}) {
      for (const int m : {1, 4, 32, 128}) {
        const Simulated r = run(Schedule::gpipe, {p, m, 1, 0}, 1, 1, 1);
        CHECK(r.timeline.bubble_over_total() == doctest::Approx((p - 1.0) / (m + p - 1.0)));
        CHECK(r.peak() == m);
      }
    }
  }

  // narayanan2021, section 2.2: (p − 1)/m, interleaved (p − 1)/(v·m).
  TEST_CASE("1F1B and interleaved 1F1B") {
    for (const int p : {2, 4, 8}) {
      for (const int m : {8, 32, 64}) {
        CHECK(run(Schedule::one_f_one_b, {p, m, 1, 0}).timeline.bubble_over_ideal() == doctest::Approx((p - 1.0) / m));
        for (const int v : {2, 4}) {
          const Simulated r = run(Schedule::interleaved, {p, m, v, 0}, 1, 2, 0);
          CHECK(r.timeline.bubble_over_ideal() == doctest::Approx((p - 1.0) / (m * v)));
        }
      }
    }
  }

  // Peaks of 1F1B and interleaved 1F1B. Megatron-LM theoretical_memory_usage.py takes 1 + (p − 1)/(p·v) times p for the first
  // stage, which is the interleaved count exactly: (2(p − 1) + (v − 1)·p + 1)/v = p·(1 + (p − 1)/(p·v)).
  TEST_CASE("activations in flight") {
    for (const int p : {2, 4, 8}) {
      for (const int v : {1, 2, 3, 4}) {
        const int m = 6 * p;
        const Simulated r = run(Schedule::interleaved, {p, m, v, 0});
        for (int k = 0; k < p; ++k) {
          CHECK(r.memory[static_cast<std::size_t>(k)].peak ==
                doctest::Approx(micro_batches_in_flight(Schedule::interleaved, p, v, k, m)));
        }
        if (v > 1) CHECK(r.memory[0].peak == doctest::Approx(p * (1 + (p - 1.0) / (p * v))));
      }
      const Simulated wide = run(Schedule::interleaved, {p, 8 * (p + 2), 2, p + 2});
      CHECK(wide.memory[0].peak == doctest::Approx(micro_batches_in_flight(Schedule::interleaved, p, 2, 0, 99, p + 2)));
    }
    // Where fewer micro-batches than fill the pipeline are there, no more are held than the formula says.
    for (int s = 0; s <= static_cast<int>(Schedule::looped_bfs); ++s) {
      const auto schedule = static_cast<Schedule>(s);
      for (const int m : {1, 3, 4, 8, 16, 32}) {
        const bool chunked = schedule == Schedule::interleaved || schedule == Schedule::zb_interleaved || schedule == Schedule::looped_bfs;
        const int v = chunked && (m <= 4 || m % 4 == 0) ? 2 : 1;
        const Simulated r = run(schedule, {4, m, v, 0});
        for (int k = 0; k < 4; ++k) {
          const double formula = micro_batches_in_flight(schedule, 4, r.program.chunks, k, m);
          CAPTURE(to_string(schedule));
          CAPTURE(m);
          CAPTURE(k);
          CHECK(r.memory[static_cast<std::size_t>(k)].peak <= formula + 1e-9);
          if (m >= 8) CHECK(r.memory[static_cast<std::size_t>(k)].peak == doctest::Approx(formula));
        }
      }
    }
  }

  // qi2024zerobubble, table 2: (p − 1)(F + B − W) and p·M_B; (p − 1)(F + B − 2W) and (2p − 1)·M_B, counted on each rank's
  // own clock, as an optimizer without a synchronisation sees it.
  TEST_CASE("ZB-H1 and ZB-H2") {
    for (const int p : {2, 4, 8}) {
      for (const auto& [f, b, w] : {std::array{1.0, 1.0, 1.0}, {1.0, 1.1, 0.9}, {1.0, 1.2, 0.6}, {1.1, 1.2, 0.55}}) {
        const Simulated h1 = run(Schedule::zb_h1, {p, 4 * p, 1, 0}, f, b, w), h2 = run(Schedule::zb_h2, {p, 4 * p, 1, 0}, f, b, w);
        CHECK(h1.own_clock_bubble() == doctest::Approx((p - 1) * (f + b - w)));
        if (f + b >= 2 * w && w <= f) CHECK(h2.own_clock_bubble() == doctest::Approx((p - 1) * (f + b - 2 * w)));
        // From the first start of the first rank to the last end of the last one the fill stays.
        CHECK(h2.timeline.bubble().si() == doctest::Approx((p - 1) * std::max({f, b - f, f + b - 2 * w})));
        CHECK(h1.peak() == p);
        CHECK(h2.peak() == 2 * p - 1);
      }
      // Outside W ≤ F, W ≤ B the table is too low: the drain cannot be faster than its input gradients.
      const Simulated slow = run(Schedule::zb_h1, {p, 4 * p, 1, 0}, 1, 1, 1.5);
      CHECK(slow.own_clock_bubble() == doctest::Approx(p - 1));
      CHECK((p - 1) * (1 + 1 - 1.5) == doctest::Approx(0.5 * slow.own_clock_bubble()));
    }
  }

  // qi2024zerobubble, section 6: no bubble and p·M_B where F = B = W, m ≥ 2p. With the FLOPs of a real layer (table 1:
  // F : B : W = 24h + 4s : 24h + 8s : 24h, here s = h/2) what is left is this much of the ideal.
  TEST_CASE("ZB-V") {
    for (const int p : {2, 4, 8}) {
      const Simulated even = run(Schedule::zb_v, {p, 4 * p, 1, 0});
      CHECK(even.own_clock_bubble() == doctest::Approx(0).epsilon(1e-9));
      CHECK(even.peak() == p);
      const Simulated real = run(Schedule::zb_v, {p, 4 * p, 1, 0}, 26, 28, 24);
      CHECK(real.own_clock_bubble() / real.timeline.ideal.si() < 0.02);
      CHECK(real.own_clock_bubble() > 0);
    }
  }

  // deepseek-ai2024v3, table 2: (PP/2 − 1)(F&B + B − 3W), PP + 1 activations, twice the parameters. DualPipeV: the same with
  // its 2·PP half stages. Exact at F = B_input = W; else the schedule waits for whichever of four paths is longest.
  TEST_CASE("DualPipe and DualPipeV") {
    for (const int p : {2, 4, 8}) {
      const double h = p / 2.0 - 1;
      const Simulated even = run(Schedule::dualpipe, {p, 4 * p, 1, 0});
      CHECK(even.timeline.bubble().si() == doctest::Approx(h * (3 + 2 - 3)));
      CHECK(even.peak() == p + 1);
      const Simulated half = run(Schedule::dualpipe_v, {p, 4 * p, 1, 0}, 2, 2, 2);  // chunks of 1
      CHECK(half.timeline.bubble().si() == doctest::Approx((p - 1) * (3 + 2 - 3)));
      CHECK(half.peak() == p + 0.5);
      // F = 1, B_input = 1.2, W = 0.8: the table says h(3 + 2 − 2.4), 2.6h; the timeline max(2F, 2F + I − W)·h = 2.4h.
      const Simulated uneven = run(Schedule::dualpipe, {p, 4 * p, 1, 0}, 1, 1.2, 0.8);
      CHECK(uneven.timeline.bubble().si() == doctest::Approx(h * 2.4));
    }
  }

  // Answers of the bank with calculator `pipeline`: computed here from its givens, compared with its recomputed values.
  TEST_CASE("questions") {
    int asked = 0;
    for (const std::string& line : shared_lines("questions.jsonl")) {
      const Document document = Document::parse_line(line, "questions.jsonl", static_cast<std::size_t>(++asked));
      const Field q = document.root();
      if (q["calculator"].string() != "pipeline") continue;
      const std::string id = q["id"].string();
      const auto given = [&](const char* name) { return q["givens"][name].number(); };
      const auto whole = [&](const char* name) { return static_cast<int>(given(name)); };
      std::map<std::string, double> got;
      if (id == "SB12-28") {
        const Bytes message = boundary_bytes<Plain>(1, given("B") / given("mb"), given("D"), 2 * byte, 1, false);
        const Seconds one = message / BytesPerSecond::si(given("W"));
        got["t"] = message_chain<Plain>(given("mb"), given("st"), one).si();
        got["fill_factor"] = got["t"] / (given("mb") * one.si());
      } else if (id == "PT-05") {
        got["plain"] = 100 * run(Schedule::one_f_one_b, {whole("p"), whole("m"), 1, 0}).timeline.bubble_over_ideal();
        got["inter"] = 100 * run(Schedule::interleaved, {whole("p"), whole("m"), whole("v"), 0}).timeline.bubble_over_ideal();
      } else if (id == "PT-06") {
        for (const bool scattered : {false, true}) {
          const Bytes message = boundary_bytes<Plain>(1, given("s"), given("h"), 2 * byte, given("t"), scattered);
          got[scattered ? "sg" : "full"] = double(message / MB);
        }
      } else if (id == "ZB-01") {
        const auto at = [&](Schedule s) { return run(s, {whole("p"), 4 * whole("p"), 1, 0}, given("F"), given("B"), given("W")); };
        got = {{"f1b", at(Schedule::one_f_one_b).own_clock_bubble()}, {"h1", at(Schedule::zb_h1).own_clock_bubble()},
               {"h2", at(Schedule::zb_h2).own_clock_bubble()},        {"m_f1b", at(Schedule::one_f_one_b).peak()},
               {"m_h1", at(Schedule::zb_h1).peak()},                  {"m_h2", at(Schedule::zb_h2).peak()}};
      } else if (id == "ZB-02") {
        const auto passes = gpt_layer_passes<Plain>(given("s"), given("b"), given("h"));
        got = {{"F", passes.forward.si()}, {"BF", double(passes.input_gradient / passes.forward)},
               {"WF", double(passes.weight_gradient / passes.forward)}};
      } else if (id == "IQ-L02") {
        const int p = whole("p"), m = whole("m");
        const auto total = [&](Schedule s, int v, double f, double b, double w) {
          return 100 * run(s, {p, m, v, 0}, f, b, w).timeline.bubble_over_total();
        };
        got = {{"f1b", total(Schedule::one_f_one_b, 1, 1, 1, 1)},
               {"inter", total(Schedule::interleaved, whole("v"), 1, 1, 1)},
               {"h1", total(Schedule::zb_h1, 1, 1, 1, 1)},
               {"gpipe", total(Schedule::gpipe, 1, 1, 1, 1)},
               {"gp_mem", run(Schedule::gpipe, {p, m, 1, 0}).peak()},
               {"f1b_mem", run(Schedule::one_f_one_b, {p, m, 1, 0}).peak()}};
      } else if (id == "IQ-L03") {
        for (const Field& dp : q["givens"]["dp"].elements()) {
          const int ranks = static_cast<int>(dp.number()), m = static_cast<int>(given("gbs")) / ranks;
          got["d" + std::to_string(ranks)] =
              100 * run(Schedule::one_f_one_b, {whole("p"), m, 1, 0}).timeline.bubble_over_ideal();
        }
      } else if (id == "IQ-L06") {
        // Ring reduce-scatter of bf16 gradients, once a micro-batch or once: patarasuk2009, (d − 1)/d · 2p/BW.
        const double d = given("d"), once = (d - 1) / d * 2 * given("p") / given("bw");
        got = {{"every", given("m") * once}, {"once", once}};
      }
      CAPTURE(id);
      for (const auto& [name, value] : q["recomputed"].members()) {
        CAPTURE(name);
        REQUIRE(got.contains(name));
        CHECK(got[name] == doctest::Approx(value.number()).epsilon(0.005));
      }
    }
  }

  // The same six schedules on two H200s (PyTorch 2.11, eager; 28 layers, h = 3,072, m = 8), every operation timed on its
  // stream: means in ms by stage of F, B or I, W; the loss stands in the last F. From those the simulation gives the step.
  TEST_CASE("measured: six schedules from the measured times of their own operations") {
    struct Row {
      const char* id;
      Schedule schedule;
      int m, chunks;
      std::vector<std::array<double, 3>> stages;  // F, B or I, W
      double step;                                // measured, ms
    };
    // The steps are those of the pp2-* runs; 1F1B was run beside the operations.
    const std::vector<Row> rows{
        {"gpipe m4", Schedule::gpipe, 4, 1, {{25.38, 51.52, 0}, {31.94, 64.93, 0}}, 477.2},
        {"gpipe", Schedule::gpipe, 8, 1, {{25.57, 51.83, 0}, {32.67, 65.52, 0}}, 874.9},
        {"1f1b", Schedule::one_f_one_b, 8, 1, {{24.90, 51.52, 0}, {33.14, 65.20, 0}}, 874.9},
        {"interleaved", Schedule::interleaved, 8, 2,
         {{15.64, 27.55, 0}, {12.70, 28.75, 0}, {14.74, 26.14, 0}, {22.06, 38.99, 0}}, 878.9},
        {"zb-v", Schedule::zb_v, 8, 1,
         {{13.22, 0, 29.03}, {12.03, 19.64, 12.34}, {14.75, 18.13, 10.82}, {21.51, 25.14, 16.24}}, 858.3},
        {"interleaved-zb", Schedule::zb_interleaved, 8, 2,
         {{15.23, 0, 28.67}, {12.90, 17.39, 10.93}, {15.34, 16.01, 11.16}, {21.88, 24.48, 16.36}}, 874.9},
    };
    constexpr double optimizer = 10.8, message = 0.15;  // ms, measured: fused AdamW of rank 0; 25 MB over NVLink
    std::map<std::string, double> predicted, measured;
    for (const Row& row : rows) {
      std::vector<StageWork> stages;
      for (const auto& [f, b, w] : row.stages) {
        StageWork s;
        s.forward = f * ms;
        s.input_gradient = b * ms;
        s.weight_gradient = w * ms;
        s.send = message * ms;
        stages.push_back(s);
      }
      const Timeline t = simulate(build_program(row.schedule, {2, row.m, row.chunks, 0}), stages);
      predicted[row.id] = double(t.makespan / (1 * ms)) + optimizer;
      measured[row.id] = row.step;
      MESSAGE(row.id, ": measured ", row.step, " ms, predicted ", predicted[row.id], " ms (",
              100 * (predicted[row.id] / row.step - 1), " %)");
      CAPTURE(row.id);
      CHECK(predicted[row.id] == doctest::Approx(row.step).epsilon(0.01));
    }
    // Throughput order: ZB-V first, interleaved last. GPipe, 1F1B and interleaved-zb lie within 0.1 % of one another measured
    // and within 1 % predicted, between the two.
    for (const char* tied : {"gpipe", "1f1b", "interleaved-zb"}) {
      CAPTURE(tied);
      CHECK(measured["zb-v"] < measured[tied]);
      CHECK(predicted["zb-v"] < predicted[tied]);
      CHECK(measured[tied] < measured["interleaved"]);
      CHECK(predicted[tied] < predicted["interleaved"]);
      CHECK(predicted[tied] == doctest::Approx(predicted["gpipe"]).epsilon(0.01));
      // Ratios to GPipe as measured.
      CHECK(predicted[tied] / predicted["gpipe"] == doctest::Approx(measured[tied] / measured["gpipe"]).epsilon(0.01));
    }
    for (const char* other : {"zb-v", "interleaved"})
      CHECK(predicted[other] / predicted["gpipe"] == doctest::Approx(measured[other] / measured["gpipe"]).epsilon(0.01));
    // Why interleaving did not gain: a receive posted ahead of its use holds streaming multiprocessors until the message
    // comes. Of one stage (7 layers, ZB-V, stage 2): F, I, W in ms without and with a receive waiting beside it.
    for (const auto& [alone, waiting] : {std::array{11.9, 15.5}, {15.6, 19.8}, {10.0, 12.8}})
      CHECK(waiting / alone == doctest::Approx(132.0 / (132 - 31)).epsilon(0.06));
  }

  // The five pp2-* runs, from less. Taken from the two GPipe runs: the slower stage's pace (their
  // difference over four micro-batches), each rank's bytes a micro-batch and at rest. Layers and head share time by FLOPs.
  // Everything about the other schedules is then predicted.
  TEST_CASE("measured: GPipe, interleaved, ZB-V, interleaved ZB on two ranks") {
    struct Measured {
      Schedule schedule{};
      int micro_batches = 0;
      double step = 0;
      std::vector<double> gib;
    };
    std::map<std::string, Measured> runs;
    for (const validation::SourceText& line : validation::read_sources(own_runs)) {
      const Document document = Document::parse_line(line.text, line.file, line.line);
      const Field r = document.root();
      const std::string id = r["id"].string();
      const std::size_t at = id.find("-pp2-");
      if (at == id.npos) continue;
      Measured m{*schedule_named(r["layout"]["schedule"].string()), static_cast<int>(r["global_batch"].number()),
                 r["measured"]["step_time_s"].number(), {}};
      for (const Field& gib : r["measured"]["alloc_by_rank_gib"].elements()) m.gib.push_back(gib.number());
      runs[id.substr(at + 5)] = m;
    }
    const Measured &few = runs.at("gpipe-l3b-m4"), &many = runs.at("gpipe-l3b-m8");

    // Work of 7 layers and of the head: parameters a token multiplies with, and causal attention.
    constexpr double h = 3072, kv = 1024, ffn = 8192, vocab = 128256, sequence = 4096, layers = 28;
    constexpr double layer = 2 * (2 * h * h + 2 * h * kv + 3 * h * ffn) + 2 * h * sequence, head = 2 * h * vocab;
    const double pace = (many.step - few.step) / 4, per_flop = pace / (14 * layer + head);
    const auto stage_times_of = [&](int depth) {
      std::vector<StageWork> stages(static_cast<std::size_t>(depth));
      for (int s = 0; s < depth; ++s) {
        const double all = per_flop * (layers / depth * layer + (s == depth - 1 ? head : 0));
        StageWork& c = stages[static_cast<std::size_t>(s)];
        c.forward = c.input_gradient = c.weight_gradient = Seconds::si(all / 3);  // three GEMMs of the same size
        // Measured: GiB a micro-batch of 14 layers on rank 0, of 14 layers and the logits on rank 1.
        const double of_layers = (many.gib[0] - few.gib[0]) / 4, of_head = (many.gib[1] - few.gib[1]) / 4 - of_layers;
        c.activation = c.weight_buffer = of_layers * 2 / depth + (s == depth - 1 ? of_head : 0);
      }
      return stages;
    };
    const auto timeline = [&](const Measured& m, int v) {
      const PipelineProgram program = build_program(m.schedule, {2, m.micro_batches, v, 0});
      const auto stages = stage_times_of(program.depth);
      const Timeline t = simulate(program, stages);
      std::vector<double> gib;
      for (int r = 0; r < 2; ++r) gib.push_back(memory_of(program, stages, t, r).peak);
      return std::pair{t.makespan.si(), gib};
    };
    const auto [gpipe, gpipe_held] = timeline(many, 1);
    const double rest = many.step - gpipe;  // optimizer, host
    CHECK(std::abs(rest) < 0.02 * many.step);
    CHECK(timeline(few, 1).first + rest == doctest::Approx(few.step).epsilon(0.01));
    // At rest, by what a rank holds of the model: GPipe's first rank an embedding and 14 layers, its last 14 layers and a
    // head. ZB-V has embedding and head on rank 0. The other schedules hold gradients too when they hold most: their first
    // backward comes before their last forward.
    constexpr double gib = 0x1p30, table = h * vocab, half = 14 * (2 * h * h + 2 * h * kv + 3 * h * ffn);
    constexpr double state_bytes = 6, gradient_bytes = 2;  // of the runs: bf16 parameter, moments; gradient
    const double rest_0 = many.gib[0] - gpipe_held[0], rest_1 = many.gib[1] - gpipe_held[1];
    std::map<std::string, double> predicted;
    for (const char* name : {"int-l3b-m8", "zbv-l3b-m8", "izb-l3b-m8"}) {
      const Measured& m = runs.at(name);
      const auto [time, held] = timeline(m, 2);
      const double moved = m.schedule == Schedule::zb_v ? table : 0;
      const double at_rest[]{moved > 0 ? rest_1 + state_bytes * moved / gib : rest_0,
                             moved > 0 ? rest_0 - state_bytes * moved / gib : rest_1};
      const double gradients[]{gradient_bytes * (half + table + moved) / gib, gradient_bytes * (half + table - moved) / gib};
      const double gib_0 = held[0] + at_rest[0] + gradients[0], gib_1 = held[1] + at_rest[1] + gradients[1];
      predicted[name] = time + rest;
      MESSAGE(std::string(name), ": step measured ", m.step, " s, predicted ", time + rest, " s (",
              100 * ((time + rest) / m.step - 1), " %); GiB measured ", m.gib[0], " and ", m.gib[1], ", predicted ", gib_0,
              " and ", gib_1);
      CAPTURE(name);
      // Too fast by up to 8 %: waiting receives and the split of a backward (above) are not in GPipe's times.
      CHECK((time + rest) / m.step > 0.92);
      CHECK((time + rest) / m.step < 1);
      CHECK((gib_0 > gib_1) == (m.gib[0] > m.gib[1]));
      // Too little by up to a fifth, on the rank of the head: its temporaries beside the logits are not modelled here.
      CHECK(std::min(gib_0 / m.gib[0], gib_1 / m.gib[1]) > 0.79);
      CHECK(std::max(gib_0 / m.gib[0], gib_1 / m.gib[1]) < 1);
    }
    CHECK(predicted["zbv-l3b-m8"] < predicted["izb-l3b-m8"]);
    CHECK(predicted["izb-l3b-m8"] < predicted["int-l3b-m8"]);
    CHECK(runs.at("zbv-l3b-m8").step < runs.at("izb-l3b-m8").step);
    CHECK(runs.at("izb-l3b-m8").step < runs.at("int-l3b-m8").step);
    CHECK((rest_0 + gpipe_held[0] > rest_1 + gpipe_held[1]) == (many.gib[0] > many.gib[1]));
  }

  // The same five runs as `predict` sees them: nothing of a run but its layout. Asserted is what holds, and what does not.
  TEST_CASE("measured: five schedules on two ranks, predicted from the layout alone") {
    std::map<std::string, validation::Replay> runs;
    for (const validation::SourceText& line : validation::read_sources(own_runs)) {
      validation::Replay r = validation::replay(line);
      const std::size_t at = r.run.id.find("-pp2-");
      if (at != std::string::npos) runs[r.run.id.substr(at + 5)] = std::move(r);
    }
    REQUIRE(runs.size() == 5);
    const auto step = [&](const char* name) { return std::pair{*at(runs[name].measured.figures, validation::Metric::step_time),
                                                               *at(runs[name].predicted, validation::Metric::step_time)}; };
    const auto ratio = [&](const char* a, const char* b) { return std::pair{step(a).first / step(b).first, step(a).second / step(b).second}; };
    // Memory: which rank holds more is right in all five, and every rank within 9 % (eight of ten within 2.5 %).
    int close = 0;
    for (const auto& [name, r] : runs) {
      CAPTURE(name);
      REQUIRE(r.predicted_by_rank.size() == 2);
      CHECK((r.predicted_by_rank[0] > r.predicted_by_rank[1]) ==
            (r.measured.allocated_by_rank[0] > r.measured.allocated_by_rank[1]));
      for (const double error : r.error_by_rank) {
        CHECK(std::abs(error) < 0.09);
        close += std::abs(error) < 0.025;
      }
      MESSAGE(name, ": step ", 100 * *at(r.error, validation::Metric::step_time), " %, ranks ", 100 * r.error_by_rank[0], " and ",
              100 * r.error_by_rank[1], " %");
    }
    CHECK(close >= 8);
    // The fullest rank across schedules, fullest first: GPipe with 8, with 4, then three that the measurement has within 17 %
    // of one another, interleaved the least.
    const auto fullest = [&](const char* name, bool predicted) {
      return std::ranges::max(predicted ? runs[name].predicted_by_rank : runs[name].measured.allocated_by_rank);
    };
    for (const bool predicted : {false, true}) {
      CHECK(fullest("gpipe-l3b-m8", predicted) > fullest("gpipe-l3b-m4", predicted));
      for (const char* zero_bubble : {"zbv-l3b-m8", "izb-l3b-m8"}) {
        CHECK(fullest("gpipe-l3b-m4", predicted) > fullest(zero_bubble, predicted));
        CHECK(fullest(zero_bubble, predicted) > fullest("int-l3b-m8", predicted));
      }
    }
    // Time: GPipe with both numbers of micro-batches within 1.5 %, the order of the three that post receives ahead is right,
    // and their ratios to one another within 2.5 %.
    for (const char* name : {"gpipe-l3b-m4", "gpipe-l3b-m8"}) CHECK(step(name).second == doctest::Approx(step(name).first).epsilon(0.015));
    for (const auto& [faster, slower] : {std::pair{"zbv-l3b-m8", "izb-l3b-m8"}, {"izb-l3b-m8", "int-l3b-m8"}}) {
      const auto [measured, predicted] = ratio(faster, slower);
      CHECK(measured < 1);
      CHECK(predicted < 1);
      CHECK(predicted == doctest::Approx(measured).epsilon(0.025));
    }
    // What does not hold: GPipe's place among them. Measured, interleaved-zb ties with it and interleaved is slower; predicted,
    // both are faster, because waiting receives do not slow operations here. ZB-V is faster than GPipe in both.
    CHECK(ratio("zbv-l3b-m8", "gpipe-l3b-m8").first < 1);
    CHECK(ratio("zbv-l3b-m8", "gpipe-l3b-m8").second < 1);
    CHECK(ratio("int-l3b-m8", "gpipe-l3b-m8").first > 1);
    for (const char* name : {"int-l3b-m8", "zbv-l3b-m8", "izb-l3b-m8"}) {
      const auto [measured, predicted] = ratio(name, "gpipe-l3b-m8");
      CHECK(predicted < measured);
      CHECK(predicted > 0.925 * measured);
    }
  }
}
