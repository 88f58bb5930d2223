#include <doctest/doctest.h>

#include "model/text.hpp"

using namespace napkin;

TEST_SUITE("text") {
  TEST_CASE("every prefix of the table") {
    CHECK(format(Bytes::si(1)) == "1 B");
    CHECK(format(Bytes::si(2.5e3)) == "2.5 kB");
    CHECK(format(Bytes::si(2.5e6)) == "2.5 MB");
    CHECK(format(Bytes::si(2.5e9)) == "2.5 GB");
    CHECK(format(Bytes::si(2.5e12)) == "2.5 TB");
    CHECK(format(Bytes::si(2.5e15)) == "2.5 PB");
    CHECK(format(Flops::si(2.5e18)) == "2.5 EFLOP");
    CHECK(format(Flops::si(2.5e21)) == "2.5 ZFLOP");
    CHECK(format(Flops::si(2.5e24)) == "2.5 YFLOP");
  }

  TEST_CASE("three or four significant figures") {
    CHECK(format(Seconds::si(0.0545)) == "54.5 ms");
    CHECK(format(Bytes::si(79.7e9)) == "79.7 GB");
    CHECK(format(FlopsPerSecond::si(989.4e12)) == "989 TFLOP/s");
    CHECK(format(BytesPerSecond::si(3.35e12)) == "3.35 TB/s");
    CHECK(format(Scalar(0.412)) == "0.412");
    CHECK(format(Scalar(1.2345)) == "1.234");
    CHECK(format(Bytes::si(999.9e9)) == "1 TB");
    CHECK(format(Bytes::si(0)) == "0 B");
    CHECK(format(Bytes::si(-2.5e9)) == "-2.5 GB");
    CHECK(format(Scalar(8)) == "8");
    CHECK(format(Scalar(12288)) == "12,288");
    CHECK(format(Scalar(1e-7)) == "1e-07");
  }

  TEST_CASE("times") {
    CHECK(format(5 * us) == "5 us");
    CHECK(format(Seconds::si(3e-9)) == "3 ns");
    CHECK(format(Seconds::si(90)) == "90 s");
    CHECK(format(Seconds::si(5400)) == "90 min");
    CHECK(format(Seconds::si(36000)) == "10 h");
    CHECK(format(Seconds::si(864000)) == "10 d");
    CHECK(format(Seconds::si(0)) == "0 s");
  }

  TEST_CASE("other dimensions") {
    CHECK(format(Watts::si(700)) == "700 W");
    CHECK(format(Hertz::si(1.83e9)) == "1.83 G/s");
    CHECK(format(Flops::si(295) / Bytes::si(1)) == "295 FLOP/B");
    CHECK(format(Bytes::si(3) * Seconds::si(1)) == "3 B*s");
  }

  TEST_CASE("GiB and counts") {
    CHECK(format_gib(80 * GB) == "74.5 GiB");
    CHECK(format_count(12288) == "12,288");
    CHECK(format_count(999) == "999");
    CHECK(format_count(-1234567) == "-1,234,567");
    CHECK(format_count(0.5) == "0.5");
  }
}
