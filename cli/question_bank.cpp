#include "cli/question_bank.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "cli/commands.hpp"
#include "model/input/document_input.hpp"
#include "model/input/embedded.hpp"
#include "model/input_error.hpp"

namespace napkin::cli {
namespace {

using nlohmann::json;

constexpr std::array<std::pair<std::string_view, double>, 38> scales{{
    {"1", 1},        {"%", 0.01},     {"x", 1},         {"B", 1},        {"kB", 1e3},      {"MB", 1e6},     {"GB", 1e9},
    {"TB", 1e12},    {"PB", 1e15},    {"KiB", 0x1p10},  {"MiB", 0x1p20}, {"GiB", 0x1p30},  {"TiB", 0x1p40}, {"s", 1},
    {"ms", 1e-3},    {"us", 1e-6},    {"ns", 1e-9},     {"ps", 1e-12},   {"min", 60},      {"h", 3600},     {"day", 86400},
    {"days", 86400}, {"year", 31536000}, {"FLOP", 1},   {"MFLOP", 1e6},  {"GFLOP", 1e9},   {"TFLOP", 1e12}, {"PFLOP", 1e15},
    {"EFLOP", 1e18}, {"Hz", 1},       {"MHz", 1e6},     {"GHz", 1e9},    {"FLOP/B", 1},    {"1/day", 1},    {"core-years", 1},
    {"GPU-h", 1},    {"USD", 1},      {"k", 1e3},
}};
// What may be counted: one is one.
constexpr std::array<std::string_view, 30> things{"tokens", "params",  "chips",  "GPUs",   "nodes",  "hosts",    "cores",  "switches",
                                                  "sequences", "seq",  "QPS",    "bits",   "elements", "layers", "rounds", "stages",
                                                  "microbatches", "warps", "hops", "steps", "experts", "chip",   "GPU",    "token",
                                                  "step",   "param",   "element", "cycle", "requests", "cables"};

std::optional<double> one_unit(std::string_view unit) {
  for (const auto& [name, scale] : scales)
    if (name == unit) return scale;
  for (const auto thing : things)
    if (thing == unit) return 1;
  return std::nullopt;
}

// A member that is text, or a number.
std::string words_of(const Field& f) { return f.is(Field::Type::string) ? f.string() : f.raw(); }

Expected read_expected(const std::string& name, const Field& f) {
  Expected e;
  e.name = name;
  e.at = "/" + name;
  e.unit = "1";
  if (f.is(Field::Type::number)) {
    e.value = f.number();
    return e;
  }
  if (f.is(Field::Type::string)) {
    e.label = true;
    e.text = f.string();
    return e;
  }
  f.only({"value", "unit", "at", "plus", "over", "times"});
  if (const auto u = f.find("unit")) e.unit = u->string();
  if (const auto at = f.find("at")) e.at = at->string();
  if (const auto plus = f.find("plus")) e.plus = plus->string();
  if (const auto over = f.find("over")) e.over = over->string();
  if (const auto times = f.find("times")) e.times = times->number();
  for (std::string* pointer : {&e.at, &e.plus, &e.over})
    if (!pointer->empty() && !pointer->starts_with("/")) *pointer = "/" + *pointer;
  const Field v = f["value"];
  if (v.is(Field::Type::string)) {
    e.label = true;
    e.text = v.string();
  } else {
    e.value = v.number();
    if (!unit_scale(e.unit)) f["unit"].fail("\"" + e.unit + "\" is not a unit that is known here");
  }
  return e;
}

Question read_question(const Field& f, const std::string& topic) {
  f.only({"id", "topic", "question", "givens", "command", "expected", "tolerance", "source", "note"});
  Question q;
  q.place = fmt::format("{}:{}", f.file(), f.line());
  q.id = f["id"].string();
  q.topic = f.find("topic") ? f["topic"].string() : topic;
  q.question = f["question"].string();
  if (const auto s = f.find("source")) q.source = s->string();
  if (const auto n = f.find("note")) q.note = n->string();
  if (const auto g = f.find("givens"))
    for (const auto& [name, value] : g->members()) q.givens.emplace_back(name, words_of(value));
  const Field command = f["command"];
  if (command.is(Field::Type::array)) {
    for (const Field& c : command.elements()) q.commands.push_back(c.string());
  } else {
    q.commands.push_back(command.string());
  }
  if (q.commands.empty()) command.fail("names no command");
  for (const auto& [name, value] : f["expected"].members()) q.expected.push_back(read_expected(name, value));
  if (const auto t = f.find("tolerance")) {
    const Field rel = t->is(Field::Type::object) ? (*t)["rel"] : *t;
    q.tolerance = rel.number();
    if (!(q.tolerance >= 0)) rel.fail("must not be negative");
  }
  return q;
}

std::vector<Question> read_bank(const Document& file) {
  const Field root = file.root();
  std::vector<Question> out;
  const auto add = [&](const std::vector<Field>& list, const std::string& topic) {
    for (const Field& f : list) out.push_back(read_question(f, topic));
  };
  if (root.is(Field::Type::array)) {
    add(root.elements(), "");
  } else {
    root.only({"schema", "topic", "questions"});
    add(root["questions"].elements(), root.find("topic") ? root["topic"].string() : "");
  }
  return out;
}

// What `at` points to: a JSON pointer, whose step KEY=VALUE is the first element of a list with that member.
const json* look_up(const json& answer, const std::string& at) {
  const json* here = &answer;
  std::size_t from = 1;
  while (from <= at.size() && from > 0) {
    const auto to = std::min(at.find('/', from), at.size());
    const std::string step = at.substr(from, to - from);
    from = to + 1;
    if (here->is_object()) {
      const auto found = here->find(step);
      if (found == here->end()) return nullptr;
      here = &*found;
    } else if (here->is_array()) {
      const json* chosen = nullptr;
      if (const auto equals = step.find('='); equals != std::string::npos) {
        for (const json& element : *here)
          if (chosen == nullptr && element.is_object() && element.contains(step.substr(0, equals)) &&
              element.at(step.substr(0, equals)) == step.substr(equals + 1))
            chosen = &element;
      } else if (!step.empty() && step.size() < 9 && step.find_first_not_of("0123456789") == std::string::npos &&
                 std::stoul(step) < here->size()) {
        chosen = &here->at(std::stoul(step));
      }
      if (chosen == nullptr) return nullptr;
      here = chosen;
    } else {
      return nullptr;
    }
  }
  return here;
}

}  // namespace

std::optional<double> unit_scale(const std::string& unit) {
  if (const auto s = one_unit(unit)) return s;
  // "kB/token", "tokens/s/chip": each part a unit.
  double scale = 1;
  std::size_t from = 0;
  bool first = true;
  while (from <= unit.size()) {
    const auto to = std::min(unit.find('/', from), unit.size());
    const auto part = one_unit(unit.substr(from, to - from));
    if (!part) return std::nullopt;
    scale = first ? *part : scale / *part;
    first = false;
    from = to + 1;
  }
  return scale;
}

std::vector<Question> built_in_questions() {
  std::vector<Question> out;
  for (const auto& file : embedded::question_bank())
    for (auto& q : read_bank(Document::parse(file.text, "examples/questions/" + std::string(file.name) + ".json"))) out.push_back(std::move(q));
  return out;
}
std::vector<Question> read_questions(const std::string& path) { return read_bank(Document::read(path)); }

std::vector<std::string> shell_words(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  char quote = 0;
  bool open = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
      else word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      open = true;
    } else if (c == '\\' && i + 1 < line.size()) {
      word += line[++i];
      open = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (open) words.push_back(std::exchange(word, {}));
      open = false;
    } else {
      word += c;
      open = true;
    }
  }
  if (quote != 0) throw InputError("\"" + one_line(line, 80) + "\" leaves a quote open");
  if (open) words.push_back(word);
  return words;
}

