#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "model/input/document_value.hpp"
#include "model/input/number_input.hpp"

namespace napkin {
namespace {

std::string_view type_name(Field::Type t) {
  switch (t) {
    case Field::Type::null: return "null";
    case Field::Type::boolean: return "a boolean";
    case Field::Type::number: return "a number";
    case Field::Type::string: return "a string";
    case Field::Type::array: return "an array";
    case Field::Type::object: return "an object";
  }
  return "null";
}

std::string escaped(std::string_view key) {  // RFC 6901
  std::string s;
  for (const char c : key) {
    if (c == '~') s += "~0";
    else if (c == '/') s += "~1";
    else s += c;
  }
  return s;
}

const Value& value_of(const void* node) { return *static_cast<const Value*>(node); }

// Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

}  // namespace

std::string location(const std::string& name, std::size_t line) { return name + ':' + std::to_string(line); }

std::string one_line(std::string_view s, std::size_t limit) {
  std::string out;
  if (s.size() > limit)
    while (limit > 0 && (static_cast<unsigned char>(s[limit]) & 0xC0u) == 0x80u) --limit;  // between UTF-8 characters
  for (const char c : s.substr(0, limit)) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  if (s.size() > limit) out += "...";
  return out;
}

Field::Type Field::type() const { return value_of(node_).type; }
std::string Field::pointer() const { return pointer_; }
std::size_t Field::line() const { return value_of(node_).line; }
const std::string& Field::file() const { return doc_->name; }
std::string Field::raw() const { return text_of(value_of(node_)); }

std::string Field::place() const {
  const auto where = location(file(), line());
  return pointer_.empty() ? where : where + ": " + one_line(pointer_);
}

void Field::fail(const std::string& message) const { throw InputError(place() + ": " + one_line(message, 1000)); }

void Field::conflict(const Field& other, const std::string& message) const {
  throw InputError(place() + ": " + one_line(raw(), 60) + " contradicts " + other.place() + ": " +
                   one_line(other.raw(), 60) + ": " + one_line(message, 1000));
}

namespace {
[[noreturn]] void wrong_type(const Field& f, Field::Type wanted) {
  std::string found(type_name(f.type()));
  if (!f.is(Field::Type::object) && !f.is(Field::Type::array) && !f.is(Field::Type::null))
    found = one_line(f.raw(), 60) + ", " + found;
  f.fail("is " + found + "; write " + std::string(type_name(wanted)));
}

void expect(const Field& f, Field::Type wanted) {
  if (!f.is(wanted)) wrong_type(f, wanted);
}

template <class Parse>
auto parsed(const Field& f, Parse parse, std::string_view example) {
  if (!f.is(Field::Type::string))
    f.fail("is " + one_line(f.raw(), 60) + "; write a string with a unit, such as \"" + std::string(example) + '"');
  try {
    return parse(f.string());
  } catch (const std::invalid_argument& e) {
    f.fail(e.what());
  }
}
}  // namespace

std::optional<Field> Field::find(std::string_view key) const {
  expect(*this, Type::object);
  for (const auto& [name, value] : value_of(node_).members)
    if (name == key) {
      if (value.type == Type::null) return {};
      return Field(doc_, &value, pointer_ + '/' + escaped(name));
    }
  return {};
}

Field Field::operator[](std::string_view key) const {
  if (auto f = find(key)) return *f;
  std::vector<std::string_view> present;
  for (const auto& [name, value] : value_of(node_).members) present.push_back(name);
  const auto close = did_you_mean(key, present);
  fail("the member \"" + std::string(key) + "\" is missing" +
       (close.empty() ? std::string() : "; is \"" + one_line(close, 60) + "\" meant for it?"));
}

bool Field::has(std::string_view key) const {
  expect(*this, Type::object);
  const auto& members = value_of(node_).members;
  return std::any_of(members.begin(), members.end(), [&](const auto& m) { return m.first == key; });
}

std::vector<std::pair<std::string, Field>> Field::members() const {
  expect(*this, Type::object);
  std::vector<std::pair<std::string, Field>> out;
  for (const auto& [name, value] : value_of(node_).members)
    out.emplace_back(name, Field(doc_, &value, pointer_ + '/' + escaped(name)));
  return out;
}

void Field::only(std::initializer_list<std::string_view> keys) const { only(std::vector<std::string_view>(keys)); }

void Field::only(const std::vector<std::string_view>& keys) const {
  for (const auto& [name, field] : members()) {
    if (std::find(keys.begin(), keys.end(), name) != keys.end()) continue;
    const auto close = did_you_mean(name, keys);
    std::string hint = "; did you mean \"" + close + "\"?";
    if (close.empty()) {
      hint = "; known are ";
      for (std::size_t i = 0; i < keys.size(); ++i) hint += (i ? ", " : "") + std::string(keys[i]);
    }
    field.fail("unknown member" + hint);
  }
}

std::vector<Field> Field::elements() const {
  expect(*this, Type::array);
  std::vector<Field> out;
  std::size_t i = 0;
  for (const auto& value : value_of(node_).elements)
    out.push_back(Field(doc_, &value, pointer_ + '/' + std::to_string(i++)));
  return out;
}

bool Field::boolean() const {
  expect(*this, Type::boolean);
  return value_of(node_).truth;
}

double Field::number() const {
  expect(*this, Type::number);
  const double v = value_of(node_).number;
  if (!std::isfinite(v)) fail("is " + raw() + "; write a finite number");
  return v;
}

std::int64_t Field::integer(std::int64_t at_least, std::int64_t at_most) const {
  const auto range = "; write a whole number from " + std::to_string(at_least) + " to " + std::to_string(at_most);
  if (!is(Type::number)) fail("is " + std::string(type_name(type())) + range);
  const auto& v = value_of(node_);
  std::int64_t n = v.integer;
  if (!v.integral) {
    const double d = v.number;
    if (!std::isfinite(d) || d != std::floor(d) || std::abs(d) >= 0x1p63) fail("is " + raw() + range);
    n = static_cast<std::int64_t>(d);
  }
  if (n < at_least || n > at_most) fail("is " + raw() + range);
  return n;
}

std::string Field::string() const {
  expect(*this, Type::string);
  return value_of(node_).text;
}

Bytes Field::bytes() const { return parsed(*this, parse_bytes, "80 GB"); }
BytesPerSecond Field::bandwidth() const { return parsed(*this, parse_bandwidth, "3.35 TB/s"); }
Seconds Field::seconds() const { return parsed(*this, parse_seconds, "5 us"); }
FlopsPerSecond Field::flop_rate() const { return parsed(*this, parse_flop_rate, "989.4 TFLOP/s"); }
Hertz Field::frequency() const { return parsed(*this, parse_frequency, "1830 MHz"); }
Watts Field::power() const { return parsed(*this, parse_power, "700 W"); }

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& known) {
  if (word.size() > 64) return {};
  std::string_view best;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const auto k : known) {
    if (k.size() > 64) continue;
    const auto d = edit_distance(word, k);
    if (d <= std::max<std::size_t>(1, std::min(word.size(), k.size()) / 3) && d < least) least = d, best = k;
  }
  return std::string(best);
}

}  // namespace napkin
