#include "model/text.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <span>
#include <string_view>

namespace napkin {
namespace {

struct Prefix {
  std::string_view name;
  double scale;
};
constexpr std::array decimal{Prefix{"", 1},     Prefix{"k", 1e3},  Prefix{"M", 1e6},  Prefix{"G", 1e9}, Prefix{"T", 1e12},
                             Prefix{"P", 1e15}, Prefix{"E", 1e18}, Prefix{"Z", 1e21}, Prefix{"Y", 1e24}};
constexpr std::array time_units{Prefix{"ns", 1e-9}, Prefix{"us", 1e-6}, Prefix{"ms", 1e-3}, Prefix{"s", 1},
                                Prefix{"min", 60},  Prefix{"h", 3600},  Prefix{"d", 86400}};

// Three significant figures; four where the first one is 1.
std::string significant(double v) {
  if (v == 0) return "0";
  const double a = std::abs(v);
  const int exponent = static_cast<int>(std::floor(std::log10(a)));
  const bool leading_one = a < 2 * std::pow(10.0, exponent);
  const int digits = leading_one ? 4 : 3;
  if (exponent < -4 || exponent > 5) return fmt::format("{:.{}g}", v, digits);
  std::string s = fmt::format("{:.{}f}", v, std::max(0, digits - 1 - exponent));
  if (s.find('.') != s.npos) {
    s.erase(s.find_last_not_of('0') + 1);
    if (s.back() == '.') s.pop_back();
  }
  return s;
}

// The largest prefix that leaves at least 1, after rounding to what is printed.
std::string prefixed(double v, std::span<const Prefix> prefixes, std::string_view unit) {
  const double a = std::abs(v);
  const Prefix* best = &prefixes.front();
  for (const auto& p : prefixes)
    if (a / p.scale >= 0.9995) best = &p;
  return fmt::format("{} {}{}", significant(v / best->scale), best->name, unit);
}

// Minutes, hours and days only from twice their length on: "90 s" and "90 min" read better than "1.5".
std::string time(double v) {
  const double a = std::abs(v);
  const Prefix* best = &time_units.front();
  for (const auto& p : time_units)
    if (a / p.scale >= (p.scale > 1 ? 2 : 0.9995)) best = &p;
  return fmt::format("{} {}", significant(v / best->scale), best->name);
}

void factor(std::string& text, std::string_view unit, int power) {
  if (power == 0) return;
  if (!text.empty()) text += "*";
  text += unit;
  if (power != 1) text += fmt::format("^{}", power);
}

}  // namespace

std::string format(Dim dim, double si) {
  if (dim == Dim{}) {
    if (std::abs(si) >= 1e4 && std::abs(si) < 1e15 && si == std::floor(si)) return format_count(si);
    return si == std::floor(si) && std::abs(si) < 1e4 ? fmt::format("{:.0f}", si) : significant(si);
  }
  if (dim == Dim{.second = 1}) return si == 0 ? "0 s" : time(si);
  if (dim == Dim{.byte = 1}) return prefixed(si, decimal, "B");
  if (dim == Dim{.byte = 1, .second = -1}) return prefixed(si, decimal, "B/s");
  if (dim == Dim{.flop = 1}) return prefixed(si, decimal, "FLOP");
  if (dim == Dim{.second = -1, .flop = 1}) return prefixed(si, decimal, "FLOP/s");
  if (dim == Dim{.second = -1, .joule = 1}) return prefixed(si, decimal, "W");
  if (dim == Dim{.joule = 1}) return prefixed(si, decimal, "J");
  if (dim == Dim{.second = -1}) {
    if (std::abs(si) < 1e4) return significant(si) + " /s";
    return prefixed(si, decimal, "/s");
  }
  if (dim == Dim{.byte = -1, .flop = 1}) return significant(si) + " FLOP/B";
  std::string unit;
  factor(unit, "FLOP", dim.flop);
  factor(unit, "J", dim.joule);
  factor(unit, "B", dim.byte);
  factor(unit, "s", dim.second);
  return significant(si) + ' ' + unit;
}

std::string format_gib(Bytes b) { return significant(double(b / GiB)) + " GiB"; }

std::string format_count(double v) {
  if (v != std::floor(v) || std::abs(v) >= 1e18) return significant(v);
  std::string s = fmt::format("{:.0f}", std::abs(v));
  for (std::size_t i = s.size(); i > 3; i -= 3) s.insert(i - 3, ",");
  return v < 0 ? '-' + s : s;
}

}  // namespace napkin
