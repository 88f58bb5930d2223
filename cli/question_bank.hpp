// Questions with the commands that answer them: reading a bank, running a question through the engine, comparing.
// Format: docs/questions.md.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace napkin::cli {

struct Expected {
  std::string name, unit, at;  // `at`: where it stands in the commands' answers
  std::string plus, over;      // another number added, then one divided by; empty = none
  double times = 1;
  double value = 0;            // in `unit`
  std::string text;            // of a label
  bool label = false;
};

struct Question {
  std::string id, topic, question, source, note;
  std::vector<std::pair<std::string, std::string>> givens;
  std::vector<std::string> commands;
  std::vector<Expected> expected;
  double tolerance = 0.005;  // relative
  std::string place;         // file:line, for complaints
};

// The bank that is compiled in, or files; InputError names file, line and field.
[[nodiscard]] std::vector<Question> built_in_questions();
[[nodiscard]] std::vector<Question> read_questions(const std::string& path);

// What a command line printed with --format json, or why it refused. Never throws for bad input.
struct Outcome {
  int exit_code = 0;
  std::string out, complaint;
};
[[nodiscard]] Outcome run_command(const std::string& line);
[[nodiscard]] std::vector<std::string> shell_words(const std::string& line);

struct Checked {
  struct Value {
    Expected expected;
    std::optional<double> got;  // in the expected unit
    std::string text;           // of a label, or why there is no value
    bool within = false;
  };
  std::vector<Value> values;
  std::string refused;  // why the commands gave no answer; empty = they did
  [[nodiscard]] bool within() const;
};
[[nodiscard]] Checked check(const Question& q);

// The SI value of one unit; nothing when the unit is not known.
[[nodiscard]] std::optional<double> unit_scale(const std::string& unit);

}  // namespace napkin::cli
