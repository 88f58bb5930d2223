#include <doctest/doctest.h>

#include <cmath>

#include "model/reliability/checkpoint.hpp"
#include "model/reliability/failures.hpp"

using namespace napkin;

TEST_SUITE("reliability") {
  TEST_CASE("a job of many units fails as often as all of them together") {
    const Seconds unit = unit_mttf(Scalar(16384), 54 * 86400 * second, Scalar(419));
    CHECK(unit.si() == doctest::Approx(50676 * 3600.0).epsilon(0.001));  // Llama 3: 419 in 54 days on 16,384
    CHECK(job_mttf(unit, Scalar(1)).si() == unit.si());
    CHECK(job_mttf(unit, Scalar(16384)).si() * 419 == doctest::Approx(54 * 86400.0));
    CHECK(survival(0 * second, unit).si() == 1);
    CHECK(survival(unit, unit).si() == doctest::Approx(std::exp(-1)));
  }

  TEST_CASE("the exact interval maximises the exact goodput, and the approximations come near it") {
    for (const double delta : {1.0, 30.0, 300.0, 3000.0})
      for (const double mttf : {3600.0, 36000.0, 360000.0}) {
        CAPTURE(delta);
        CAPTURE(mttf);
        const Seconds d = Seconds::si(delta), m = Seconds::si(mttf), r = 100 * second;
        const Seconds best = exact_interval(Scope<Plain>(), d, m);
        const double top = exact_goodput(best, d, r, m).si();
        for (const double factor : {0.5, 0.9, 0.99, 1.01, 1.1, 2.0})
          CHECK(exact_goodput(factor * best, d, r, m).si() <= top);
        if (delta < 0.01 * mttf) {
          CHECK(young_interval(d, m).si() == doctest::Approx(best.si()).epsilon(0.1));
          CHECK(daly_interval(d, m).si() == doctest::Approx(best.si()).epsilon(0.001));
          CHECK(first_order_goodput(best, d, r, m).si() == doctest::Approx(top).epsilon(0.02));
        }
        CHECK(top > 0);
        CHECK(top < 1);
      }
  }

  TEST_CASE("explained and plain are the same numbers") {
    Derivation derivation;
    const Scope<Traced> s(derivation);
    const auto d = s.input("delta", 5 * second), m = s.input("M", 11135 * second), r = s.input("R", 180 * second);
    const auto tau = young_interval(d, m);
    CHECK(tau.si() == young_interval(5 * second, 11135 * second).si());
    CHECK(exact_goodput(tau, d, r, m).si() ==
          exact_goodput(young_interval(5 * second, 11135 * second), 5 * second, 180 * second, 11135 * second).si());
    CHECK(daly_interval(d, m).si() == daly_interval(5 * second, 11135 * second).si());
    CHECK(exact_goodput(tau, d, r, m).why() != nullptr);
  }
}
