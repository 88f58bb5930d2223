#include "hardware/values_input.hpp"

namespace napkin::hardware_values {
namespace {

Scalar within(const Field& f, double low, double high, const std::string& what) {
  const double v = f.number();
  if (v < low || v > high) f.fail("is " + f.raw() + "; write " + what);
  return v;
}

// Above zero and at most `high`.
Scalar share(const Field& f, double high, const std::string& what) {
  const double v = f.number();
  if (v <= 0 || v > high) f.fail("is " + f.raw() + "; write " + what);
  return v;
}

constexpr double max_length = 1e6, max_price = 1e6, max_oversubscription = 1e4;

}  // namespace

Bytes capacity(const Field& f) {
  const auto v = f.bytes();
  if (v.si() <= 0) f.fail("is " + f.raw() + "; write a capacity above zero");
  return v;
}

Scalar fraction(const Field& f) { return share(f, 1, "a fraction above 0 and at most 1"); }
Scalar efficiency(const Field& f) { return share(f, 2, "a share of the nominal bandwidth, such as 0.82"); }
Scalar count(const Field& f) { return static_cast<double>(f.integer(1, max_accelerators)); }
Scalar length(const Field& f) { return within(f, 0, max_length, "a length from 0 to 1,000,000"); }
Scalar price(const Field& f) { return within(f, 0, max_price, "US dollars per hour, not negative"); }
Scalar oversubscription(const Field& f) {
  return within(f, 1, max_oversubscription, "a ratio of at least 1 (2 for 2:1)");
}
int whole(const Field& f, std::int64_t low, std::int64_t high) { return static_cast<int>(f.integer(low, high)); }

}  // namespace napkin::hardware_values
