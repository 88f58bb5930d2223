// A value in a launch configuration, whatever its format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace napkin::launch {

struct Value {
  enum class Kind : std::uint8_t { none, truth, whole, real, text, code, list };
  Kind kind = Kind::none;
  bool truth = false;
  std::int64_t whole = 0;
  double real = 0;
  std::string text;  // code: an expression of the target's own language, written as it stands
  std::vector<Value> list;

  Value() = default;
  Value(bool v) : kind(Kind::truth), truth(v) {}                       // NOLINT(google-explicit-constructor)
  Value(std::int64_t v) : kind(Kind::whole), whole(v) {}               // NOLINT(google-explicit-constructor)
  Value(int v) : Value(static_cast<std::int64_t>(v)) {}                // NOLINT(google-explicit-constructor)
  Value(double v) : kind(Kind::real), real(v) {}                       // NOLINT(google-explicit-constructor)
  Value(std::string v) : kind(Kind::text), text(std::move(v)) {}       // NOLINT(google-explicit-constructor)
  Value(std::string_view v) : Value(std::string(v)) {}                 // NOLINT(google-explicit-constructor)
  Value(const char* v) : Value(std::string(v)) {}                      // NOLINT(google-explicit-constructor)
  Value(std::vector<Value> v) : kind(Kind::list), list(std::move(v)) {}  // NOLINT(google-explicit-constructor)
  static Value code(std::string v);

  [[nodiscard]] bool is(Kind k) const { return kind == k; }
  // false, 0, "" , an empty list and nothing are not set.
  [[nodiscard]] bool set() const;
};

// Numbers compare by value: 8 and 8.0 are equal.
[[nodiscard]] bool operator==(const Value& a, const Value& b);
// For messages and for formats without types: 8, 0.5, true, text as it is, lists with ", ".
[[nodiscard]] std::string plain(const Value& v);
// The shortest decimal that reads back as the same double; always with a point or an exponent.
[[nodiscard]] std::string decimal(double v);

}  // namespace napkin::launch
