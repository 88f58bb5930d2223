// napkin questions: the bank of questions, answered by the engine.
#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "cli/command.hpp"
#include "cli/question_bank.hpp"
#include "model/input/document_input.hpp"
#include "model/input/number_input.hpp"
#include "model/input_error.hpp"

namespace napkin::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string id, topic;
  std::vector<std::string> files;
  bool all = false;
  std::size_t count = 1;
  std::optional<std::uint64_t> seed;
  OutputFormat format = OutputFormat::table;
};

std::vector<Question> bank(const Options& o) {
  if (o.files.empty()) return built_in_questions();
  std::vector<Question> out;
  for (const auto& file : o.files)
    for (auto& q : read_questions(file)) out.push_back(std::move(q));
  return out;
}

std::vector<Question> of_topic(const Options& o) {
  std::vector<Question> out;
  std::map<std::string, int> topics;
  for (auto& q : bank(o)) {
    ++topics[q.topic];
    if (o.topic.empty() || q.topic == o.topic) out.push_back(std::move(q));
  }
  if (out.empty() && !o.topic.empty()) {
    std::string known;
    for (const auto& [topic, n] : topics) known += (known.empty() ? "" : ", ") + topic;
    throw InputError(fmt::format("--topic: \"{}\" has no question; write one of {}", o.topic, known));
  }
  return out;
}

const Question& find(const std::vector<Question>& all, const std::string& id) {
  std::vector<std::string_view> known;
  for (const auto& q : all) {
    if (q.id == id) return q;
    known.push_back(q.id);
  }
  const std::string close = did_you_mean(id, known);
  throw InputError(fmt::format("no question \"{}\"{}; napkin questions list shows them", id, close.empty() ? "" : "; did you mean \"" + close + "\"?"));
}

std::string value_text(const Expected& e) {
  return e.label ? e.text : fmt::format("{:.6g}{}", e.value, e.unit == "1" ? "" : " " + e.unit);
}
std::string got_text(const Checked::Value& v) {
  return v.got ? fmt::format("{:.6g}{}", *v.got, v.expected.unit == "1" ? "" : " " + v.expected.unit) : v.text;
}

void list(const Options& o) {
  const auto questions = of_topic(o);
  if (o.format == OutputFormat::json) {
    Json j{{"schema", 1}, {"questions", Json::array()}};
    for (const auto& q : questions) j["questions"].push_back({{"id", q.id}, {"topic", q.topic}, {"question", q.question}, {"commands", q.commands}});
    return print(j.dump(2) + "\n");
  }
  Table t;
  t.columns = {{"id", false}, {"topic", false}, {"command", false}, {"question", false}};
  for (const auto& q : questions) {
    const auto words = shell_words(q.commands.front());
    t.rows.push_back({q.id, q.topic, words.size() > 1 ? words[1] : "", o.format == OutputFormat::table ? one_line(q.question, 100) : q.question});
  }
  t.notes = {fmt::format("{} questions; napkin questions show ID, run ID, drill", questions.size())};
  print(render(t, o.format));
}

Json question_json(const Question& q) {
  Json j{{"id", q.id}, {"topic", q.topic}, {"question", q.question}};
  for (const auto& [name, value] : q.givens) j["givens"][name] = value;
  j["commands"] = q.commands;
  for (const auto& e : q.expected) {
    Json x{{"unit", e.unit}, {"at", e.at}};
    if (e.label) x["value"] = e.text;
    else x["value"] = e.value;
    j["expected"][e.name] = std::move(x);
  }
  j["tolerance"] = q.tolerance;
  j["source"] = q.source;
  if (!q.note.empty()) j["note"] = q.note;
  return j;
}

void show(const Options& o) {
  const auto all = bank(o);
  const Question& q = find(all, o.id);
  if (o.format == OutputFormat::json) return print(question_json(q).dump(2) + "\n");
  std::string s = fmt::format("{} ({})\n\n{}\n", q.id, q.topic, q.question);
  for (const auto& [name, value] : q.givens) s += fmt::format("  {} = {}\n", name, value);
  s += "\nanswered by\n";
  for (const auto& c : q.commands) s += "  " + c + "\n";
  s += fmt::format("\nexpected, to within {:g} %\n", 100 * q.tolerance);
  for (const auto& e : q.expected) s += fmt::format("  {} = {}\n", e.name, value_text(e));
  s += "\nsource: " + q.source + "\n";
  if (!q.note.empty()) s += "note: " + q.note + "\n";
  print(s);
}

// The tally that `run --all` and `check` print; exit 1 when an answer is missing or off.
void report(const std::vector<Question>& questions, const Options& o, Session& session) {
  std::size_t answered = 0, within = 0;
  Json refused = Json::array(), wrong = Json::array(), rows = Json::array();
  Table t;
  t.columns = {{"id", false}, {"value", false}, {"expected"}, {"got"}, {"", false}};
  for (const auto& q : questions) {
    const Checked c = check(q);
    if (!c.refused.empty()) {
      refused.push_back({{"id", q.id}, {"reason", c.refused}});
      t.rows.push_back({q.id, "", "", "", "refused: " + c.refused});
      continue;
    }
    ++answered;
    within += c.within();
    for (const auto& v : c.values) {
      if (!v.within) {
        Json w{{"id", q.id}, {"name", v.expected.name}, {"expected", value_text(v.expected)}, {"got", got_text(v)}};
        if (!v.expected.label) w["expected"] = v.expected.value;
        if (v.got) w["got"] = *v.got;
        wrong.push_back(std::move(w));
      }
      if (!v.within || questions.size() == 1) t.rows.push_back({q.id, v.expected.name, value_text(v.expected), got_text(v), v.within ? "within" : "off"});
    }
  }
  if (answered != questions.size() || within != questions.size()) session.exit_code = 1;
  if (o.format == OutputFormat::json)
    return print(Json{{"schema", 1}, {"questions", questions.size()}, {"answered", answered}, {"within", within}, {"refused", refused}, {"wrong", wrong}}.dump(2) + "\n");
  t.notes = {fmt::format("{} questions: {} answered, {} within tolerance", questions.size(), answered, within)};
  print(render(t, o.format));
}

