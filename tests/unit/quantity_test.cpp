#include <doctest/doctest.h>

#include "model/constant.hpp"
#include "model/quantity.hpp"

using namespace napkin;

namespace {
template <class A, class B>
concept Addable = requires(A a, B b) { a + b; };

// T = 2(p−1)α + 2(p−1)/p · n/B, in either kind.
template <class K>
SecondsT<K> ring(const Scope<K>& s, double p, double n) {
  const auto ranks = s.input("p", p);
  const auto bytes = s.input("n", Bytes::si(n));
  const auto bandwidth = s.input("B", 450 * GB / second);
  const auto alpha = s.input("alpha", 5 * us);
  return let("T", 2 * (ranks - 1) * alpha + 2 * (ranks - 1) / ranks * bytes / bandwidth, "patarasuk2009");
}
}  // namespace

TEST_SUITE("quantity") {
  TEST_CASE("dimensions must agree") {
    static_assert(Addable<Bytes, Bytes>);
    static_assert(!Addable<Bytes, Seconds>);
    static_assert(!Addable<Bytes, double>);
    static_assert(!std::is_convertible_v<double, Bytes>);
    static_assert(!std::is_convertible_v<Scalar, double>);
    static_assert(std::is_same_v<decltype(GB / second), BytesPerSecond>);
    CHECK(double(80 * GB / GiB) == doctest::Approx(74.5058));
  }

  TEST_CASE("plain and traced arithmetic are bit-identical") {
    for (double p : {1.0, 2.0, 3.0, 8.0, 1024.0})
      for (double n : {0.0, 8.0, 1e9, 1.234567e11}) {
        Derivation d;
        const auto traced = ring(Scope<Traced>(d), p, n);
        CHECK(ring(Scope<Plain>(), p, n).si() == traced.si());
        REQUIRE(traced.why() != nullptr);
        CHECK(traced.why()->op == Op::name);
        CHECK(traced.why()->source == "patarasuk2009");
      }
  }

  TEST_CASE("max keeps both arms") {
    Derivation d;
    const Scope<Traced> s(d);
    const auto m = max(s.input("a", 1 * us), s.input("b", 2 * us));
    CHECK(m.why()->op == Op::maximum);
    CHECK(m.why()->a.node->name == "a");
    CHECK(m.why()->b.node->name == "b");
    CHECK(m == 2 * us);
  }
}
