// The event simulation: what no timeline may violate, messages, pairs, memory, and the steady-state shortcut.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <random>
#include <tuple>

#include "model/pipeline/stage_costs.hpp"
#include "model/pipeline/steady.hpp"

using namespace napkin;

namespace {

constexpr int schedules = static_cast<int>(Schedule::looped_bfs) + 1;

struct Sample {
  Schedule schedule;
  ScheduleShape shape;
  PipelineProgram program;
  std::vector<StageWork> stages;
  Messages messages;
};

// A random shape and random times; `equal` = the same for every stage.
Sample sample(std::mt19937& random, Schedule s, int longest, bool equal = false) {
  std::uniform_real_distribution<double> u(0, 1);
  const auto below = [&](int n) { return static_cast<int>(u(random) * n); };
  ScheduleShape shape;
  shape.ranks = s == Schedule::dualpipe ? 2 * (1 + below(4)) : 1 + below(8);
  const bool chunked = s == Schedule::interleaved || s == Schedule::zb_interleaved || s == Schedule::looped_bfs;
  shape.chunks = chunked ? 1 + below(3) : 1;
  shape.group = chunked && shape.chunks > 1 ? shape.ranks + below(3) : 0;
  shape.micro_batches = shape.group > 0 ? shape.group * (1 + below(longest / 8 + 1)) : 1 + below(longest);
  Sample x{s, shape, build_program(s, shape), {}, below(3) == 0 ? Messages::blocking : Messages::overlapped};
  const double f = 0.5 + u(random), i = 0.5 + u(random), w = 0.3 + u(random), send = 0.2 * u(random);
  for (int stage = 0; stage < x.program.depth; ++stage) {
    const double z = equal ? 1 : 0.7 + 0.6 * u(random);
    StageWork c;
    c.forward = Seconds::si(f * z);
    c.input_gradient = Seconds::si(i * z);
    c.weight_gradient = Seconds::si(w * z);
    c.recompute = Seconds::si(equal ? 0 : 0.2 * u(random));
    c.forward_communication = 0.2 * c.forward;
    c.backward_communication = 0.3 * c.input_gradient;
    c.send = Seconds::si(send);
    x.stages.push_back(c);
  }
  return x;
}

StageWork unit() {
  StageWork c;
  c.forward = c.input_gradient = c.weight_gradient = 1 * second;
  return c;
}

}  // namespace

