// Schedules as values: what each generator orders, and what a flawed one is told.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "model/input_error.hpp"
#include "model/pipeline/schedule_input.hpp"

using namespace napkin;

namespace {

constexpr Schedule every_schedule[]{Schedule::gpipe,  Schedule::one_f_one_b,    Schedule::interleaved, Schedule::zb_h1,
                                    Schedule::zb_h2,  Schedule::zb_v,           Schedule::zb_interleaved,
                                    Schedule::dualpipe, Schedule::dualpipe_v,   Schedule::looped_bfs};

bool takes_chunks(Schedule s) {
  return s == Schedule::interleaved || s == Schedule::zb_interleaved || s == Schedule::looped_bfs;
}

std::string order_of(const PipelineProgram& p, int rank) {
  std::string text;
  for (const ScheduledOperation& op : p.order[static_cast<std::size_t>(rank)]) {
    text += (text.empty() ? "" : text.back() == '+' ? "" : " ") + label(op, p.chunks) + (op.paired ? "+" : "");
  }
  return text;
}

int forwards_before_backward(const PipelineProgram& p, int rank) {
  const auto& order = p.order[static_cast<std::size_t>(rank)];
  return static_cast<int>(std::ranges::find_if(order, [](const ScheduledOperation& o) { return o.work != Work::forward; }) -
                          order.begin());
}

std::string refusal(auto&& action) {
  try {
    action();
  } catch (const InputError& e) {
    return e.what();
  }
  return "accepted";
}

std::string reading(const std::string& json) {
  return refusal([&] { (void)read_program(Document::parse(json, "s.json")); });
}

}  // namespace

