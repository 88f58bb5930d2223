// How a training program is told a run: its settings' names and spellings, what it demands of a layout and what it has no
// words for. Data (model/frameworks/launch/*.json) over the facts of facts.hpp; read by target_input.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/launch/facts.hpp"

namespace napkin::launch {

// A fact has one of these values, or none of them; is above a bound; is set at all; is known (true or false, 0 or not); or is a list that holds one of them.
struct Condition {
  enum class Test : std::uint8_t { one_of, none_of, above, said, contains, known };
  std::string fact;
  Test test = Test::one_of;
  std::vector<Value> values;
  double bound = 0;
  bool said = true;
};
[[nodiscard]] bool holds(const std::vector<Condition>& conditions, const Facts& facts);

struct Entry {
  std::string key;
  Value value;
};

// A fact's value and the entries that say so. `read`, where the same is also written otherwise; a value "*" there is any.
struct Case {
  std::vector<Value> is;
  bool otherwise = false;  // every value that no case names
  bool writes = true, reads = true;
  std::vector<Entry> set, read;
  std::string note;
};

// What stands in place of an absent key when a configuration is read.
struct Absent {
  enum class Rule : std::uint8_t { none, value, fact, hidden_per_head, ffn_of_hidden };
  Rule rule = Rule::none;
  Value value;
  std::string fact;
};

struct Setting {
  std::string key;            // empty: by cases, or nothing is written and `absent` always read
  std::string fact;           // empty: `constant`
  Value constant;
  std::vector<std::pair<Value, Value>> words;  // fact's value → spelling, for a key or the elements of its list
  std::vector<Case> cases;
  Absent absent;
  std::vector<Condition> when;
  std::vector<std::string> covers;  // further facts that it says; "shape" = all of the model
  std::string section;
  std::size_t file = 0;
  bool rest = false;          // reads all words behind the key (arguments)
  bool code = false;          // text is written as an expression of the target's language
};

// Products of facts (or numbers) against each other.
struct Check {
  enum class Relation : std::uint8_t { multiple, equal, at_least };
  std::vector<std::string> left, right;
  Relation relation = Relation::multiple;
};
struct Rule {
  std::string name, source;
  std::vector<Check> any;     // one of them must hold
  std::vector<Condition> when;
};
[[nodiscard]] bool keeps(const Rule& rule, const Facts& facts);
// "heads 64, tp 48"
[[nodiscard]] std::string numbers_of(const Rule& rule, const Facts& facts);

// What the program has no words for, or says in a way of its own.
struct Limit {
  std::vector<Condition> when;
  std::vector<std::string> covers;
  std::string say;
  bool refuse = false;
};

enum class Format : std::uint8_t { arguments, yaml, toml, json, python, text };

struct Line {
  std::string text;           // {fact} is replaced
  std::vector<Condition> when;
};
struct File {
  std::string name;
  Format format = Format::text;
  std::string prefix;         // python: of every assignment ("config.")
  std::vector<Line> before, after;
};

struct Target {
  std::string name, title, profile, source;
  std::vector<std::string> aliases;
  std::vector<std::string> ignored;  // keys without effect on what is predicted
  std::vector<File> files;
  std::vector<Setting> settings;
  std::vector<Rule> rules;
  std::vector<Limit> limits;
};

}  // namespace napkin::launch
