// Fits to runs: constants put into synthetic runs are found again; a few runs move little.
#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "calibrate/fit/run_study.hpp"
#include "calibrate/fit/stack_fit.hpp"
#include "hardware/hardware_input.hpp"
#include "model/frameworks/profile_input.hpp"
#include "model/step/prediction.hpp"

using namespace napkin;
using namespace napkin::fit;
using namespace napkin::validation;

namespace {

// A run of Llama-3-8B under FSDP, or of a larger model under TP and PP, on H100.
std::string record(int i) {
  const int gpus = 8 << (i % 4), micro = 1 + i % 2, tp = i % 3 == 0 ? 4 : i % 3 == 1 ? 8 : 1, pp = i % 5 == 0 ? 2 : 1;
  return R"({"id": "r)" + std::to_string(i) + R"(", "source": "s)" + std::to_string(i % 7) + R"(", "model": ")" +
         (i % 4 == 1 ? "llama3-70b" : "llama3-8b") + R"(", "hardware": "h100-sxm", "framework": "megatron-lm", "gpus": )" + std::to_string(gpus * 2) +
         R"(, "precision": "bf16", "seq_len": 8192, "global_batch": )" + std::to_string(gpus * 8) + R"(, "micro_batch": )" + std::to_string(micro) +
         R"(, "recompute": "selective", "year": 2025, "layout": {"tp": )" + std::to_string(tp) + R"(, "pp": )" + std::to_string(pp) +
         R"(}, "measured": {"step_time_s": 1}})";
}

// Runs measured on a machine whose constants are those of `truth`, with a scatter.
std::vector<RunCase> synthetic(int n, const Edits& truth, double scatter) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, scatter);
  std::vector<RunCase> runs;
  const auto library = std::make_shared<Library>(truth);
  for (int i = 0; static_cast<int>(runs.size()) < n && i < 10 * n; ++i) {
    RunCase c = read_case({record(i), "synthetic.jsonl", static_cast<std::size_t>(i + 1)});
    const Replay r = replay(c, library);
    if (!r.refused.empty()) continue;
    at(c.measured.figures, Metric::step_time) = *at(r.predicted, Metric::step_time) * std::exp(noise(random));
    runs.push_back(std::move(c));
  }
  return runs;
}

const StackConstant& of(const StackFit& fit, const std::string& leaf) {
  for (const StackConstant& c : fit.constants)
    if (c.leaf == leaf) return c;
  FAIL("not fitted: " << leaf);
  return fit.constants.front();
}

constexpr const char* rate = "/kernels/gemm/sustained/bf16";

}  // namespace

TEST_SUITE("fit to runs") {
  TEST_CASE("constants of a stack are recovered from many runs") {
    const double shipped = read_hardware("h100").accelerator.gemm.rate[static_cast<std::size_t>(Format::bf16)]->sustained->value.si();
    Edits truth;
    truth.set(std::string("h100-sxm#") + rate, 0.85 * shipped);
    const StackFit fit = fit_stack(synthetic(60, truth, 0.02), "", "", run_in_order);
    CHECK(fit.hardware == "h100-sxm");
    CHECK(fit.framework == "megatron-lm");
    // What the kernels lost may be booked on the framework's share of their rate as well: the product is what runs tell.
    const auto share = of(fit, "/compute/gemm_share");
    CHECK(of(fit, rate).value / shipped * share.value / share.shipped == doctest::Approx(0.85).epsilon(0.03));
    CHECK(std::abs(fit.time_after.bias) < 0.01);
    CHECK(fit.time_before.bias < -0.05);
    CHECK(fit.time_after.median_abs < 0.03);
    CHECK(of(fit, rate).standard_error < of(fit, rate).prior);
  }

  TEST_CASE("two runs move little, none as far as its prior") {
    Edits truth;
    truth.set(std::string("h100-sxm#") + rate, 0.7);
    const StackFit fit = fit_stack(synthetic(2, truth, 0), "", "", run_in_order);
    for (const StackConstant& c : fit.constants) {
      CAPTURE(c.leaf);
      CHECK(std::abs(c.value - c.shipped) < c.prior);
    }
    CHECK(std::abs(fit.time_after.bias) < std::abs(fit.time_before.bias));
  }

  TEST_CASE("the files that are written read back and give the fitted predictions") {
    Edits truth;
    truth.set(std::string("h100-sxm#") + rate, 0.6);
    const auto runs = synthetic(30, truth, 0.02);
    const StackFit fit = fit_stack(runs, "", "", run_in_order);
    const std::string hardware = stack_hardware(fit, "mine", "own runs"), profile = stack_profile(fit, "mine", "own runs");
    const Hardware h = read_hardware(Document::parse(hardware, "mine.json"));
    CHECK(h.accelerator.gemm.rate[static_cast<std::size_t>(Format::bf16)]->sustained->value.si() == doctest::Approx(of(fit, rate).value));
    CHECK(hardware_problems(Document::parse(hardware, "mine.json")).empty());
    CHECK(profile.find("\"extends\": \"megatron-lm\"") != std::string::npos);
    CHECK(profile.find("standard_error") != std::string::npos);
  }

  TEST_CASE("runs of several stacks are refused until one is named") {
    auto runs = synthetic(2, Edits(), 0);
    runs[1].request.framework = "torchtitan";
    CHECK_THROWS_AS((void)fit_stack(runs, "", "", run_in_order), InputError);
    CHECK_NOTHROW((void)fit_stack(runs, "", "megatron-lm", run_in_order));
    CHECK_THROWS_AS((void)fit_stack({}, "", "", run_in_order), InputError);
  }

  TEST_CASE("a linearised fit ends where the full one does") {
    Edits truth;
    truth.set("megatron-lm#/overlap/tensor_parallel", 0.3);
    truth.set("reference#/data_parallel/contention", 0.2);
    std::vector<FittedConstant> constants;
    for (const FittedConstant& c : ledger())
      if (c.places.front() == "megatron-lm#/overlap/tensor_parallel" || c.places.front() == "reference#/data_parallel/contention") constants.push_back(c);
    REQUIRE(constants.size() == 2);
    RunModel model(synthetic(40, truth, 0.01), constants, run_in_order);
    model.set_noise(0.01);
    const auto priors = neutral_priors(constants);
    const RunFit full = fit_runs(model, shipped_values(constants), priors);
    const RunFit quick = fit_linearised(model, model.linearise(full.values), priors);
    for (std::size_t k = 0; k < 2; ++k) {
      CAPTURE(constants[k].name);
      CHECK(quick.values[k] == doctest::Approx(full.values[k]).epsilon(0.02));
      CHECK(full.standard_error[k] > 0);
    }
    for (std::size_t k = 0; k < 2; ++k)
      if (constants[k].places.front().starts_with("megatron")) CHECK(full.values[k] == doctest::Approx(0.3).epsilon(0.2));
  }

  TEST_CASE("classes of runs that are left out") {
    Description d;
    d.model = "Llama 3_70B";
    d.gpus = 64;
    CHECK(leave_out_class(d, LeaveOut::model) == "llama-3-70b");
    CHECK(leave_out_class(d, LeaveOut::scale) == "9 to 64 accelerators");
    d.gpus = 65;
    CHECK(leave_out_class(d, LeaveOut::scale) == "65 to 512 accelerators");
  }
}
