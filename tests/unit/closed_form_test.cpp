// The closed forms against the simulation: equal where they are exact, near where they are not, explained as computed.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "model/pipeline/stage_costs.hpp"

using namespace napkin;

namespace {

constexpr int schedules = static_cast<int>(Schedule::looped_bfs) + 1;

bool chunked(Schedule s) {
  return s == Schedule::interleaved || s == Schedule::zb_interleaved || s == Schedule::looped_bfs;
}
// These are exact for any number of micro-batches and any message; the others fill weight gradients into gaps that depend
// on both.
bool always_exact(Schedule s) {
  return s == Schedule::gpipe || s == Schedule::one_f_one_b || s == Schedule::interleaved || s == Schedule::looped_bfs;
}

struct Grid {
  std::mt19937 random;
  std::uniform_real_distribution<double> u{0, 1};

  explicit Grid(unsigned seed) : random(seed) {}
  int from(int low, int high) { return low + static_cast<int>(u(random) * (high - low + 1)); }
  StageWork cost(double message, bool pairs) {
    StageWork c;
    c.forward = Seconds::si(0.5 + u(random));
    c.input_gradient = Seconds::si(0.5 + u(random));
    c.weight_gradient = Seconds::si(0.3 + u(random));
    c.send = message * u(random) * c.forward;
    if (pairs) c.forward_communication = c.backward_communication = 0.2 * u(random) * min(c.forward, c.input_gradient);
    return c;
  }
  ScheduleShape shape(Schedule s, bool few) {
    ScheduleShape x;
    x.ranks = s == Schedule::dualpipe ? 2 * from(1, 4) : from(2, 8);
    x.chunks = chunked(s) ? from(1, 4) : 1;
    const int p = x.ranks;
    if (few) {
      x.micro_batches = x.chunks > 1 ? from(1, p) : from(1, 2 * p);
    } else {
      x.micro_batches = x.chunks > 1 && s != Schedule::looped_bfs ? p * from(2, 5) : from(2 * p, 6 * p);
      if (s == Schedule::dualpipe) x.micro_batches += x.micro_batches % 2;
    }
    return x;
  }
};

// Closed form over simulation − 1.
double off(Schedule s, const ScheduleShape& shape, std::span<const StageWork> stages, const PipelineProgram& program) {
  const Seconds closed =
      pipeline_time(s, shape.ranks, shape.chunks, shape.micro_batches, stage_times(program, stages)).makespan;
  return closed.si() / simulate(program, stages).makespan.si() - 1;
}
double off_uniform(Grid& grid, Schedule s, double message, bool few) {
  const ScheduleShape shape = grid.shape(s, few);
  const PipelineProgram program = build_program(s, shape);
  return off(s, shape, share_out(grid.cost(message, true), shape.ranks, program.depth), program);
}

struct Errors {
  std::vector<double> all;
  [[nodiscard]] double quantile(double q) {
    std::ranges::sort(all, {}, [](double e) { return std::abs(e); });
    return std::abs(all[static_cast<std::size_t>(q * static_cast<double>(all.size() - 1))]);
  }
  [[nodiscard]] double worst() { return quantile(1); }
};

}  // namespace

