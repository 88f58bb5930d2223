// A constant with its provenance, and the scope that turns constants and parameters into quantities of kind K.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "model/quantity.hpp"

namespace napkin {

// How a constant was obtained. `assumed` = nobody measured it; stated so that it can be argued with.
enum class Evidence : std::uint8_t { datasheet, measured, fitted, assumed };
[[nodiscard]] std::string_view to_string(Evidence e);

// Where a group of constants comes from.
struct Source {
  Evidence kind = Evidence::assumed;
  std::string text;  // a URL, a paper, a measurement; free words
};

// A quantity read from a data file, with the place it stands at ("h100-sxm#/memory/bandwidth") and its source.
template <class Q>
struct Constant {
  Q value{};
  std::string place;
  std::shared_ptr<const Source> source;
};

// "place (kind: text)": what --explain prints behind an input.
template <class Q>
[[nodiscard]] std::string provenance(const Constant<Q>& c) {
  std::string s = c.place;
  if (c.source) {
    s += " (";
    s += to_string(c.source->kind);
    if (!c.source->text.empty()) {
      s += ": ";
      s += c.source->text;
    }
    s += ')';
  }
  return s;
}

template <class K>
class Scope;

// Plain: reading an input is reading a number.
template <>
class Scope<Plain> {
 public:
  template <Dim D>
  constexpr Quantity<D, Plain> input(std::string_view, Quantity<D, Plain> v, std::string_view = {}) const {
    return v;
  }
  constexpr Scalar input(std::string_view, double v, std::string_view = {}) const { return v; }
  template <Dim D>
  constexpr Quantity<D, Plain> read(std::string_view, const Constant<Quantity<D, Plain>>& c) const {
    return c.value;
  }
};

// Traced: every input becomes a node with its name, value and source. Copies share the derivation.
template <>
class Scope<Traced> {
  Derivation* d_;

 public:
  explicit Scope(Derivation& d) : d_(&d) {}
  template <Dim D>
  Quantity<D, Traced> input(std::string_view name, Quantity<D, Plain> v, std::string_view source = {}) const {
    return Quantity<D, Traced>::of(v.si(), d_->add({.op = Op::input,
                                                    .dim = D,
                                                    .value = v.si(),
                                                    .a = {},
                                                    .b = {},
                                                    .name = std::string(name),
                                                    .source = std::string(source)}));
  }
  ScalarT<Traced> input(std::string_view name, double v, std::string_view source = {}) const {
    return input(name, Scalar(v), source);
  }
  template <Dim D>
  Quantity<D, Traced> read(std::string_view name, const Constant<Quantity<D, Plain>>& c) const {
    return input(name, c.value, provenance(c));
  }
};

}  // namespace napkin
