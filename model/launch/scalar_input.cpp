// Scalars and bracketed lists, as YAML's flow style, TOML and Python write them.
#include <cctype>
#include <charconv>

#include "model/input/document_input.hpp"
#include "model/launch/configuration_input.hpp"

namespace napkin::launch {
namespace {

constexpr int max_depth = 32;

[[noreturn]] void fail(const std::string& place, const std::string& message) { throw InputError(place + ": " + message); }

void skip_blank(std::string_view& s, bool lines) {
  while (!s.empty()) {
    if (s[0] == ' ' || s[0] == '\t' || (lines && (s[0] == '\n' || s[0] == '\r'))) {
      s.remove_prefix(1);
    } else if (lines && s[0] == '#') {
      s.remove_prefix(std::min(s.find('\n'), s.size()));
    } else {
      return;
    }
  }
}

void append_utf8(unsigned long c, std::string& out) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0U | (c >> 6U));
    out += static_cast<char>(0x80U | (c & 0x3FU));
  } else {
    out += static_cast<char>(0xE0U | (c >> 12U));
    out += static_cast<char>(0x80U | ((c >> 6U) & 0x3FU));
    out += static_cast<char>(0x80U | (c & 0x3FU));
  }
}

std::string take_quoted(std::string_view& s, const std::string& place) {
  const char quote = s[0];
  const bool literal = quote == '\'';
  s.remove_prefix(1);
  std::string out;
  for (; !s.empty(); s.remove_prefix(1)) {
    const char c = s[0];
    if (c == '\n') break;
    if (c == quote) {
      if (literal && s.size() > 1 && s[1] == '\'') {  // YAML doubles it
        out += '\'';
        s.remove_prefix(1);
        continue;
      }
      s.remove_prefix(1);
      return out;
    }
    if (c != '\\' || literal) {
      out += c;
      continue;
    }
    if (s.size() < 2) break;
    s.remove_prefix(1);
    constexpr std::string_view from = "nrt\"\\/'0", to = "\n\r\t\"\\/'\0";
    if (s[0] == 'u' && s.size() > 4) {
      unsigned code = 0;
      if (std::from_chars(s.data() + 1, s.data() + 5, code, 16).ptr != s.data() + 5) fail(place, "\\u needs four hexadecimal digits");
      append_utf8(code, out);
      s.remove_prefix(4);
    } else if (const auto at = from.find(s[0]); at != from.npos) {
      out += at == from.size() - 1 ? '\0' : to[at];
    } else {
      fail(place, std::string("\\") + s[0] + " is not an escape that is known");
    }
  }
  fail(place, "a quoted text has no end on its line");
}

Value take(std::string_view& s, Format format, const std::string& place, int depth) {
  skip_blank(s, depth > 0);
  if (s.empty()) return {};
  if (depth > max_depth) fail(place, "lists are nested deeper than 32");
  if (s[0] == '"' || s[0] == '\'') return take_quoted(s, place);
  if (s[0] == '[' || s[0] == '(') {
    const char close = s[0] == '[' ? ']' : ')';
    s.remove_prefix(1);
    std::vector<Value> list;
    for (skip_blank(s, true); !s.empty() && s[0] != close; skip_blank(s, true)) {
      const auto before = s.size();
      list.push_back(take(s, format, place, depth + 1));
      skip_blank(s, true);
      if (!s.empty() && s[0] == ',') s.remove_prefix(1);
      else if (!s.empty() && s[0] != close) fail(place, "the elements of a list need a comma between them");
      if (s.size() == before) fail(place, "a list holds something that is not a value");
    }
    if (s.empty()) fail(place, "a list has no end");
    s.remove_prefix(1);
    return list;
  }
  const std::string_view ends = depth > 0 ? ",])\n#" : "\n#";
  std::size_t n = 0;
  // A comment starts behind a blank; "a#b" is one word.
  while (n < s.size() && (ends.find(s[n]) == ends.npos || (s[n] == '#' && n > 0 && std::isspace(static_cast<unsigned char>(s[n - 1])) == 0))) ++n;
  std::string_view word = s.substr(0, n);
  s.remove_prefix(n);
  while (!word.empty() && std::isspace(static_cast<unsigned char>(word.back())) != 0) word.remove_suffix(1);
  Value v = typed(word);
  if (!v.is(Value::Kind::text)) return v;
  if (format == Format::python) return Value::code(v.text);
  if (format == Format::toml) fail(place, "\"" + one_line(word, 60) + "\" is not a TOML value; texts stand in quotes");
  return v;
}

}  // namespace

Value typed(std::string_view word) {
  if (word == "true" || word == "True") return true;
  if (word == "false" || word == "False") return false;
  if (word.empty() || word == "null" || word == "None" || word == "~") return {};
  std::string digits;
  for (std::size_t i = 0; i < word.size(); ++i)  // 10_000
    if (word[i] != '_' || i == 0 || std::isdigit(static_cast<unsigned char>(word[i - 1])) == 0) digits += word[i];
  const char *first = digits.data() + (digits[0] == '+' ? 1 : 0), *last = digits.data() + digits.size();
  std::int64_t whole = 0;
  if (const auto [end, error] = std::from_chars(first, last, whole); error == std::errc{} && end == last) return whole;
  double real = 0;
  const bool number = std::isdigit(static_cast<unsigned char>(*first)) != 0 || *first == '-' || *first == '.';
  if (const auto [end, error] = std::from_chars(first, last, real); number && error == std::errc{} && end == last) return real;
  return std::string(word);
}

Value take_value(std::string_view& text, Format format, const std::string& place) { return take(text, format, place, 0); }

}  // namespace napkin::launch
