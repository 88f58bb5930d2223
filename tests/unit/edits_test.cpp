#include <doctest/doctest.h>

#include "hardware/hardware_input.hpp"
#include "model/frameworks/profile_input.hpp"
#include "model/input/edits_input.hpp"
#include "model/places.hpp"
#include "model/run/run_input.hpp"
#include "model/step/prediction.hpp"

using namespace napkin;

namespace {

RunRequest request() {
  const Document d = Document::parse(R"({"model": "llama3-8b", "hardware": "h100", "framework": "megatron-lm", "gpus": 16,
    "seq_len": 4096, "global_batch": 64, "layout": {"tp": 2, "pp": 2}})", "run.json");
  return read_run_record(d.root());
}
double step_of(const RunRequest& r) {
  const Run run = resolve(r);
  return predict(Scope<Plain>(), run.job, run.layout, run.convention).step.time.si();
}
std::string refusal(const Edits& edits, const Document& d) {
  try {
    (void)edits.apply(d);
  } catch (const InputError& e) {
    return e.what();
  }
  return {};
}

}  // namespace

TEST_SUITE("edits") {
  TEST_CASE("a constant is changed in the unit its file writes, with or without a group of its own") {
    Edits e;
    e.set("h100-sxm#/memory/bandwidth", 1);
    e.set("h100-sxm#/memory/capacity", 40'000);
    e.set("h100-sxm#/kernels/gemm/sustained/bf16", 0.5);
    e.set("h100-sxm#/network/tiers/1/efficiency", 0.25);
    const Hardware h = read_hardware("h100", e);
    CHECK(h.accelerator.memory_bandwidth.value.si() == 1e12);
    CHECK(h.accelerator.capacity.value.si() == 40'000 * 0x1p20);
    CHECK(h.accelerator.gemm.rate[static_cast<std::size_t>(Format::bf16)]->sustained->value.si() == 0.5);
    CHECK(h.network.tiers[1].efficiency.value.si() == 0.25);
    CHECK(read_hardware("h100").accelerator.memory_bandwidth.value.si() == 3.35e12);
  }

  TEST_CASE("what a file extends, its eras and the library's tuning are reached by their own place") {
    Edits e;
    e.set("reference#/data_parallel/contention", 0.11);
    e.set("megatron-lm#/eras/0/overlap/tensor_parallel", 0.5);
    CHECK(read_profile("megatron-lm", 2021, e).data_parallel.contention.value.si() == 0.11);
    CHECK(read_profile("megatron-lm", 2021, e).overlap.tensor_parallel.value.si() == 0.5);
    CHECK(read_profile("megatron-lm", 2024, e).overlap.tensor_parallel.value.si() != 0.5);
    Edits t;
    t.set("nccl#/generations/hopper/measured/net_rings", 7);
    CHECK(read_hardware("h100", t).network.tuning->net_rings.value.si() == 7);
  }

  TEST_CASE("the place that a constant carries is the one it is changed by") {
    const Hardware h = read_hardware("h100");
    Edits e;
    e.set(h.accelerator.launch.place, 7);
    CHECK(read_hardware("h100", e).accelerator.launch.value.si() == doctest::Approx(7e-6));
    const Document d = hardware_document("h100");
    const auto written = written_number(d, split_place(h.accelerator.launch.place).second);
    CHECK(written.number == 5);
    CHECK(written.unit == "us");
  }

  TEST_CASE("a place without a number is refused by name") {
    const Document d = Document::parse(R"({"a": {"b": "fast"}, "c": [1, 2]})", "x.json");
    const auto refused = [&](const char* place) {
      Edits e;
      e.set(place, 1);
      return refusal(e, d);
    };
    CHECK(refused("x#/a/b").find("x.json#/a/b: no number") != std::string::npos);
    CHECK(refused("x#/a") != "");
    CHECK(refused("x#/c/2") != "");
    CHECK(refused("x#/c/1") == "");
    CHECK(refused("other#/a/b") == "");
    Edits e;
    CHECK_THROWS_AS(e.set("nowhere", 1), InputError);
  }

  TEST_CASE("the constants that a step rests on are those whose change moves it") {
    const Run run = resolve(request());
    Derivation derivation;
    const auto p = predict(Scope<Traced>(derivation), run.job, run.layout, run.convention);
    const std::array roots{p.step.time.why()};
    const auto places = places_under(roots);
    CHECK(places.contains("h100-sxm#/kernels/gemm/sustained/bf16"));
    CHECK(places.contains("megatron-lm#/overlap/tensor_parallel"));
    CHECK_FALSE(places.contains("h100-sxm#/kernels/gemm/sustained/fp8"));
    RunRequest r = request();
    const double before = step_of(r);
    r.edits.set("h100-sxm#/kernels/gemm/sustained/bf16", 0.375);
    CHECK(step_of(r) > 1.2 * before);
    r = request();
    r.edits.set("h100-sxm#/kernels/gemm/sustained/fp8", 0.1);
    CHECK(step_of(r) == before);
  }
}