void run(const Options& o, Session& session) {
  if (o.all) return report(of_topic(o), o, session);
  if (o.id.empty()) throw InputError("which question? write an ID (napkin questions list shows them), or --all");
  const auto all = bank(o);
  const Question& q = find(all, o.id);
  if (o.format == OutputFormat::table) {
    print(q.question + "\n");
    for (const auto& c : q.commands) {
      const Outcome done = run_command(c + " --format table");
      print("\n$ " + c + "\n" + (done.exit_code == 2 ? "napkin: " + done.complaint + "\n" : done.out));
    }
    print("\n");
  }
  report({q}, o, session);
}

void drill(const Options& o) {
  auto questions = of_topic(o);
  std::erase_if(questions, [](const Question& q) {
    return std::none_of(q.expected.begin(), q.expected.end(), [](const Expected& e) { return !e.label; });
  });
  if (questions.empty()) throw InputError("no question with a number to guess");
  std::minstd_rand random(static_cast<std::uint_fast32_t>(o.seed ? *o.seed + 1 : std::random_device{}()));
  double best = 0;
  std::size_t asked = 0, close = 0;
  for (; asked < o.count; ++asked) {
    const Question& q = questions[random() % questions.size()];
    std::vector<Expected> numbers;
    for (const auto& e : q.expected)
      if (!e.label) numbers.push_back(e);
    const Expected& e = numbers[random() % numbers.size()];
    print(fmt::format("\n{} ({})\n{}\n", q.id, q.topic, q.question));
    for (const auto& [name, value] : q.givens) print(fmt::format("  {} = {}\n", name, value));
    print(fmt::format("{}{}? ", e.name, e.unit == "1" ? "" : ", in " + e.unit));
    flush_output();
    std::string line;
    if (!std::getline(std::cin, line)) break;
    try {
      const double guess = parse_count(line);
      const double off = guess / e.value - 1;
      best = std::abs(off);
      close += best <= 0.1;
      print(fmt::format("{:.6g} {}: you are {:+.1f} % off{}\n", e.value, e.unit == "1" ? "" : e.unit, 100 * off,
                        best <= q.tolerance ? ", within tolerance" : best <= 0.1 ? ", good for a napkin" : best > 1 ? fmt::format(" (a factor of {:.3g})", guess > e.value ? guess / e.value : e.value / guess) : ""));
    } catch (const std::invalid_argument& wrong) {
      print(fmt::format("{}; the answer is {:.6g} {}\n", wrong.what(), e.value, e.unit));
    }
    for (const auto& c : q.commands) {
      const Outcome done = run_command(c + " --format table");
      print("\n$ " + c + "\n" + done.out);
    }
  }
  print(fmt::format("\n{} asked, {} within 10 %\n", asked, close));
}

}  // namespace

void add_questions(CLI::App& app, Session& session) {
  CLI::App* c = app.add_subcommand("questions", "A bank of questions with the commands that answer them: list, show, run, check, drill");
  c->require_subcommand(1);
  const auto o = std::make_shared<Options>();
  CLI::App* l = c->add_subcommand("list", "Every question, and the command that answers it");
  l->add_option("--topic", o->topic, "Of one topic");
  add_format(*l, o->format);
  l->callback([o] { list(*o); });
  CLI::App* s = c->add_subcommand("show", "One question: givens, command, expected answer, source");
  s->add_option("id", o->id, "Its ID")->required();
  add_format(*s, o->format);
  s->callback([o] { show(*o); });
  CLI::App* r = c->add_subcommand("run", "Answer one question, or --all, and compare");
  r->add_option("id", o->id, "Its ID");
  r->add_flag("--all", o->all, "All of them");
  r->add_option("--topic", o->topic, "With --all: of one topic");
  add_format(*r, o->format);
  r->callback([o, &session] { run(*o, session); });
  CLI::App* k = c->add_subcommand("check", "Answer the questions of bank files, and report what is off");
  k->add_option("files", o->files, "Bank files (default: the built-in bank)")->type_name("FILE.json");
  add_format(*k, o->format);
  k->callback([o, &session] { report(bank(*o), *o, session); });
  CLI::App* d = c->add_subcommand("drill", "Be asked at random, and told how far off you are, with the working");
  d->add_option("--topic", o->topic, "Of one topic");
  d->add_option("--count", o->count, "How many (1)")->check(CLI::Range(std::size_t{1}, std::size_t{1000}));
  d->add_option("--seed", o->seed, "For the same questions again");
  d->callback([o] { drill(*o); });
  c->footer("Examples:\n  napkin questions list --topic serving\n  napkin questions run --all\n  echo 10 | napkin questions drill --seed 1");
}

}  // namespace napkin::cli
