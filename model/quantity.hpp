// Physical quantities: a double with a dimension, and, when explaining, the derivation that produced it.
//
// Every formula of the model is a template over the quantity kind K and is instantiated for two kinds only:
//   Plain   a bare double; what the search runs.
//   Traced  the same double and the node that produced it; what --explain prints.
// Both run the same arithmetic in the same order, so their values are bit-identical (tests/unit/quantity_test.cpp).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <compare>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "model/derivation.hpp"

namespace napkin {

struct Plain {};
struct Traced {};

template <Dim D, class K>
class Quantity;

template <Dim D>
class Quantity<D, Plain> {
  double v_{};

 public:
  constexpr Quantity() = default;
  // A bare number is dimensionless and nothing else.
  template <class T>
    requires(std::is_arithmetic_v<T> && D == Dim{})
  constexpr Quantity(T v) : v_(static_cast<double>(v)) {}
  // The value in SI base units (byte, second, FLOP, joule): for the boundary (reading, printing), not for formulas.
  static constexpr Quantity si(double v) {
    Quantity q;
    q.v_ = v;
    return q;
  }
  [[nodiscard]] constexpr double si() const { return v_; }
  explicit constexpr operator double() const
    requires(D == Dim{})
  {
    return v_;
  }
  [[nodiscard]] constexpr Operand operand() const { return {nullptr, v_, D}; }
};

template <Dim D>
class Quantity<D, Traced> {
  double v_{};
  const Node* why_{};

