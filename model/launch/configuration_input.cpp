#include "model/launch/configuration_input.hpp"

#include <algorithm>
#include <cctype>

#include "model/input/document_input.hpp"

namespace napkin::launch {
namespace {

// Lines with their numbers; the rest of the text stays reachable, as values may span lines.
struct Lines {
  std::string_view rest;
  std::size_t number = 0;
  [[nodiscard]] bool next(std::string_view& line, std::string_view& from_here) {
    if (rest.empty()) return false;
    ++number;
    from_here = rest;
    const auto end = rest.find('\n');
    line = rest.substr(0, end);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    return true;
  }
  // Goes on behind a value that started in `from_here` and left `tail` of it.
  void continue_at(std::string_view from_here, std::string_view tail) {
    const std::string_view taken = from_here.substr(0, from_here.size() - tail.size());
    number += static_cast<std::size_t>(std::count(taken.begin(), taken.end(), '\n'));
    const auto end = tail.find('\n');
    rest = end == tail.npos ? std::string_view() : tail.substr(end + 1);
  }
};

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front())) != 0) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back())) != 0) s.remove_suffix(1);
  return s;
}
bool is_key(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-'; });
}
std::string at(const std::string& name, std::size_t line) { return name + ':' + std::to_string(line); }

void nothing_behind(std::string_view tail, const std::string& place) {
  const auto rest = trimmed(tail.substr(0, tail.find('\n')));
  if (!rest.empty() && rest[0] != '#') throw InputError(place + ": \"" + one_line(rest, 40) + "\" stands behind a value");
}

void read_json(const Field& f, const std::string& key, std::vector<Found>& out) {
  const auto add = [&](Value v) { out.push_back({.key = key, .value = std::move(v), .line = f.line()}); };
  switch (f.type()) {
    case Field::Type::object:
      for (const auto& [name, member] : f.members()) read_json(member, key.empty() ? name : key + '.' + name, out);
      return;
    case Field::Type::array: {
      std::vector<Value> list;
      for (const Field& e : f.elements()) {
        if (e.is(Field::Type::object) || e.is(Field::Type::array)) e.fail("a list of lists or objects is not a setting");
        list.push_back(e.is(Field::Type::string) ? Value(e.string()) : typed(e.raw()));
      }
      return add(std::move(list));
    }
    case Field::Type::string: return add(f.string());
    case Field::Type::boolean: return add(f.boolean());
    case Field::Type::number: return add(typed(f.raw()));
    case Field::Type::null: return add({});
  }
}

// One level of YAML that is open: a mapping at an indentation, a list, or what stands behind "key:" and is yet to begin,
// one column further in than the key. A list may begin in the key's own column.
struct Level {
  std::size_t indent = 0;
  std::string prefix;
  std::size_t elements = 0;
  bool list = false;
};

}  // namespace

std::vector<Found> read_toml(std::string_view text, const std::string& name) {
  std::vector<Found> out;
  std::string table;
  Lines lines{.rest = text};
  for (std::string_view line, here; lines.next(line, here);) {
    const std::string place = at(name, lines.number);
    const std::string_view s = trimmed(line);
    if (s.empty() || s[0] == '#') continue;
    if (s[0] == '[') {
      const auto close = s.find(']');
      const std::string_view key = close == s.npos ? std::string_view() : trimmed(s.substr(1, close - 1));
      if (!is_key(key)) throw InputError(place + ": \"" + one_line(s, 60) + "\" is not a table; write [name]");
      nothing_behind(s.substr(close + 1), place);
      table = std::string(key) + '.';
      continue;
    }
    const auto equal = line.find('=');
    std::string_view key = equal == line.npos ? std::string_view() : trimmed(line.substr(0, equal));
    if (key.size() > 1 && key.front() == '"' && key.back() == '"') key = key.substr(1, key.size() - 2);
    if (!is_key(key)) throw InputError(place + ": \"" + one_line(s, 60) + "\" is not a setting; write key = value");
    std::string_view tail = here.substr(equal + 1);
    Value v = take_value(tail, Format::toml, place);
    if (v.is(Value::Kind::none)) throw InputError(place + ": \"" + std::string(key) + "\" has no value");
    nothing_behind(tail, place);
    out.push_back({.key = table + std::string(key), .value = std::move(v), .line = lines.number});
    lines.continue_at(here, tail);
  }
  return out;
}