TEST_SUITE("pipeline simulation") {
  TEST_CASE("nothing overlaps on a rank, nothing starts before its input, no work is lost") {
    std::mt19937 random(1);
    for (int round = 0; round < 200; ++round) {
      const Sample x = sample(random, static_cast<Schedule>(round % schedules), 24);
      CAPTURE(to_string(x.schedule));
      const Timeline t = simulate(x.program, x.stages, x.messages);
      std::map<std::tuple<int, int, int>, Span> at;  // work (0 forward, 1 input gradient or whole, 2 weight), stage, micro-batch
      std::map<int, int> rank_of;
      for (int r = 0; r < x.program.ranks; ++r) {
        const auto& order = x.program.order[static_cast<std::size_t>(r)];
        const auto& spans = t.spans[static_cast<std::size_t>(r)];
        double busy = 0, free_at = 0;
        for (std::size_t i = 0; i < order.size(); ++i) {
          const bool second_of_pair = i > 0 && order[i - 1].paired;
          const int stage = x.program.stage(r, order[i].chunk);
          rank_of[stage] = r;
          const int work = order[i].work == Work::forward ? 0 : order[i].work == Work::weight_gradient ? 2 : 1;
          at[{work, stage, order[i].micro_batch}] = spans[i];
          if (second_of_pair) {
            CHECK(spans[i].start == spans[i - 1].start);
            CHECK(spans[i].end == spans[i - 1].end);
          } else {
            CHECK(spans[i].start.si() >= free_at - 1e-9);
            free_at = spans[i].end.si();
            busy += (spans[i].end - spans[i].start).si();
          }
        }
        CHECK(busy == doctest::Approx(t.ranks[static_cast<std::size_t>(r)].busy.si()));
        CHECK(t.idle(r).si() >= -1e-9);
      }
      for (const auto& [key, span] : at) {
        const auto [work, stage, j] = key;
        const int from = work == 0 ? stage - 1 : work == 1 && !x.program.last(stage) ? stage + 1 : stage;
        if (work == 0 && x.program.first(stage)) continue;
        const int made = work == 2 ? 1 : work == 1 && x.program.last(stage) ? 0 : work;
        const double send = rank_of[from] == rank_of[stage] ? 0 : x.stages[0].send.si();
        CHECK(span.start.si() >= at[{made, from, j}].end.si() + send - 1e-9);
      }
      CHECK(t.makespan >= t.ideal);
      CHECK(t.makespan.si() >= t.span.si() - 1e-9);
    }
  }

  TEST_CASE("one rank has no bubble") {
    for (int s = 0; s < schedules; ++s) {
      if (static_cast<Schedule>(s) == Schedule::dualpipe) continue;
      const PipelineProgram p = build_program(static_cast<Schedule>(s), {1, 6, 1, 0});
      const StageWork c = unit();
      CHECK(simulate(p, {&c, 1}).bubble().si() == 0);
    }
  }

  TEST_CASE("a blocking message costs its sender, an overlapped one its receiver only") {
    StageWork c = unit();
    c.send = 0.5 * second;
    const PipelineProgram p = build_program(Schedule::one_f_one_b, {2, 4, 1, 0});
    const Timeline over = simulate(p, {&c, 1}), block = simulate(p, {&c, 1}, Messages::blocking);
    CHECK(over.ranks[0].sending.si() == 0);
    CHECK(block.ranks[0].sending.si() == 2);  // four activations
    CHECK(block.ranks[1].sending.si() == 2);  // four gradients
    CHECK(block.makespan >= over.makespan);
    // F0 0–1, there 1.5; rank 1 F0 1.5–2.5, B0 2.5–4.5, back at 5.
    CHECK(over.spans[0][2].start.si() == 5);
  }

  TEST_CASE("a pair computes while its partner communicates") {
    const auto pair = [](double c1, double m1, double c2, double m2) {
      return paired_time(Seconds::si(c1 + m1), Seconds::si(m1), Seconds::si(c2 + m2), Seconds::si(m2)).si();
    };
    CHECK(pair(2, 1, 4, 1) == doctest::Approx(6));    // all communication hidden
    CHECK(pair(1, 3, 1, 3) == doctest::Approx(6));    // communication bound
    CHECK(pair(1, 5, 1, 0) == doctest::Approx(6));    // one of them alone takes that long
    CHECK(pair(2, 0, 3, 0) == doctest::Approx(5));
  }

  TEST_CASE("recomputation lengthens the backward, not the forward") {
    StageWork c = unit();
    const PipelineProgram p = build_program(Schedule::gpipe, {4, 8, 1, 0});
    const double before = simulate(p, {&c, 1}).makespan.si();
    c.recompute = 1 * second;
    CHECK(simulate(p, {&c, 1}).makespan.si() == doctest::Approx(before + (8 + 3) * 1));
  }

  TEST_CASE("memory follows the timeline") {
    StageWork c = unit();
    c.activation = 3;
    c.weight_buffer = 1;
    const PipelineProgram p = build_program(Schedule::zb_h1, {2, 3, 1, 0});
    const Timeline t = simulate(p, {&c, 1});
    for (int r = 0; r < 2; ++r) {
      const RankMemory m = memory_of(p, {&c, 1}, t, r);
      CHECK(m.over_time.back().amount == doctest::Approx(0));
      for (std::size_t i = 1; i < m.over_time.size(); ++i) CHECK(m.over_time[i].at >= m.over_time[i - 1].at);
    }
    // Rank 1: F0 I0 F1 I1 W0 F2 …: with F1 running, micro-batch 0's buffer is held.
    CHECK(memory_of(p, {&c, 1}, t, 1).peak == 4);
    CHECK(memory_of(p, {&c, 1}, t, 1).peak_weight_buffers == 2);
  }

  TEST_CASE("the shortcut equals the simulation") {
    std::mt19937 random(3);
    int shortened = 0;
    for (int round = 0; round < 100; ++round) {
      const Sample x = sample(random, static_cast<Schedule>(round % schedules), 400, round % 3 == 0);
      CAPTURE(to_string(x.schedule));
      CAPTURE(x.shape.ranks);
      CAPTURE(x.shape.micro_batches);
      const SteadyMakespan quick = steady_makespan(x.schedule, x.shape, x.stages, x.messages);
      CHECK(quick.makespan.si() == doctest::Approx(simulate(x.program, x.stages, x.messages).makespan.si()).epsilon(1e-10));
      shortened += quick.simulated < x.shape.micro_batches;
    }
    CHECK(shortened > 30);
  }

  TEST_CASE("the same every time") {
    std::mt19937 random(8);
    for (int round = 0; round < 20; ++round) {
      const Sample x = sample(random, static_cast<Schedule>(round % schedules), 32);
      CHECK(simulate(x.program, x.stages).makespan == simulate(x.program, x.stages).makespan);
    }
  }
}