TEST_SUITE("schedule") {
  TEST_CASE("names") {
    for (const Schedule s : every_schedule) CHECK(schedule_named(to_string(s)) == s);
    CHECK(schedule_named("afab") == Schedule::gpipe);
    CHECK_FALSE(schedule_named("1f1c"));
  }

  TEST_CASE("every generator is complete and never waits for ever") {
    for (const Schedule s : every_schedule) {
      for (const int p : {1, 2, 3, 4, 5, 8}) {
        if (s == Schedule::dualpipe && p % 2 != 0) continue;
        for (const int v : {1, 2, 3}) {
          if (v > 1 && !takes_chunks(s)) continue;
          for (const std::int64_t m : {1, 2, 3, 4, 5, 7, 8, 13, 16, 24}) {
            if (v > 1 && m > p && m % p != 0) continue;
            CAPTURE(to_string(s));
            CAPTURE(p);
            CAPTURE(v);
            CAPTURE(m);
            CHECK(flaw_of(build_program(s, {p, m, v, 0})) == "");
          }
        }
      }
    }
  }

  TEST_CASE("1F1B of four ranks") {
    const PipelineProgram p = build_program(Schedule::one_f_one_b, {4, 4, 1, 0});
    CHECK(order_of(p, 0) == "F0 F1 F2 F3 B0 B1 B2 B3");
    CHECK(order_of(p, 2) == "F0 F1 B0 F2 B1 F3 B2 B3");
    CHECK(order_of(p, 3) == "F0 B0 F1 B1 F2 B2 F3 B3");
  }

  TEST_CASE("interleaved takes groups through chunks") {
    const PipelineProgram p = build_program(Schedule::interleaved, {2, 4, 2, 0});
    CHECK(order_of(p, 1) == "F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 F2.0 B0.0 F3.0 B1.0 F2.1 B2.1 F3.1 B3.1 B2.0 B3.0");
  }

  TEST_CASE("DualPipe pairs both directions") {
    const PipelineProgram p = build_program(Schedule::dualpipe, {4, 8, 1, 0});
    CHECK(order_of(p, 0) == "F0.0 F1.0 F2.0 F4.1 I4.1 W4.1 F5.1 F3.0+B5.1 F6.1+B0.0 B6.1 F7.1+B1.0 B7.1 I2.0 W2.0 I3.0 W3.0");
  }

  // Megatron-LM schedules.py: warm-up PP − r − 1; interleaved 2(PP − r − 1) + (v − 1)·N. The first backward follows one
  // more forward.
  TEST_CASE("warm-up is Megatron's") {
    for (const int pp : {2, 4, 8}) {
      const PipelineProgram plain = build_program(Schedule::one_f_one_b, {pp, 64, 1, 0});
      for (int r = 0; r < pp; ++r) CHECK(forwards_before_backward(plain, r) == pp - r - 1 + 1);
      for (const int v : {2, 4}) {
        for (const int n : {pp, pp + 3}) {
          const PipelineProgram p = build_program(Schedule::interleaved, {pp, 8 * n, v, n});
          for (int r = 0; r < pp; ++r) CHECK(forwards_before_backward(p, r) == 2 * (pp - r - 1) + (v - 1) * n + 1);
        }
      }
    }
  }

  TEST_CASE("shapes a schedule does not have") {
    CHECK(refusal([] { (void)build_program(Schedule::dualpipe, {3, 8, 1, 0}); }) ==
          "schedule dualpipe: needs an even number of ranks to run in both directions, not 3");
    CHECK(refusal([] { (void)build_program(Schedule::interleaved, {4, 6, 2, 0}); }) ==
          "schedule interleaved: 6 micro-batches in groups of 4 leave 2 over, fewer than the 4 stages; write a number of "
          "micro-batches that leaves none or at least 4");
    CHECK(refusal([] { (void)build_program(Schedule::one_f_one_b, {4, 6, 2, 0}); }) ==
          "schedule 1f1b holds 1 chunk a rank, not 2; write --schedule interleaved for more");
    CHECK(refusal([] { (void)build_program(Schedule::interleaved, {1 << 20, 1LL << 40, 1 << 10, 0}); })
              .ends_with("more operations than can be run one by one; write fewer micro-batches"));
    CHECK(refusal([] { (void)build_program(Schedule::gpipe, {0, 6, 1, 0}); }) ==
          "schedule gpipe: 0 stages; write at least 1");
  }

  TEST_CASE("flaws of a changed program are found") {
    std::mt19937 random(5);
    for (int round = 0; round < 300; ++round) {
      const Schedule s = every_schedule[random() % std::size(every_schedule)];
      PipelineProgram p = build_program(s, {4, 8, 1, 0});
      auto& order = p.order[random() % 4];
      const std::size_t at = random() % order.size();
      if (round % 2 == 0) {
        order.erase(order.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        order[at] = order[(at + 1 + random() % (order.size() - 1)) % order.size()];
      }
      CHECK(flaw_of(p) != "");
    }
  }

  // Any order that some timeline could have run is accepted: ranks pick among what is ready, at random.
  TEST_CASE("random feasible schedules pass, swapped dependencies do not") {
    std::mt19937 random(11);
    for (int round = 0; round < 100; ++round) {
      const int ranks = 1 + static_cast<int>(random() % 4), m = 1 + static_cast<int>(random() % 6);
      PipelineProgram p{ranks, 1, ranks, m, looped_stages(ranks, 1), std::vector<std::vector<ScheduledOperation>>(ranks)};
      std::vector<std::vector<int>> done(ranks, std::vector<int>(m, 0));  // 1 forward, 2 input gradient, 3 weight gradient
      for (int left = 3 * ranks * m; left > 0;) {
        const int r = static_cast<int>(random() % static_cast<unsigned>(ranks)), j = static_cast<int>(random() % static_cast<unsigned>(m));
        const auto at = [&](int rank) { return done[static_cast<std::size_t>(rank)][static_cast<std::size_t>(j)]; };
        const bool ready = at(r) == 0   ? r == 0 || at(r - 1) >= 1
                           : at(r) == 1 ? r == ranks - 1 || at(r + 1) >= 2
                                        : at(r) == 2;
        if (!ready) continue;
        constexpr Work works[]{Work::forward, Work::input_gradient, Work::weight_gradient};
        p.order[static_cast<std::size_t>(r)].push_back({works[at(r)], false, 0, j});
        ++done[static_cast<std::size_t>(r)][static_cast<std::size_t>(j)];
        --left;
      }
      CHECK(flaw_of(p) == "");
      auto& order = p.order[random() % static_cast<unsigned>(ranks)];
      std::ranges::reverse(order);
      CHECK(flaw_of(p).starts_with("deadlock: "));
    }
  }

  TEST_CASE("written in JSON") {
    const PipelineProgram p = read_program(Document::parse(R"({"schema": 1, "micro_batches": 2,
      "ranks": ["0F0 0F1 0B0 0B1", ["1F0 1I0, 1F1", "1W0 1B1"]]})", "s.json"));
    CHECK(p.ranks == 2);
    CHECK(order_of(p, 1) == "F0 I0 F1 W0 B1");
    const PipelineProgram v = read_program(Document::parse(R"({"schema": 1, "micro_batches": 1, "chunks": 2,
      "placement": "v", "ranks": ["0F0 3F0 3B0 0B0", "1F0 2F0 2B0 1B0"]})", "s.json"));
    CHECK(order_of(v, 1) == "F0.0 F0.1 B0.1 B0.0");
    const PipelineProgram two_way = read_program(Document::parse(R"({"schema": 1, "micro_batches": 2, "chunks": 2,
      "placement": "two-way", "ranks": ["0F0 3F1 3B1 0B0", "1F0 2F1 1B0 2B1"]})", "s.json"));
    CHECK(two_way.depth == 2);
    const PipelineProgram rows = read_program(Document::parse(R"({"schema": 1, "micro_batches": 1, "chunks": 2,
      "placement": [[0, 1], [2, 3]], "ranks": ["0F0 1F0 1B0 0B0", "2F0 3F0 3B0 2B0"]})", "s.json"));
    CHECK(order_of(rows, 1) == "F0.0 F0.1 B0.1 B0.0");
  }

  TEST_CASE("written wrong") {
    const auto ranks = [](const std::string& first, const std::string& second) {
      return reading(R"({"schema": 1, "micro_batches": 2, "ranks": [")" + first + R"(", ")" + second + R"("]})");
    };
    CHECK(ranks("0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1") == "accepted");
    CHECK(ranks("0F0 0F1 0B0 0B1", "1F0 1B0 1F1").ends_with("/ranks: B1 on rank 1 is missing"));
    CHECK(ranks("0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1I1").ends_with("/ranks: W1 on rank 1 is missing"));
    CHECK(ranks("0F0 0F1 0B0 0B1 0B1", "1F0 1B0 1F1 1B1").ends_with("/ranks: B1 on rank 0 is there twice"));
    CHECK(ranks("0F0 0B0 0F1 0B1", "1F0 1F1 1B0 1B1")
              .ends_with("/ranks: deadlock: B0 on rank 0 (operation 2) waits for B0 on rank 1, which never runs"));
    CHECK(ranks("0F0 0G1", "1F0").ends_with("\"0G1\" is no operation; write stage, one of F B I W, and micro-batch, as in 0F3"));
    CHECK(ranks("0F0 0F2", "1F0").ends_with("\"0F2\": micro-batch 2 of 2"));
    CHECK(ranks("0F0 1F1", "1F0").ends_with("\"1F1\": stage 1 is on rank 1, not on rank 0"));
    CHECK(ranks("0F0 9F1", "1F0").ends_with("\"9F1\": stage 9 of 2"));
    for (const char* word : {"0", "F", "0F", "0F1x", "-1F0", "0F-1", "0F1+", "+", "99999999999999999999F0"}) {
      CAPTURE(word);
      CHECK(ranks(word, "1F0") != "accepted");
    }
    CHECK(reading(R"({"schema": 1, "micro_batches": 1, "chunks": 2, "placement": [[0, 1], [1, 3]], "ranks": ["", ""]})")
              .ends_with("stage 1 is held twice; write every stage once"));
    CHECK(reading(R"({"schema": 1, "micro_batches": 1, "placement": "v", "ranks": ["", ""]})")
              .ends_with("\"v\" has 2 chunks a rank; write \"chunks\": 2"));
    CHECK(reading(R"({"schema": 1, "micro_batches": 0, "ranks": [""]})") != "accepted");
    CHECK(reading(R"({"schema": 1, "micro_batches": 1, "ranks": []})") != "accepted");
  }
}