std::vector<Found> read_yaml(std::string_view text, const std::string& name) {
  std::vector<Found> out;
  std::vector<Level> open;
  Lines lines{.rest = text};
  for (std::string_view line, here; lines.next(line, here);) {
    const std::string place = at(name, lines.number);
    std::string_view s = trimmed(line);
    if (s.empty() || s[0] == '#' || s == "---") continue;
    std::size_t indent = line.find_first_not_of(' ');
    if (line[indent] == '\t') throw InputError(place + ": YAML indents with blanks, not tabs");
    const bool dash = s.starts_with("- ") || s == "-";
    while (!open.empty() && (open.back().indent > indent + (dash ? 1 : 0) || (!dash && open.back().list && open.back().indent == indent)))
      open.pop_back();
    std::string_view tail = here.substr(indent);
    // "- " opens an element; what follows is indented by two more.
    while (s.starts_with("- ") || s == "-") {
      if (open.empty()) throw InputError(place + ": a list stands outside any key");
      if (!open.back().list || open.back().indent != indent)
        open.push_back({.indent = indent, .prefix = std::string(open.back().prefix), .elements = 0, .list = true});
      Level& list = open.back();
      const std::string element = list.prefix + std::to_string(list.elements++) + '.';
      tail.remove_prefix(1);
      indent += 1;
      while (!tail.empty() && tail[0] == ' ') {
        tail.remove_prefix(1);
        ++indent;
      }
      s = trimmed(tail.substr(0, tail.find('\n')));
      open.push_back({.indent = indent, .prefix = element, .elements = 0, .list = false});
    }
    const auto colon = s.find(':');
    const bool mapping = colon != s.npos && (colon + 1 == s.size() || s[colon + 1] == ' ') && s[0] != '"' && s[0] != '\'' && s[0] != '[';
    const std::string prefix = open.empty() ? std::string() : open.back().prefix;
    if (!mapping) {
      if (open.size() < 2 || !prefix.ends_with('.')) throw InputError(place + ": \"" + one_line(s, 60) + "\" is not a setting; write key: value");
      Value v = take_value(tail, Format::yaml, place);
      out.push_back({.key = prefix.substr(0, prefix.size() - 1), .value = std::move(v), .line = lines.number});
      open.pop_back();
      continue;
    }
    const std::string_view key = trimmed(s.substr(0, colon));
    if (!is_key(key)) throw InputError(place + ": \"" + one_line(key, 60) + "\" is not a plain key");
    tail.remove_prefix(tail.find(':') + 1);
    const std::string_view value = trimmed(tail.substr(0, tail.find('\n')));
    if (open.empty() || open.back().indent < indent) open.push_back({.indent = indent, .prefix = prefix, .elements = 0, .list = false});
    if (open.back().indent != indent) throw InputError(place + ": the indentation fits no level above it");
    if (value.empty() || value[0] == '#') {
      open.push_back({.indent = indent + 1, .prefix = prefix + std::string(key) + '.', .elements = 0, .list = false});
      continue;
    }
    if (std::string_view("&*!|>{").find(value[0]) != std::string_view::npos)
      throw InputError(place + ": \"" + one_line(value, 40) + "\": anchors, tags, block texts and flow mappings are not read");
    Value v = take_value(tail, Format::yaml, place);
    nothing_behind(tail, place);
    out.push_back({.key = prefix + std::string(key), .value = std::move(v), .line = lines.number});
    lines.continue_at(here, tail);
  }
  return out;
}

std::vector<Found> read_python(std::string_view text, const std::string& name) {
  std::vector<Found> out;
  Lines lines{.rest = text};
  for (std::string_view line, here; lines.next(line, here);) {
    const auto equal = line.find(" = ");
    if (equal == line.npos) continue;
    const std::string_view key = trimmed(line.substr(0, equal));
    const auto dot = key.find('.');
    if (!is_key(key) || dot == key.npos) continue;
    std::string_view tail = here.substr(equal + 3);
    Value v;
    try {
      v = take_value(tail, Format::python, at(name, lines.number));
      nothing_behind(tail, name);
    } catch (const InputError&) {  // an expression that begins as a literal does
      tail = here.substr(equal + 3);
      const std::string_view expression = tail.substr(0, tail.find('\n'));
      v = Value::code(std::string(trimmed(expression)));
      tail.remove_prefix(expression.size());
    }
    out.push_back({.key = std::string(key.substr(dot + 1)), .value = std::move(v), .line = lines.number});
    lines.continue_at(here, tail);
  }
  return out;
}

std::vector<Found> read_configuration(std::string_view text, const std::string& name, Format format) {
  switch (format) {
    case Format::arguments:
    case Format::text: return read_arguments(text, name);
    case Format::yaml: return read_yaml(text, name);
    case Format::toml: return read_toml(text, name);
    case Format::python: return read_python(text, name);
    case Format::json: {
      std::vector<Found> out;
      read_json(Document::parse(text, name).root(), "", out);
      return out;
    }
  }
  return {};
}

}  // namespace napkin::launch
