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

  TEST_CASE("steps of a TP ring between nodes wait for one another, those within a node do not") {
    TestJob t("llama3-70b", "h100", "nanotron", 32, 512, 2);
    t.profile.kv_replication = true;
    t.profile.host.tp_forward.value = t.profile.host.tp_backward.value = Seconds{};
    t.profile.host.launch.value = 0;
    t.profile.overlap.tensor_parallel.value = 0;
    const auto comm = [&](int tp) {
      return term(step_of(t, {.tp = tp, .sp = true, .dp = 2, .micro_batch = 1}), Term::tp_comm);
    };
    const auto within = comm(8), between = comm(16);
    t.profile.host.tp_step.value = t.profile.host.tp_step.value + 10 * us;
    CHECK(comm(8) == within);
    // One micro-batch, 80 layers of 10 messages (4 forward, 4 backward, 2 gathered again), 15 steps each.
    CHECK((comm(16) - between).si() == doctest::Approx(80 * 10 * 15 * 10e-6).epsilon(1e-6));
  }

  TEST_CASE("on a slow cluster a bucket takes as long as the message its bandwidth was measured with") {
    TestJob t("llama3-8b", "h100", "nanotron", 64, 4096, 64);
    const Layout ddp{.dp = 64}, sharded{.dp = 64, .zero = 1};
    t.job.measured = {.world = 97 * GB / second, .intra_node = 460 * GB / second};
    const auto healthy = term(step_of(t, ddp), Term::dp_comm), healthy_whole = term(step_of(t, sharded), Term::dp_comm);
    t.job.measured.intra_node = 425 * GB / second;
    CHECK(term(step_of(t, ddp), Term::dp_comm) > 4 * healthy);
    CHECK(term(step_of(t, sharded), Term::dp_comm) == healthy_whole);  // one message, larger than that
  }

  TEST_CASE("what the allocator holds back never decides whether a layout fits") {
    TestJob t("llama3-8b", "h100", "nanotron", 64, 4096, 64);
    t.profile.kv_replication = true;
    const Layout l{.tp = 8, .sp = true, .dp = 8, .zero = 1, .micro_batch = 2};
    const auto with = step_of(t, l).memory;
    t.profile.memory.held_whole.value = 40;
    const auto more = step_of(t, l).memory;
    CHECK(more.held > with.held);
    CHECK(more.allocated == with.allocated);
    CHECK(more.reserved <= fits_below * t.hardware.accelerator.capacity.value);
    CHECK(verdict(more.device, t.hardware.accelerator.capacity.value) == Verdict::fits);
  }

  TEST_CASE("a measured network changes times, never what is live nor the verdict") {
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
    CHECK(slow.memory.allocated == nominal.memory.allocated);
    CHECK(slow.memory.fragmentation == nominal.memory.fragmentation);
    // A host that falls behind leaves less for the allocator to hold back, which no verdict depends on.
    CHECK(slow.memory.held <= nominal.memory.held);
    const Bytes capacity = t.hardware.accelerator.capacity.value;
    CHECK(verdict(slow.memory.device, capacity) == verdict(nominal.memory.device, capacity));
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
