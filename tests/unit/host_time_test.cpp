// What the host, the copies of sharded units and a measured network add to a step.
#include <doctest/doctest.h>

#include "tests/step_fixture.hpp"

using namespace napkin;
using namespace napkin::test;

namespace {

StepCost<Plain> step_of(const TestJob& t, const Layout& l) {
  return predict(Scope<Plain>(), t.job, l, FlopConvention::full_attention).step;
}
Seconds term(const StepCost<Plain>& s, Term t) { return s.terms[static_cast<std::size_t>(t)]; }

}  // namespace

TEST_SUITE("host-time") {
  TEST_CASE("under TP a layer takes no less than the host needs, however small its kernels") {
    TestJob t("llama3.2-1b", "h100", "reference", 8, 1024, 8);
    const Layout l{.tp = 8, .sp = true, .dp = 1};
    const auto without = step_of(t, l);
    t.profile.host.tp_forward.value = 7 * ms;
    t.profile.host.tp_backward.value = 9 * ms;
    const auto with = step_of(t, l);
    const double layers = static_cast<double>(t.model.depth()), m = 8;
    const double compute = (with.phases.forward + with.phases.backward - term(with, Term::ends)).si();
    CHECK(compute == doctest::Approx(layers * m * 16e-3).epsilon(1e-6));
    CHECK(with.time > without.time);
    // Without TP the floor is not there.
    const Layout plain_layout{.dp = 8};
    const auto before = step_of(t, plain_layout).time;
    t.profile.host.tp_forward.value = t.profile.host.tp_backward.value = Seconds{};
    CHECK(step_of(t, plain_layout).time == before);
  }

  TEST_CASE("each node more that a TP group spans adds to the floor") {
    TestJob t("llama3-70b", "h100", "nanotron", 32, 512, 2);
    const auto host = [&](int tp) { return term(step_of(t, {.tp = tp, .sp = true, .dp = 32 / tp, .micro_batch = 1}), Term::host); };
    t.profile.kv_replication = true;
    const auto first = host(16);
    t.profile.host.tp_node.value = t.profile.host.tp_node.value + 1 * ms;
    CHECK((host(16) - first).si() == doctest::Approx(80 * 1e-3).epsilon(1e-6));  // one micro-batch, 80 layers, one node more
  }

  TEST_CASE("a measured network changes times, never memory") {
    TestJob t("llama3-8b", "h100", "nanotron", 64, 4096, 64);
    const Layout l{.tp = 4, .sp = true, .dp = 16, .zero = 1};
    const auto nominal = step_of(t, l);
    t.job.measured = {.world = 180 * GB / second, .intra_node = 458 * GB / second};
    const auto healthy = step_of(t, l);
    CHECK(term(healthy, Term::host) == term(nominal, Term::host));
    t.job.measured = {.world = 10 * GB / second, .intra_node = 425 * GB / second};
    const auto slow = step_of(t, l);
    CHECK(term(slow, Term::host) > term(nominal, Term::host));
    CHECK(term(slow, Term::dp_comm) > term(nominal, Term::dp_comm));
    CHECK(slow.memory.device == nominal.memory.device);
    CHECK(slow.memory.reserved == nominal.memory.reserved);
  }

  TEST_CASE("units that are cast and packed cost their bytes in every pass") {
    TestJob t("llama3-8b", "h200", "pytorch-eager", 2, 4096, 2);
    const Layout l{.dp = 2, .zero = 3};
    const auto with = step_of(t, l);
    t.profile.data_parallel.unit_copies = false;
    const auto without = step_of(t, l);
    // Two gathers: 6 bytes of half of the parameters cast, 4 of each copied; one reduction: 6 bytes of each cast.
    const double n = 8.03e9, stream = 0.909 * 4.8e12, cast = 0.45 * 4.8e12;
    CHECK((with.time - without.time).si() == doctest::Approx(2 * (3 * n / cast + 4 * n / stream) + 6 * n / cast).epsilon(0.02));
  }

  TEST_CASE("phases are the stopwatch's view of the terms on one rank") {
    TestJob t("llama3-8b", "h200", "pytorch-eager", 1, 4096, 1);
    const auto s = step_of(t, {.dp = 1});
    CHECK((s.phases.forward + s.phases.backward + s.phases.optimizer).si() == doctest::Approx(s.time.si()).epsilon(1e-9));
    CHECK(s.phases.backward > 1.5 * s.phases.forward);
  }

  TEST_CASE("an update of 16-bit moments streams at its own rate") {
    TestJob t("llama3-8b", "h200", "pytorch-eager", 1, 4096, 1);
    t.profile.bytes.parameter.value = t.profile.bytes.gradient.value = 2;
    t.profile.bytes.moments.value = 4;
    t.profile.bytes.compute_copy.value = 0;
    // 14 bytes a parameter at 2.4 TB/s: 47.1 ms measured with 8.03 billion of them.
    CHECK(term(step_of(t, {.dp = 1}), Term::optimizer).si() == doctest::Approx(47.1e-3).epsilon(0.03));
  }
}
