#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

#include "model/input/number_input.hpp"

using namespace napkin;

namespace {
template <class F>
std::string refusal(F f) {
  try {
    f();
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return {};
}
bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }
}  // namespace

TEST_SUITE("number") {
  TEST_CASE("counts are powers of ten, tokens powers of 1,024") {
    CHECK(parse_count("100B") == 100e9);
    CHECK(parse_count("7b") == 7e9);
    CHECK(parse_count("1.5T") == 1.5e12);
    CHECK(parse_count("16k") == 16'000);
    CHECK(parse_count("4Ki") == 4096);
    CHECK(parse_tokens("4k") == 4096);
    CHECK(parse_tokens("4M") == 4'194'304);
    CHECK(parse_tokens("8192") == 8192);
    CHECK(parse_tokens("1.5k") == 1536);
    CHECK(parse_number("1.5e3") == 1500);
    CHECK(parse_number("-2") == -2);
  }

  TEST_CASE("quantities") {
    CHECK(parse_bytes("80GB") == 80 * GB);
    CHECK(parse_bytes("80 GiB") == 80 * GiB);
    CHECK(parse_bytes("81559 MiB") == 81559 * MiB);
    CHECK(parse_bandwidth("3.35 TB/s") == 3.35 * TB / second);
    CHECK(parse_bandwidth("400 Gb/s") == 50 * GB / second);
    CHECK(parse_seconds("5 us") == 5 * us);
    CHECK(parse_seconds("3 h").si() == 10800);
    CHECK(parse_flop_rate("989.4 TFLOP/s").si() == 989.4e12);
    CHECK(parse_frequency("1830 MHz").si() == 1.83e9);
    CHECK(parse_power("700 W").si() == 700);
  }

  TEST_CASE("what is refused says what to write") {
    CHECK(has(refusal([] { (void)parse_bytes("80 Gb"); }), "is a number of bits"));
    CHECK(has(refusal([] { (void)parse_bytes("80 Gb"); }), "\"10 GB\""));
    CHECK(has(refusal([] { (void)parse_bytes("80"); }), "has no unit"));
    CHECK(has(refusal([] { (void)parse_bytes("-80 GB"); }), "is negative"));
    CHECK(has(refusal([] { (void)parse_bytes("nan GB"); }), "is not finite"));
    CHECK(has(refusal([] { (void)parse_bytes("inf GB"); }), "is not finite"));
    CHECK(has(refusal([] { (void)parse_bytes("1e305 TB"); }), "out of range"));
    CHECK(has(refusal([] { (void)parse_bytes("1e999 TB"); }), "out of range"));
    CHECK(has(refusal([] { (void)parse_bandwidth("4.8 TBps"); }), "is not a bandwidth; write a number, a space and one of"));
    CHECK(has(refusal([] { (void)parse_bandwidth("0 GB/s"); }), "is zero"));
    CHECK(has(refusal([] { (void)parse_flop_rate("989 TFLOPS"); }), "is not a FLOP rate"));
    CHECK(has(refusal([] { (void)parse_seconds("5"); }), "has no unit"));
    CHECK(has(refusal([] { (void)parse_count("-7B"); }), "is negative"));
    CHECK(has(refusal([] { (void)parse_count("7Q"); }), "is not a count"));
    CHECK(has(refusal([] { (void)parse_count(""); }), "is not a count"));
    CHECK(has(refusal([] { (void)parse_count("seven"); }), "is not a count"));
    CHECK(has(refusal([] { (void)parse_tokens("1.0001k"); }), "is not a whole number"));
    CHECK(has(refusal([] { (void)parse_tokens("0"); }), "is zero"));
    CHECK(has(refusal([] { (void)parse_tokens("99999T"); }), "is too large"));
    CHECK(has(refusal([] { (void)parse_tokens("4k4"); }), "is not a number of tokens"));
    CHECK(has(refusal([] { (void)parse_number("1.5x"); }), "is not a number"));
    CHECK(refusal([] { (void)parse_count("a\nb"); }).find('\n') == std::string::npos);
  }

  TEST_CASE("a batch is sequences or tokens") {
    CHECK(parse_batch("1024").sequences == 1024);
    CHECK(parse_batch("1024").tokens == 0);
    CHECK(parse_batch("4M-tokens").tokens == 4'194'304);
    CHECK(parse_batch("4M tokens").tokens == 4'194'304);
    CHECK(parse_batch("4M-tokens").sequences == 0);
    CHECK(has(refusal([] { (void)parse_batch("4M"); }), "write sequences in digits, such as 1024, or 4M-tokens"));
    CHECK(has(refusal([] { (void)parse_batch("-8"); }), "is negative"));
    CHECK(has(refusal([] { (void)parse_batch("0"); }), "is zero"));
    CHECK(has(refusal([] { (void)parse_batch("-tokens"); }), "is not a batch"));
    CHECK(has(refusal([] { (void)parse_batch("x-tokens"); }), "is not a batch"));
  }
}
