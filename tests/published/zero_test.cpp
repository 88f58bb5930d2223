// rajbhandari2020zero, Figure 1 and Table 1: model states of a 7.5B model on 64 GPUs, and the 16 bytes per parameter.
#include <doctest/doctest.h>

#include "model/frameworks/profile_input.hpp"
#include "model/memory/memory.hpp"

using namespace napkin;

TEST_SUITE("published") {
  TEST_CASE("rajbhandari2020zero Figure 1: 7.5B parameters on 64 GPUs") {
    const Profile p = read_profile("reference");
    const auto gigabytes = [&](int zero) {
      const RankParameters<Plain> n{.dense = 7.5e9, .expert = 0};
      return state_bytes(Scope<Plain>(), p.bytes, n, {.zero = zero, .dense = 64, .expert = 64}).total().si() / 1e9;
    };
    CHECK(gigabytes(0) == doctest::Approx(120).epsilon(1e-12));
    CHECK(gigabytes(1) == doctest::Approx(31.4).epsilon(0.002));   // 31.40625, printed 31.4
    CHECK(gigabytes(2) == doctest::Approx(16.6).epsilon(0.003));   // 16.640625, printed 16.6
    CHECK(gigabytes(3) == doctest::Approx(1.9).epsilon(0.015));    // 1.875, printed 1.9
    CHECK(gigabytes(3) == doctest::Approx(1.875).epsilon(1e-12));
  }

  TEST_CASE("Megatron's distributed optimizer holds 6 + 12/dp bytes a parameter") {
    const Profile p = read_profile("megatron-lm");
    for (std::int64_t dp : {1, 2, 8, 64}) {
      const RankParameters<Plain> n{.dense = 0.486e9, .expert = 0};
      const auto s = state_bytes(Scope<Plain>(), p.bytes, n, {.zero = 1, .dense = dp, .expert = dp});
      CHECK(s.total().si() == doctest::Approx(0.486e9 * (6 + 12.0 / static_cast<double>(dp))).epsilon(1e-12));
    }
  }
}
