#include "model/launch/target_input.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>

#include "model/input/constant_input.hpp"
#include "model/input/document_input.hpp"
#include "model/input/embedded.hpp"

namespace napkin::launch {
namespace {

constexpr std::array<std::string_view, 6> format_names{"arguments", "yaml", "toml", "json", "python", "text"};
constexpr std::int64_t any_whole = std::int64_t{1} << 53;

Value value_of(const Field& f) {
  switch (f.type()) {
    case Field::Type::null: return {};
    case Field::Type::boolean: return f.boolean();
    case Field::Type::string: return f.string();
    case Field::Type::number: {
      const double v = f.number();
      const bool whole = v == static_cast<double>(static_cast<std::int64_t>(v)) && f.raw().find_first_of(".eE") == std::string::npos;
      if (whole) return f.integer(-any_whole, any_whole);
      return v;
    }
    case Field::Type::array: {
      std::vector<Value> list;
      for (const Field& e : f.elements()) list.push_back(value_of(e));
      return list;
    }
    case Field::Type::object:
      f.only({"code"});
      return Value::code(f["code"].string());
  }
  return {};
}

std::string fact_name(const Field& f) {
  const std::string name = f.string();
  if (fact_info(name) == nullptr) f.fail("\"" + name + "\" is not a fact of a run");
  return name;
}

std::vector<std::string> names(const Field& f, bool groups) {
  std::vector<std::string> all;
  for (const Field& e : f.elements()) all.push_back(groups && e.string() == "shape" ? e.string() : fact_name(e));
  return all;
}

std::vector<Condition> conditions(const Field& object) {
  std::vector<Condition> all;
  const auto when = object.find("when");
  if (!when) return all;
  for (const auto& [name, f] : when->members()) {
    if (fact_info(name) == nullptr) f.fail("\"" + name + "\" is not a fact of a run");
    Condition c{.fact = name, .test = Condition::Test::one_of, .values = {}, .bound = 0, .said = true};
    if (f.is(Field::Type::object)) {
      f.only({"above", "not", "said", "contains", "known"});
      if (const auto above = f.find("above")) {
        c.test = Condition::Test::above;
        c.bound = above->number();
      } else if (const auto no = f.find("not")) {
        c.test = Condition::Test::none_of;
        for (const Field& e : no->elements()) c.values.push_back(value_of(e));
      } else if (const auto part = f.find("contains")) {
        c.test = Condition::Test::contains;
        for (const Field& e : part->elements()) c.values.push_back(value_of(e));
      } else {
        c.test = f.has("known") ? Condition::Test::known : Condition::Test::said;
        c.said = f[f.has("known") ? "known" : "said"].boolean();
      }
    } else if (f.is(Field::Type::array)) {
      for (const Field& e : f.elements()) c.values.push_back(value_of(e));
    } else {
      c.values.push_back(value_of(f));
    }
    all.push_back(std::move(c));
  }
  return all;
}

std::vector<Entry> entries(const Field& f) {
  std::vector<Entry> all;
  for (const auto& [key, v] : f.members()) all.push_back({.key = key, .value = value_of(v)});
  return all;
}

Case read_case(const Field& f) {
  f.only({"is", "else", "set", "read", "note"});
  Case c;
  if (const auto is = f.find("is")) {
    if (is->is(Field::Type::array)) for (const Field& e : is->elements()) c.is.push_back(value_of(e));
    else c.is.push_back(value_of(*is));
  }
  if (const auto other = f.find("else")) c.otherwise = other->boolean();
  if (c.is.empty() && !c.otherwise) f.fail("has neither \"is\" nor \"else\"");
  c.writes = f.has("set");
  if (c.writes) c.set = entries(f["set"]);
  if (const auto read = f.find("read")) c.read = entries(*read);
  else if (f.has("read")) c.reads = false;  // null
  else c.read = c.set;
  if (const auto note = f.find("note")) c.note = note->string();
  return c;
}

Absent read_absent(const Field& f) {
  if (!f.is(Field::Type::object)) return {.rule = Absent::Rule::value, .value = value_of(f), .fact = {}};
  f.only({"fact", "rule"});
  if (const auto fact = f.find("fact")) return {.rule = Absent::Rule::fact, .value = {}, .fact = fact_name(*fact)};
  constexpr std::array<std::string_view, 2> rules{"hidden-per-head", "ffn-of-hidden"};
  return {.rule = one_of(f["rule"], rules) == 0 ? Absent::Rule::hidden_per_head : Absent::Rule::ffn_of_hidden, .value = {}, .fact = {}};
}

Setting read_setting(const Field& f, const std::string& section, std::size_t file) {
  f.only({"key", "fact", "value", "words", "cases", "absent", "when", "covers", "rest", "code"});
  Setting s;
  s.section = section;
  s.file = file;
  if (const auto key = f.find("key")) s.key = key->string();
  if (const auto fact = f.find("fact")) s.fact = fact_name(*fact);
  if (s.fact.empty()) {
    if (!f.has("value")) f.fail("has neither \"fact\" nor \"value\"");
    if (const auto value = f.find("value")) s.constant = value_of(*value);
  }
  if (const auto words = f.find("words"))
    for (const Field& pair : words->elements()) {
      const auto both = pair.elements();
      if (both.size() != 2) pair.fail("is not a pair of a fact's value and its spelling");
      s.words.emplace_back(value_of(both[0]), value_of(both[1]));
    }
  if (const auto cases = f.find("cases"))
    for (const Field& c : cases->elements()) s.cases.push_back(read_case(c));
  if (const auto absent = f.find("absent")) s.absent = read_absent(*absent);
  const bool implied = s.key.empty() && s.cases.empty() && s.absent.rule != Absent::Rule::none;
  if (!implied && s.key.empty() == s.cases.empty()) f.fail("needs either \"key\" or \"cases\"");
  s.when = conditions(f);
  if (const auto covers = f.find("covers")) s.covers = names(*covers, true);
  if (const auto rest = f.find("rest")) s.rest = rest->boolean();
  if (const auto code = f.find("code")) s.code = code->boolean();
  return s;
}

std::vector<std::string> terms(const Field& f) {
  std::vector<std::string> all;
  for (const Field& e : f.elements()) {
    const std::string term = e.string();
    const bool number = !term.empty() && term.find_first_not_of("0123456789") == std::string::npos;
    all.push_back(number ? term : fact_name(e));
  }
  return all;
}

Check read_check(const Field& f) {
  Check c;
  c.left = terms(f["product"]);
  const auto side = [&](std::string_view key, Check::Relation r) {
    const auto v = f.find(key);
    if (!v) return;
    c.relation = r;
    c.right = terms(*v);
  };
  side("multiple_of", Check::Relation::multiple);
  side("equals", Check::Relation::equal);
  side("at_least", Check::Relation::at_least);
  if (c.right.empty()) f.fail("has none of \"multiple_of\", \"equals\" and \"at_least\"");
  return c;
}

Rule read_rule(const Field& f) {
  f.only({"name", "source", "product", "multiple_of", "equals", "at_least", "any", "when"});
  Rule r{.name = f["name"].string(), .source = f["source"].string(), .any = {}, .when = conditions(f)};
  if (const auto any = f.find("any")) for (const Field& c : any->elements()) r.any.push_back(read_check(c));
  else r.any.push_back(read_check(f));
  return r;
}

Limit read_limit(const Field& f) {
  f.only({"when", "covers", "say", "refuse"});
  Limit l{.when = conditions(f), .covers = {}, .say = f["say"].string(), .refuse = false};
  if (const auto covers = f.find("covers")) l.covers = names(*covers, true);
  if (const auto refuse = f.find("refuse")) l.refuse = refuse->boolean();
  return l;
}

std::vector<Line> lines(const Field& file, std::string_view key) {
  std::vector<Line> all;
  const auto f = file.find(key);
  if (!f) return all;
  for (const Field& e : f->elements()) {
    if (e.is(Field::Type::string)) {
      all.push_back({.text = e.string(), .when = {}});
      continue;
    }
    e.only({"line", "when"});
    all.push_back({.text = e["line"].string(), .when = conditions(e)});
  }
  return all;
}

Target read(const Document& d) {
  const Field root = d.root();
  root.only({"schema", "name", "title", "profile", "aliases", "source", "ignored", "files", "rules", "limits"});
  if (root["schema"].integer(0, 1 << 30) != 1) root["schema"].fail("is not 1, the version this napkin reads");
  Target t{.name = root["name"].string(), .title = root["title"].string(), .profile = root["profile"].string(),
           .source = root["source"].string(), .aliases = {}, .ignored = {}, .files = {}, .settings = {}, .rules = {}, .limits = {}};
  if (const auto aliases = root.find("aliases")) for (const Field& a : aliases->elements()) t.aliases.push_back(a.string());
  if (const auto ignored = root.find("ignored")) for (const Field& k : ignored->elements()) t.ignored.push_back(k.string());
  for (const Field& f : root["files"].elements()) {
    f.only({"name", "format", "prefix", "before", "sections", "after"});
    File file{.name = f["name"].string(), .format = static_cast<Format>(one_of(f["format"], format_names)), .prefix = {},
              .before = lines(f, "before"), .after = lines(f, "after")};
    if (const auto prefix = f.find("prefix")) file.prefix = prefix->string();
    if (const auto sections = f.find("sections"))
      for (const auto& [name, section] : sections->members())
        for (const Field& s : section.elements()) t.settings.push_back(read_setting(s, name, t.files.size()));
    t.files.push_back(std::move(file));
  }
  if (t.files.empty()) root["files"].fail("is empty; a target writes at least one file");
  if (const auto rules = root.find("rules")) for (const Field& r : rules->elements()) t.rules.push_back(read_rule(r));
  if (const auto limits = root.find("limits")) for (const Field& l : limits->elements()) t.limits.push_back(read_limit(l));
  return t;
}

}  // namespace

std::vector<std::string> target_names() {
  std::vector<std::string> all;
  for (const auto& f : embedded::launch_targets()) all.emplace_back(f.name);
  return all;
}

Target read_target(const std::string& what) {
  if (std::error_code e; std::filesystem::is_regular_file(what, e)) return read(Document::read(what));
  std::string wanted;
  for (const char c : what) wanted += c == '_' || c == ' ' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::string list;
  std::vector<std::string> known;
  for (const auto& f : embedded::launch_targets()) {
    Target t = read(Document::parse(f.text, std::string(f.name) + ".json"));
    if (t.name == wanted || std::find(t.aliases.begin(), t.aliases.end(), wanted) != t.aliases.end()) return t;
    list += (list.empty() ? "" : ", ") + t.name;
    known.push_back(t.name);
    known.insert(known.end(), t.aliases.begin(), t.aliases.end());
  }
  const std::string hint = did_you_mean(wanted, {known.begin(), known.end()});
  throw InputError("launch target \"" + what + "\" is not known" + (hint.empty() ? "" : "; did you mean \"" + hint + "\"?") +
                   " (known: " + list + "; or the path of a target's file)");
}

}  // namespace napkin::launch
