#include "model/launch/target.hpp"

#include <algorithm>
#include <charconv>

namespace napkin::launch {
namespace {

double number(const Value& v) { return v.is(Value::Kind::real) ? v.real : static_cast<double>(v.whole); }

// A product of facts and numbers; nothing when a fact has no number.
std::optional<double> product(const std::vector<std::string>& terms, const Facts& facts) {
  double p = 1;
  for (const std::string& term : terms) {
    double n = 0;
    if (std::from_chars(term.data(), term.data() + term.size(), n).ec == std::errc{}) {
      p *= n;
      continue;
    }
    const Value& v = facts.get(term);
    if (!v.is(Value::Kind::whole) && !v.is(Value::Kind::real)) return {};
    p *= number(v);
  }
  return p;
}

bool keeps(const Check& c, const Facts& facts) {
  const auto left = product(c.left, facts), right = product(c.right, facts);
  if (!left || !right) return true;
  switch (c.relation) {
    case Check::Relation::multiple: {
      const auto by = static_cast<std::int64_t>(*right);
      return by > 0 && static_cast<std::int64_t>(*left) % by == 0;
    }
    case Check::Relation::equal: return *left == *right;
    case Check::Relation::at_least: return *left >= *right;
  }
  return false;
}

bool holds(const Condition& c, const Facts& facts) {
  const Value& v = facts.get(c.fact);
  switch (c.test) {
    case Condition::Test::one_of: return std::find(c.values.begin(), c.values.end(), v) != c.values.end();
    case Condition::Test::none_of: return std::find(c.values.begin(), c.values.end(), v) == c.values.end();
    case Condition::Test::above: return (v.is(Value::Kind::whole) || v.is(Value::Kind::real)) && number(v) > c.bound;
    case Condition::Test::said: return v.set() == c.said;
    case Condition::Test::known: return facts.has(c.fact) == c.said;
    case Condition::Test::contains:
      return std::any_of(v.list.begin(), v.list.end(), [&](const Value& e) {
        return std::find(c.values.begin(), c.values.end(), e) != c.values.end();
      });
  }
  return false;
}

}  // namespace

bool holds(const std::vector<Condition>& conditions, const Facts& facts) {
  return std::all_of(conditions.begin(), conditions.end(), [&](const Condition& c) { return holds(c, facts); });
}

bool keeps(const Rule& rule, const Facts& facts) {
  return !holds(rule.when, facts) ||
         std::any_of(rule.any.begin(), rule.any.end(), [&](const Check& c) { return keeps(c, facts); });
}

std::string numbers_of(const Rule& rule, const Facts& facts) {
  std::vector<std::string> said;
  std::string s;
  for (const Check& c : rule.any)
    for (const auto* side : {&c.left, &c.right})
      for (const std::string& term : *side)
        if (fact_info(term) != nullptr && std::find(said.begin(), said.end(), term) == said.end()) {
          said.push_back(term);
          s += (s.empty() ? "" : ", ") + term + ' ' + plain(facts.get(term));
        }
  return s;
}

}  // namespace napkin::launch