 public:
  constexpr Quantity() = default;
  template <class T>
    requires(std::is_arithmetic_v<T> && D == Dim{})
  constexpr Quantity(T v) : v_(static_cast<double>(v)) {}
  // A plain value inside an explained formula is a literal.
  constexpr Quantity(Quantity<D, Plain> q) : v_(q.si()) {}
  static constexpr Quantity of(double v, const Node* why) {
    Quantity q;
    q.v_ = v;
    q.why_ = why;
    return q;
  }
  [[nodiscard]] constexpr double si() const { return v_; }
  [[nodiscard]] constexpr const Node* why() const { return why_; }
  explicit constexpr operator double() const
    requires(D == Dim{})
  {
    return v_;
  }
  [[nodiscard]] constexpr Operand operand() const { return {why_, v_, D}; }
};

template <class K>
using ScalarT = Quantity<Dim{}, K>;
template <class K>
using BytesT = Quantity<Dim{.byte = 1}, K>;
template <class K>
using SecondsT = Quantity<Dim{.second = 1}, K>;
template <class K>
using FlopsT = Quantity<Dim{.flop = 1}, K>;
template <class K>
using BytesPerSecondT = Quantity<Dim{.byte = 1, .second = -1}, K>;
template <class K>
using FlopsPerSecondT = Quantity<Dim{.second = -1, .flop = 1}, K>;
template <class K>
using PerSecondT = Quantity<Dim{.second = -1}, K>;

using Scalar = ScalarT<Plain>;
using Bytes = BytesT<Plain>;
using Seconds = SecondsT<Plain>;
using Flops = FlopsT<Plain>;
using BytesPerSecond = BytesPerSecondT<Plain>;
using FlopsPerSecond = FlopsPerSecondT<Plain>;
using PerSecond = PerSecondT<Plain>;
using Watts = Quantity<Dim{.second = -1, .joule = 1}, Plain>;
using Hertz = PerSecond;

// Units are quantities. GB and GiB are different words; bits exist only where text is read.
inline constexpr Bytes byte = Bytes::si(1), kB = Bytes::si(1e3), MB = Bytes::si(1e6), GB = Bytes::si(1e9),
                       TB = Bytes::si(1e12), KiB = Bytes::si(0x1p10), MiB = Bytes::si(0x1p20), GiB = Bytes::si(0x1p30);
inline constexpr Seconds second = Seconds::si(1), ms = Seconds::si(1e-3), us = Seconds::si(1e-6),
                         ns = Seconds::si(1e-9);
inline constexpr Flops flop = Flops::si(1), TFLOP = Flops::si(1e12);

namespace detail {
template <class KA, class KB>
using Join = std::conditional_t<std::is_same_v<KA, Plain> && std::is_same_v<KB, Plain>, Plain, Traced>;

template <Dim R, class K>
constexpr Quantity<R, K> combine(Op op, double v, const Operand& a, const Operand& b) {
  if constexpr (std::is_same_v<K, Plain>) {
    return Quantity<R, K>::si(v);
  } else {
    return Quantity<R, K>::of(v, derive(op, R, v, a, b));
  }
}
template <Dim R, class K>
constexpr Quantity<R, K> combine(Op op, double v, const Operand& a) {
  if constexpr (std::is_same_v<K, Plain>) {
    return Quantity<R, K>::si(v);
  } else {
    return Quantity<R, K>::of(v, derive(op, R, v, a));
  }
}
template <class T>
concept Number = std::is_arithmetic_v<T>;
}  // namespace detail

// ---- arithmetic: * and / add and subtract dimensions, + and − need equal ones -------------------------------------
template <Dim A, class KA, Dim B, class KB>
constexpr auto operator*(Quantity<A, KA> a, Quantity<B, KB> b) {
  return detail::combine<A + B, detail::Join<KA, KB>>(Op::multiply, a.si() * b.si(), a.operand(), b.operand());
}
template <Dim A, class KA, Dim B, class KB>
constexpr auto operator/(Quantity<A, KA> a, Quantity<B, KB> b) {
  return detail::combine<A - B, detail::Join<KA, KB>>(Op::divide, a.si() / b.si(), a.operand(), b.operand());
}
template <Dim D, class KA, class KB>
constexpr auto operator+(Quantity<D, KA> a, Quantity<D, KB> b) {
  return detail::combine<D, detail::Join<KA, KB>>(Op::add, a.si() + b.si(), a.operand(), b.operand());
}
template <Dim D, class KA, class KB>
constexpr auto operator-(Quantity<D, KA> a, Quantity<D, KB> b) {
  return detail::combine<D, detail::Join<KA, KB>>(Op::subtract, a.si() - b.si(), a.operand(), b.operand());
}
template <detail::Number T, Dim D, class K>
constexpr auto operator*(T a, Quantity<D, K> b) {
  return Scalar(a) * b;
}
template <Dim D, class K, detail::Number T>
constexpr auto operator*(Quantity<D, K> a, T b) {
  return a * Scalar(b);
}
template <Dim D, class K, detail::Number T>
constexpr auto operator/(Quantity<D, K> a, T b) {
  return a / Scalar(b);
}
template <detail::Number T, Dim D, class K>
constexpr auto operator/(T a, Quantity<D, K> b) {
  return Scalar(a) / b;
}
template <detail::Number T, class K>
constexpr auto operator+(T a, ScalarT<K> b) {
  return Scalar(a) + b;
}
template <class K, detail::Number T>
constexpr auto operator+(ScalarT<K> a, T b) {
  return a + Scalar(b);
}
template <detail::Number T, class K>
constexpr auto operator-(T a, ScalarT<K> b) {
  return Scalar(a) - b;
}
template <class K, detail::Number T>
constexpr auto operator-(ScalarT<K> a, T b) {
  return a - Scalar(b);
}
template <Dim D, class KA, class KB>
constexpr Quantity<D, KA>& operator+=(Quantity<D, KA>& a, Quantity<D, KB> b) {
  return a = a + b;
}

template <Dim D, class KA, class KB>
constexpr bool operator==(Quantity<D, KA> a, Quantity<D, KB> b) {
  return a.si() == b.si();
}
template <Dim D, class KA, class KB>
constexpr std::partial_ordering operator<=>(Quantity<D, KA> a, Quantity<D, KB> b) {
  return a.si() <=> b.si();
}
template <class K, detail::Number T>
constexpr bool operator==(ScalarT<K> a, T b) {
  return a.si() == static_cast<double>(b);
}
template <class K, detail::Number T>
constexpr std::partial_ordering operator<=>(ScalarT<K> a, T b) {
  return a.si() <=> static_cast<double>(b);
}

// ---- functions ----------------------------------------------------------------------------------------------------
// max and min keep both arms, so that the binding one is visible.
template <Dim D, class KA, class KB>
constexpr auto max(Quantity<D, KA> a, Quantity<D, KB> b) {
  return detail::combine<D, detail::Join<KA, KB>>(Op::maximum, a.si() < b.si() ? b.si() : a.si(), a.operand(),
                                                  b.operand());
}
template <Dim D, class KA, class KB>
constexpr auto min(Quantity<D, KA> a, Quantity<D, KB> b) {
  return detail::combine<D, detail::Join<KA, KB>>(Op::minimum, b.si() < a.si() ? b.si() : a.si(), a.operand(),
                                                  b.operand());
}
template <class K, detail::Number T>
constexpr auto max(ScalarT<K> a, T b) {
  return max(a, Scalar(b));
}
template <class K, detail::Number T>
constexpr auto min(ScalarT<K> a, T b) {
  return min(a, Scalar(b));
}
template <class K>
ScalarT<K> ceil(ScalarT<K> a) {
  return detail::combine<Dim{}, K>(Op::ceiling, std::ceil(a.si()), a.operand());
}
template <class K>
ScalarT<K> floor(ScalarT<K> a) {
  return detail::combine<Dim{}, K>(Op::floor, std::floor(a.si()), a.operand());
}
template <class K>
ScalarT<K> log2(ScalarT<K> a) {
  return detail::combine<Dim{}, K>(Op::log2, std::log2(a.si()), a.operand());
}
template <class K>
ScalarT<K> exp(ScalarT<K> a) {
  return detail::combine<Dim{}, K>(Op::exponential, std::exp(a.si()), a.operand());
}
template <class K>
ScalarT<K> log(ScalarT<K> a) {
  return detail::combine<Dim{}, K>(Op::logarithm, std::log(a.si()), a.operand());
}
template <class K>
ScalarT<K> pow(ScalarT<K> a, ScalarT<K> b) {
  return detail::combine<Dim{}, K>(Op::power, std::pow(a.si(), b.si()), a.operand(), b.operand());
}
// Of a quantity whose exponents are even.
template <Dim D, class K>
auto sqrt(Quantity<D, K> a) {
  static_assert(D.byte % 2 == 0 && D.second % 2 == 0 && D.flop % 2 == 0 && D.joule % 2 == 0);
  return detail::combine<Dim{D.byte / 2, D.second / 2, D.flop / 2, D.joule / 2}, K>(Op::square_root, std::sqrt(a.si()),
                                                                                  a.operand());
}
// (a⁴ + b⁴)^¼: a maximum with a rounded corner, for two resources that nearly tie.
template <Dim D, class KA, class KB>
auto smooth_max(Quantity<D, KA> a, Quantity<D, KB> b) {
  const double hi = std::max(a.si(), b.si()), lo = std::min(a.si(), b.si());
  const double r = hi > 0 ? lo / hi : 0, r2 = r * r;
  return detail::combine<D, detail::Join<KA, KB>>(Op::smooth_maximum, hi * std::sqrt(std::sqrt(1 + r2 * r2)),
                                                  a.operand(), b.operand());
}

// ---- names, choices, inputs ---------------------------------------------------------------------------------------
// Names a step of the derivation; `source` is a key of docs/references.bib, `scope` an optional prefix of the name.
template <Dim D>
constexpr Quantity<D, Plain> let(std::string_view, Quantity<D, Plain> q, std::string_view = {},
                                 std::string_view = {}) {
  return q;
}
template <Dim D>
Quantity<D, Traced> let(std::string_view name, Quantity<D, Traced> q, std::string_view source = {},
                        std::string_view scope = {}) {
  return Quantity<D, Traced>::of(q.si(), name_node(q.operand(), name, source, scope));
}
// Leaves the reason for a branch on the value that the branch chose.
template <Dim D>
constexpr Quantity<D, Plain> choose(std::string_view, Quantity<D, Plain> q, std::string_view = {}) {
  return q;
}
template <Dim D>
Quantity<D, Traced> choose(std::string_view reason, Quantity<D, Traced> q, std::string_view source = {}) {
  return Quantity<D, Traced>::of(q.si(), choice_node(q.operand(), reason, source));
}

// The value, without its derivation.
template <Dim D, class K>
constexpr Quantity<D, Plain> plain(Quantity<D, K> q) {
  return Quantity<D, Plain>::si(q.si());
}

}  // namespace napkin
