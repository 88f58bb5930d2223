#include "model/frameworks/lack_input.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>

namespace napkin {
namespace {

constexpr std::array<std::string_view, 9> axes{"tp", "cp", "ep", "etp", "pp", "vpp", "sp", "zero", "recompute"};
constexpr std::array<std::string_view, 3> recomputes{"none", "selective", "full"};

std::int64_t value(const Field& f) {
  if (f.is(Field::Type::boolean)) return f.boolean() ? 1 : 0;
  if (!f.is(Field::Type::string)) return f.integer(0, 1 << 30);
  const auto at = std::ranges::find(recomputes, f.string());
  if (at == recomputes.end()) f.fail("is " + f.raw() + "; write none, selective or full, or a number");
  return at - recomputes.begin();
}

Lack::Range range(std::string_view axis, const Field& f) {
  Lack::Range r{.axis = std::string(axis)};
  if (std::ranges::find(axes, axis) == axes.end())
    f.fail("is no axis of a lack; write tp, cp, ep, etp, pp, vpp, sp, zero, recompute, uneven, uneven_ends or folded");
  if (f.is(Field::Type::object)) {
    f.only({"above"});
    r.least = f["above"].integer(0, 1 << 30) + 1;
    r.most = std::numeric_limits<std::int64_t>::max();
  } else if (f.is(Field::Type::array)) {
    const auto ends = f.elements();
    if (ends.size() != 2) f.fail("has " + std::to_string(ends.size()) + " values; write the least and the most");
    r.least = value(ends[0]);
    r.most = value(ends[1]);
  } else {
    r.least = r.most = value(f);
  }
  return r;
}

}  // namespace

std::optional<int> month_of(std::string_view text) {
  const auto digit = [&](std::size_t i) { return std::isdigit(static_cast<unsigned char>(text[i])) != 0; };
  if (text.size() != 7 || text[4] != '-') return {};
  for (const std::size_t i : {0, 1, 2, 3, 5, 6})
    if (!digit(i)) return {};
  const int year = std::stoi(std::string(text.substr(0, 4))), month = std::stoi(std::string(text.substr(5)));
  if (month < 1 || month > 12) return {};
  return 12 * year + month - 1;
}

Lack read_lack(const Field& f) {
  f.only({"name", "before", "model", "layout", "source", "kind"});
  Lack lack{.name = f["name"].string(), .source = f["source"].string(), .uses = {}};
  if (const auto before = f.find("before")) {
    const auto month = month_of(before->string());
    if (!month) before->fail("is " + before->raw() + "; write the month of a release, \"2025-07\"");
    lack.before = *month;
  }
  if (const auto model = f.find("model")) {
    lack.experts = model->string() == "experts";
    lack.recurrent = model->string() == "recurrent";
    if (!lack.experts && !lack.recurrent) model->fail("is " + model->raw() + "; write experts or recurrent");
  }
  for (const auto& [key, field] : f["layout"].members()) {
    if (key == "uneven") lack.uneven = field.boolean();
    else if (key == "uneven_ends") lack.uneven_ends = field.boolean();
    else if (key == "folded") lack.folded = field.boolean();
    else lack.uses.push_back(range(key, field));
  }
  return lack;
}

}  // namespace napkin