TEST_SUITE("pipeline closed form") {
  TEST_CASE("uniform stages, no messages: equal to the simulation") {
    Grid grid(7);
    for (int i = 0; i < schedules; ++i) {
      Errors errors;
      for (int k = 0; k < 40; ++k) errors.all.push_back(off_uniform(grid, static_cast<Schedule>(i), 0, false));
      CAPTURE(to_string(static_cast<Schedule>(i)));
      CHECK(errors.worst() < 1e-9);
    }
  }

  TEST_CASE("uniform stages with messages up to a tenth of a forward") {
    Grid grid(8);
    for (int i = 0; i < schedules; ++i) {
      const auto s = static_cast<Schedule>(i);
      Errors errors;
      for (int k = 0; k < 40; ++k) errors.all.push_back(off_uniform(grid, s, 0.1, false));
      CAPTURE(to_string(s));
      CHECK(errors.worst() < (always_exact(s) || s == Schedule::zb_h1 || s == Schedule::zb_h2 ? 1e-9 : 0.03));
      CHECK(errors.quantile(0.5) < 0.01);
    }
  }

  TEST_CASE("fewer micro-batches than fill the pipeline") {
    Grid grid(9);
    for (int i = 0; i < schedules; ++i) {
      const auto s = static_cast<Schedule>(i);
      Errors errors;
      for (int k = 0; k < 40; ++k) errors.all.push_back(off_uniform(grid, s, 0, true));
      CAPTURE(to_string(s));
      CHECK(errors.worst() < (always_exact(s) || s == Schedule::zb_h1 ? 1e-9 : 0.09));
      CHECK(errors.quantile(0.9) < 0.03);
    }
  }

  // Layers of one kind, an embedding on the first stage, a head of up to two layers on the last: what models look like.
  TEST_CASE("embedding and head") {
    Grid grid(10);
    for (int i = 0; i < schedules; ++i) {
      const auto s = static_cast<Schedule>(i);
      Errors errors;
      for (int k = 0; k < 60; ++k) {
        const ScheduleShape shape = grid.shape(s, false);
        const PipelineProgram program = build_program(s, shape);
        std::vector<double> work(static_cast<std::size_t>(program.depth), grid.from(2, 6));
        work.front() += 0.5 * grid.u(grid.random);
        work.back() += 2 * grid.u(grid.random);
        errors.all.push_back(off(s, shape, share_out(grid.cost(0.02, false), shape.ranks, program.depth, work), program));
      }
      CAPTURE(to_string(s));
      MESSAGE(std::string(to_string(s)), ": median ", 100 * errors.quantile(0.5), " %, nine in ten ", 100 * errors.quantile(0.9),
              " %, worst ", 100 * errors.worst(), " %");
      const bool two_way = s == Schedule::dualpipe || s == Schedule::dualpipe_v;
      CHECK(errors.quantile(0.5) < (s == Schedule::one_f_one_b || s == Schedule::gpipe ? 1e-9 : two_way ? 0.06 : 0.03));
      CHECK(errors.quantile(0.9) < (s == Schedule::one_f_one_b ? 0.002 : two_way ? 0.11 : 0.06));
    }
  }

  TEST_CASE("GPipe is exact for any stages") {
    Grid grid(11);
    for (int k = 0; k < 40; ++k) {
      const ScheduleShape shape = grid.shape(Schedule::gpipe, k % 2 == 0);
      const PipelineProgram program = build_program(Schedule::gpipe, shape);
      std::vector<StageWork> stages;
      const StageWork c = grid.cost(0.1, false);
      for (int s = 0; s < program.depth; ++s) stages.push_back(share_out(c, 1, 1, std::vector{1.0})[0]);
      for (StageWork& s : stages) {
        const double z = 0.5 + grid.u(grid.random);
        s.forward = z * s.forward;
        s.input_gradient = z * s.input_gradient;
        s.weight_gradient = z * s.weight_gradient;
      }
      CHECK(std::abs(off(Schedule::gpipe, shape, stages, program)) < 1e-9);
    }
  }

  TEST_CASE("one stage has no bubble") {
    StageTimes<Plain> t;
    t.slowest_forward = t.sum_forward = 1 * second;
    t.slowest_backward = t.sum_backward = 2 * second;
    for (int i = 0; i < schedules; ++i) {
      const auto r = pipeline_time(static_cast<Schedule>(i), 1, 1, 5, t);
      CHECK(r.makespan.si() == 15);
      CHECK(r.bubble.si() == 0);
    }
  }

  TEST_CASE("without a weight gradient to put off, ZB-H1 is 1F1B") {
    StageTimes<Plain> t;
    t.slowest_forward = 1 * second;
    t.slowest_backward = 2 * second;
    t.sum_forward = 8 * second;
    t.sum_backward = 16 * second;
    CHECK(pipeline_time(Schedule::zb_h1, 8, 1, 32, t).makespan.si() ==
          doctest::Approx(pipeline_time(Schedule::one_f_one_b, 8, 1, 32, t).makespan.si()));
  }

  TEST_CASE("explained and plain are bit-identical") {
    Grid grid(12);
    for (int k = 0; k < 200; ++k) {
      const auto s = static_cast<Schedule>(k % schedules);
      const ScheduleShape shape = grid.shape(s, k % 3 == 0);
      const PipelineProgram program = build_program(s, shape);
      std::vector<double> work(static_cast<std::size_t>(program.depth), 4);
      work.back() += grid.u(grid.random);
      const StageTimes<Plain> t = stage_times(program, share_out(grid.cost(0.1, true), shape.ranks, program.depth, work));
      Derivation d;
      const Scope<Traced> scope(d);
      const StageTimes<Traced> traced{.slowest_forward = scope.input("F", t.slowest_forward),
                                      .slowest_backward = scope.input("B", t.slowest_backward),
                                      .slowest_weight = scope.input("W", t.slowest_weight),
                                      .sum_forward = scope.input("F_sum", t.sum_forward),
                                      .sum_backward = scope.input("B_sum", t.sum_backward),
                                      .ranks_after = t.ranks_after,
                                      .sum_after = scope.input("A", t.sum_after),
                                      .p2p = scope.input("c", t.p2p),
                                      .pair_saving = scope.input("S", t.pair_saving)};
      const PipelineTime<Plain> plain = pipeline_time(s, shape.ranks, shape.chunks, shape.micro_batches, t);
      const PipelineTime<Traced> why = pipeline_time(s, shape.ranks, shape.chunks, shape.micro_batches, traced);
      CHECK(plain.makespan.si() == why.makespan.si());
      CHECK(plain.bubble.si() == why.bubble.si());
      CHECK(plain.saved.si() == why.saved.si());
      CHECK(why.makespan.why() != nullptr);
    }
  }
}