Outcome run_command(const std::string& line) {
  Outcome o;
  Capture capture;
  try {
    std::vector<std::string> words = shell_words(line);
    if (!words.empty() && words.front() == "napkin") words.erase(words.begin());
    if (words.empty() || words.front() == "questions") throw InputError("\"" + one_line(line, 80) + "\" is not a command that answers a question");
    bool formatted = false;
    for (const auto& w : words) formatted = formatted || w.starts_with("--format");
    if (!formatted) words.insert(words.end(), {"--format", "json"});
    CLI::App app("napkin");
    Session session;
    app.require_subcommand(1);
    add_commands(app, session);
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    o.exit_code = session.exit_code;
  } catch (const CLI::ParseError& e) {
    o.exit_code = 2;
    o.complaint = e.what();
  } catch (const std::exception& e) {
    o.exit_code = 2;
    o.complaint = one_line(e.what(), 500);
  }
  o.out = std::move(capture.out);
  return o;
}

bool Checked::within() const {
  if (!refused.empty()) return false;
  for (const Value& v : values)
    if (!v.within) return false;
  return true;
}

namespace {

// The number at a pointer; `complaint` says why there is none.
std::optional<double> number_at(const json& root, const std::string& at, std::string& complaint) {
  const json* found = look_up(root, at);
  if (found == nullptr) complaint = "the answer has no " + at;
  else if (!found->is_number()) complaint = at + " is " + one_line(found->dump(), 60) + ", not a number";
  else return found->get<double>();
  return std::nullopt;
}

Checked::Value compare(const json& root, const Expected& e, double tolerance) {
  Checked::Value v{e, std::nullopt, {}, false};
  if (e.label) {
    const json* found = look_up(root, e.at);
    v.text = found == nullptr ? "the answer has no " + e.at : found->is_string() ? found->get<std::string>() : one_line(found->dump(), 60);
    v.within = found != nullptr && v.text == e.text;
    return v;
  }
  auto got = number_at(root, e.at, v.text);
  if (got && !e.plus.empty()) {
    const auto more = number_at(root, e.plus, v.text);
    got = more ? std::optional(*got + *more) : std::nullopt;
  }
  if (got && !e.over.empty()) {
    const auto under = number_at(root, e.over, v.text);
    got = under ? std::optional(*got / *under) : std::nullopt;
  }
  if (!got) return v;
  v.got = *got * e.times / *unit_scale(e.unit);
  v.within = std::abs(*v.got - e.value) <= (tolerance + 1e-12) * std::abs(e.value);
  return v;
}

}  // namespace

Checked check(const Question& q) {
  Checked c;
  json answers = json::array();
  for (const auto& command : q.commands) {
    const Outcome o = run_command(command);
    if (o.exit_code == 2) {
      c.refused = command + ": " + o.complaint;
      return c;
    }
    answers.push_back(json::parse(o.out, nullptr, false));
    if (answers.back().is_discarded()) {
      c.refused = command + ": the answer is not JSON";
      return c;
    }
  }
  const json& root = q.commands.size() == 1 ? answers.front() : answers;
  for (const Expected& e : q.expected) c.values.push_back(compare(root, e, q.tolerance));
  return c;
}

}  // namespace napkin::cli
