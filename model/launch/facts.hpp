// What a run says, as named facts: the vocabulary in which frameworks' launch settings are written down as data.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/launch/value.hpp"
#include "model/run/run.hpp"

namespace napkin::launch {

// Shape, job and layout facts must reach the configuration; tuning may; derived ones follow from the others.
enum class Role : std::uint8_t { shape, job, layout, tuning, derived };

struct FactInfo {
  std::string_view name;
  Role role;
  Value neutral;          // what a configuration means that does not mention it; none: it must always be said
  std::string_view what;  // in words, for messages
};
[[nodiscard]] std::span<const FactInfo> fact_infos();
[[nodiscard]] const FactInfo* fact_info(std::string_view name);

class Facts {
  std::map<std::string, Value, std::less<>> values_;

 public:
  void set(std::string_view name, Value v) { values_.insert_or_assign(std::string(name), std::move(v)); }
  void erase(std::string_view name);
  [[nodiscard]] bool has(std::string_view name) const { return values_.contains(name); }
  // The fact, else its neutral value.
  [[nodiscard]] const Value& get(std::string_view name) const;
  [[nodiscard]] std::int64_t whole(std::string_view name) const { return get(name).whole; }
  [[nodiscard]] bool flag(std::string_view name) const { return get(name).set(); }
  [[nodiscard]] const std::string& word(std::string_view name) const { return get(name).text; }
  [[nodiscard]] const auto& all() const { return values_; }
};

// Facts that do not apply to the run (experts of a dense model) are absent.
[[nodiscard]] Facts facts_of(const Run& run);
// Those of the model alone. A stack that no regular pattern describes has `stack` = "irregular".
void add_model_facts(const Architecture& a, Facts& f);

// "name" with every {fact} replaced by its value.
[[nodiscard]] std::string filled(std::string_view text, const Facts& facts);

}  // namespace napkin::launch
