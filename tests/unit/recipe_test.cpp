// What a run's recipe changes: deterministic kernels, attention dropout, routing, experts' kernels.
#include <doctest/doctest.h>

#include <string>

#include "model/input/document_input.hpp"
#include "model/run/run_input.hpp"
#include "model/step/prediction.hpp"

using namespace napkin;

namespace {

Run run_of(const std::string& members) {
  const Document d = Document::parse("{\"framework\": \"megatron-lm\", \"precision\": \"bf16\", \"seq_len\": 8192, " + members + "}", "r.json");
  return resolve(read_run_record(d.root()));
}
double step_of(const Run& r) { return predict(Scope<Plain>(), r.job, r.layout, r.convention).step.time.si(); }

const std::string on_eight = R"("gpus": 8, "global_batch": 8, "layout": {"tp": 1, "dp": 8}, )";
std::string gpt(bool dropout) {
  return std::string(R"("model": {"layers": 8, "hidden": 4096, "heads": 32, "ffn": 16384, "vocab": 50304, "gated": false, "dropout": )") +
         (dropout ? "true}" : "false}");
}

}  // namespace

TEST_SUITE("model/run") {
  TEST_CASE("deterministic training leaves cuDNN's attention everywhere but on Hopper") {
    for (const std::string hw : {"b200-hgx", "h100-sxm", "a100-sxm-80gb"}) {
      CAPTURE(hw);
      const std::string base = "\"year\": 2026, \"hardware\": \"" + hw + "\", " + on_eight + gpt(false);
      const double usual = step_of(run_of(base)), fixed = step_of(run_of(base + R"(, "deterministic": true)"));
      if (hw == "b200-hgx") CHECK(fixed > 1.1 * usual);
      else CHECK(fixed == doctest::Approx(usual).epsilon(1e-12));
    }
  }

  TEST_CASE("attention dropout costs cuDNN more than FlashAttention 2") {
    const auto ratio = [](const std::string& hw) {
      const std::string base = "\"year\": 2026, \"hardware\": \"" + hw + "\", " + on_eight;
      return step_of(run_of(base + gpt(true))) / step_of(run_of(base + gpt(false)));
    };
    CHECK(ratio("h100-sxm") > ratio("a100-sxm-80gb"));
    CHECK(ratio("a100-sxm-80gb") > 1);
    CHECK(ratio("h100-sxm") < 1.6);  // less than attention alone: 2.1 forward, 1.25 backward
  }

  TEST_CASE("routing that is learned leaves experts uneven, and takes longer") {
    const std::string base = R"("year": 2026, "hardware": "h100-sxm", "gpus": 8, "global_batch": 8, "model": "mixtral-8x7b", "layout": {"ep": 8, "dp": 8})";
    const Run balanced = run_of(base + R"(, "routing": "balanced")"), learned = run_of(base + R"(, "routing": "learned")");
    CHECK(balanced.profile->expert_imbalance.value == 1);
    CHECK(learned.profile->expert_imbalance.value > 1);
    CHECK(step_of(learned) > step_of(balanced));
    CHECK(step_of(run_of(base)) == step_of(balanced));  // what Megatron's benchmarks do
  }

  TEST_CASE("a recipe's entry holds for the jobs it names and no others") {
    const auto launches = [](const std::string& hw, int year) {
      return run_of("\"year\": " + std::to_string(year) + ", \"hardware\": \"" + hw +
                    R"(", "gpus": 8, "global_batch": 8, "model": "mixtral-8x7b", "layout": {"ep": 8, "dp": 8})")
          .profile->expert_launches.value;
    };
    CHECK(launches("gb200-nvl72", 2026) == 0);  // graphs
    CHECK(launches("gb200-nvl72", 2025) > 0);
    CHECK(launches("h100-sxm", 2026) > 0);
    CHECK(launches("b200-hgx", 2026) > 0);  // no rack
  }

  TEST_CASE("a release and a year that contradict each other are both shown") {
    CHECK_THROWS_WITH(run_of(R"("year": 2020, "release": "2025-02", "hardware": "h100-sxm", "model": "llama3-8b")"),
                      "r.json:1: /release: is \"2025-02\", but year is 2020; write one of them");
  }

  TEST_CASE("as many experts on fewer ranks: each one's short kernels add up") {
    const auto step = [](int ep) {
      return step_of(run_of(R"("year": 2026, "hardware": "h100-sxm", "gpus": 8, "global_batch": 8, "model": "qwen3-30b-a3b", "layout": {"ep": )" +
                            std::to_string(ep) + R"(, "dp": 8})"));
    };
    CHECK(step(2) > step(4));
    CHECK(step(4) > step(8));
  }
}
