#include "model/launch/emit.hpp"

#include <algorithm>
#include <set>

namespace napkin::launch {
namespace {

class Emitter {
 public:
  Emitter(const Facts& facts, const Target& target) : facts_(facts), target_(target) {}

  Emission run() {
    for (const Limit& l : target_.limits) {
      if (!holds(l.when, facts_)) continue;
      cover(l.covers);
      (l.refuse ? out_.refusals : out_.notes).push_back(filled(l.say, facts_));
    }
    for (const Setting& s : target_.settings)
      if (holds(s.when, facts_)) write(s);
    for (const FactInfo& info : fact_infos()) complain_unless_covered(info);
    for (const Rule& r : target_.rules) {
      if (!holds(r.when, facts_)) continue;
      out_.rules.push_back({.rule = &r, .kept = keeps(r, facts_), .numbers = numbers_of(r, facts_)});
      if (!out_.rules.back().kept)
        out_.refusals.push_back("rule \"" + r.name + "\" is broken: " + out_.rules.back().numbers + " [" + r.source + "]");
    }
    return std::move(out_);
  }

 private:
  void cover(const std::vector<std::string>& names) { covered_.insert(names.begin(), names.end()); }

  void add(const Setting& s, std::string key, Value value) {
    // Settings that several facts share ("bf16" of every recipe) are written once.
    for (const Written& w : out_.settings)
      if (w.file == s.file && w.key == key && w.value == value) return;
    out_.settings.push_back({.key = std::move(key), .section = s.section, .fact = s.fact, .value = std::move(value), .file = s.file});
  }

  [[nodiscard]] Value filled_value(Value v) const {
    if (v.is(Value::Kind::text) || v.is(Value::Kind::code)) v.text = filled(v.text, facts_);
    for (Value& e : v.list) e = filled_value(e);
    return v;
  }

  // The spelling of a value; nothing when the words do not have it.
  static std::optional<Value> spelt(const Setting& s, const Value& v) {
    if (s.words.empty()) return v;
    for (const auto& [from, to] : s.words)
      if (from == v) return to;
    if (!v.is(Value::Kind::list)) return v;
    std::vector<Value> list;
    for (const Value& e : v.list) {
      auto one = spelt(s, e);
      if (!one) return {};
      if (!one->is(Value::Kind::none)) list.push_back(std::move(*one));
    }
    return list;
  }

  void write(const Setting& s) {
    if (s.fact.empty()) {
      cover(s.covers);
      add(s, s.key, filled_value(s.constant));
      return;
    }
    if (s.key.empty() && s.cases.empty()) return;
    const Value& v = facts_.get(s.fact);
    if (s.cases.empty()) {
      if (v.is(Value::Kind::none)) return;
      covered_.insert(s.fact);
      cover(s.covers);
      if (auto spelling = spelt(s, v); spelling && !spelling->is(Value::Kind::none)) {
        if (s.code && spelling->is(Value::Kind::text)) spelling->kind = Value::Kind::code;
        add(s, s.key, std::move(*spelling));
      }
      return;
    }
    const Case* chosen = nullptr;
    for (const Case& c : s.cases) {
      if (!c.writes) continue;
      if (std::find(c.is.begin(), c.is.end(), v) != c.is.end()) {
        chosen = &c;
        break;
      }
      if (c.otherwise) chosen = &c;
    }
    if (chosen == nullptr) return;  // left to complain_unless_covered
    covered_.insert(s.fact);
    cover(s.covers);
    for (const Entry& e : chosen->set) add(s, e.key, filled_value(e.value));
    if (!chosen->note.empty()) out_.notes.push_back(filled(chosen->note, facts_));
  }

  void complain_unless_covered(const FactInfo& info) {
    if (info.role == Role::tuning || info.role == Role::derived || covered_.contains(info.name)) return;
    if (info.role == Role::shape && covered_.contains("shape")) return;
    if (!facts_.has(info.name) || facts_.get(info.name) == info.neutral) return;
    out_.refusals.push_back("has no setting for " + std::string(info.what) + " (" + std::string(info.name) + " = " +
                            plain(facts_.get(info.name)) + ")");
  }

  const Facts& facts_;
  const Target& target_;
  std::set<std::string, std::less<>> covered_;
  Emission out_;
};

}  // namespace

Emission emit(const Facts& facts, const Target& target) { return Emitter(facts, target).run(); }

}  // namespace napkin::launch
