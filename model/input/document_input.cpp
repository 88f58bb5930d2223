#include "model/input/document_input.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <unordered_set>

#include "model/input/number_input.hpp"

namespace napkin {
namespace {

// Bounds that no honest file meets; they keep hostile ones from exhausting memory or the stack.
constexpr std::size_t max_depth = 200, max_values = 1'000'000;
constexpr std::uintmax_t max_file_bytes = std::uintmax_t{64} << 20;
constexpr std::size_t max_message = 300;

struct Value {
  Field::Type type = Field::Type::null;
  bool truth = false;
  bool integral = false;     // the number was written without fraction or exponent and fits int64
  std::int64_t integer = 0;
  double number = 0;
  std::string text{};
  std::size_t line = 0;
  std::vector<std::pair<std::string, Value>> members{};
  std::vector<Value> elements{};
};

// Text for a one-line message: control characters become '?', long text is cut.
std::string one_line(std::string_view s, std::size_t limit = max_message) {
  std::string out;
  for (const char c : s.substr(0, limit)) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  if (s.size() > limit) out += "...";
  return out;
}

// A forward iterator over the text that tells how far the lexer has read.
class Reader {
  const char* at_ = nullptr;
  const char** furthest_ = nullptr;

 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  Reader(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}
  reference operator*() const { return *at_; }
  Reader& operator++() {
    *furthest_ = ++at_;
    return *this;
  }
  Reader operator++(int) {
    Reader old = *this;
    ++*this;
    return old;
  }
  bool operator==(const Reader& o) const { return at_ == o.at_; }
  bool operator!=(const Reader& o) const { return at_ != o.at_; }
};

// Replaces the bare literals NaN, Infinity and -Infinity, which JSON lacks and Python writes, by strings of the same
// length; `ends` gets the offset just behind each, by which the builder knows them again.
std::string without_non_finite(std::string_view text, std::vector<std::pair<std::size_t, double>>& ends) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr std::pair<std::string_view, double> literals[] = {
      {"-Infinity", -inf}, {"Infinity", inf}, {"NaN", std::numeric_limits<double>::quiet_NaN()}};
  std::string out(text);
  enum class In { value, string, line_comment, block_comment } in = In::value;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto rest = text.substr(i, 9);
    if (in == In::string) {
      if (text[i] == '\\') ++i;
      else if (text[i] == '"') in = In::value;
    } else if (in == In::line_comment) {
      if (text[i] == '\n') in = In::value;
    } else if (in == In::block_comment) {
      if (rest.starts_with("*/")) in = In::value, ++i;
    } else if (text[i] == '"') {
      in = In::string;
    } else if (rest.starts_with("//")) {
      in = In::line_comment;
    } else if (rest.starts_with("/*")) {
      in = In::block_comment, ++i;
    } else {
      for (const auto& [word, value] : literals) {
        if (!rest.starts_with(word)) continue;
        const auto end = i + word.size();
        if (end < text.size() && std::string_view(" \t\r\n,]}/").find(text[end]) == std::string_view::npos) continue;
        out[i] = out[end - 1] = '"';
        std::fill(out.begin() + static_cast<std::ptrdiff_t>(i) + 1, out.begin() + static_cast<std::ptrdiff_t>(end) - 1,
                  'n');
        ends.emplace_back(end, value);
        i = end - 1;
        break;
      }
    }
  }
  return out;
}

std::string location(const std::string& name, std::size_t line) { return name + ':' + std::to_string(line); }

// Receives the parser's events and builds the tree, with a line for each value.
class Builder {
  struct Open {
    Value* value;
    std::string key;
    std::unordered_set<std::string> seen;
  };
  const std::string& name_;
  std::size_t first_line_;
  const char* begin_;
  const char* counted_;
  std::size_t newlines_ = 0;
  const std::vector<std::pair<std::size_t, double>>& non_finite_;
  std::size_t next_non_finite_ = 0, values_ = 0;
  Value& root_;
  std::vector<Open> open_;

 public:
  const char* furthest;  // behind the last character that the lexer has taken

  Builder(const std::string& name, std::size_t first_line, const std::string& text,
          const std::vector<std::pair<std::size_t, double>>& non_finite, Value& root)
      : name_(name), first_line_(first_line), begin_(text.data()), counted_(text.data()), non_finite_(non_finite),
        root_(root), furthest(text.data()) {}

  bool null() { return add({}); }
  bool boolean(bool v) { return add({.type = Field::Type::boolean, .truth = v}); }
  bool number_integer(std::int64_t v) {
    return add({.type = Field::Type::number, .integral = true, .integer = v, .number = static_cast<double>(v)});
  }
  bool number_unsigned(std::uint64_t v) {
    const bool fits = v <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return add({.type = Field::Type::number,
                .integral = fits,
                .integer = fits ? static_cast<std::int64_t>(v) : 0,
                .number = static_cast<double>(v)});
  }
  bool number_float(double v, const std::string&) { return add({.type = Field::Type::number, .number = v}); }
  bool string(std::string& v) {
    const auto offset = static_cast<std::size_t>(furthest - begin_);
    if (next_non_finite_ < non_finite_.size() && non_finite_[next_non_finite_].first == offset)
      return add({.type = Field::Type::number, .number = non_finite_[next_non_finite_++].second});
    return add({.type = Field::Type::string, .text = std::move(v)});
  }
  bool binary(nlohmann::json::binary_t&) { return add({}); }
  bool start_object(std::size_t) { return start(Field::Type::object); }
  bool start_array(std::size_t) { return start(Field::Type::array); }
  bool end_object() { return end(); }
  bool end_array() { return end(); }
  bool key(std::string& k) {
    const auto offset = static_cast<std::size_t>(furthest - begin_);
    if (next_non_finite_ < non_finite_.size() && non_finite_[next_non_finite_].first == offset)
      fail("a member's name is a string in double quotes");
    if (!open_.back().seen.insert(k).second) fail("the member \"" + one_line(k, 60) + "\" stands twice in one object");
    open_.back().key = std::move(k);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& e) {
    std::string_view what = e.what();  // "[json.exception.parse_error.101] parse error at line 3, column 5: …"
    if (const auto p = what.find("column "); p != what.npos) {
      const auto colon = what.find(": ", p);
      throw InputError(location(name_, line()) + ':' + std::string(what.substr(p + 7, colon - p - 7)) +
                       ": not JSON: " + one_line(what.substr(colon + 2)));
    }
    if (what.find("number overflow") != what.npos) fail("a number is too large for a double");
    fail("not JSON: " + one_line(what));
  }

 private:
  // The line of the last character taken: a newline belongs to the line it ends.
  std::size_t line() {
    const char* last = furthest == begin_ ? begin_ : furthest - 1;
    newlines_ += static_cast<std::size_t>(std::count(counted_, last, '\n'));
    counted_ = last;
    return first_line_ + newlines_;
  }
  [[noreturn]] void fail(const std::string& message) { throw InputError(location(name_, line()) + ": " + message); }

  Value* place(Value v) {
    if (++values_ > max_values) fail("more than a million values; this is no file for napkin");
    v.line = line();
    if (open_.empty()) return &(root_ = std::move(v));
    auto& parent = *open_.back().value;
    if (parent.type == Field::Type::array) return &parent.elements.emplace_back(std::move(v));
    return &parent.members.emplace_back(std::move(open_.back().key), std::move(v)).second;
  }
  bool add(Value v) {
    place(std::move(v));
    return true;
  }
  bool start(Field::Type type) {
    if (open_.size() >= max_depth) fail("nested more than 200 deep");
    open_.push_back({place({.type = type}), {}, {}});
    return true;
  }
  bool end() {
    open_.pop_back();
    return true;
  }
};

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

nlohmann::ordered_json to_json(const Value& v) {
  switch (v.type) {
    case Field::Type::null: return nullptr;
    case Field::Type::boolean: return v.truth;
    case Field::Type::number: return v.integral ? nlohmann::ordered_json(v.integer) : nlohmann::ordered_json(v.number);
    case Field::Type::string: return v.text;
    case Field::Type::array: {
      auto a = nlohmann::ordered_json::array();
      for (const auto& e : v.elements) a.push_back(to_json(e));
      return a;
    }
    case Field::Type::object: {
      auto o = nlohmann::ordered_json::object();
      for (const auto& [k, m] : v.members) o[k] = to_json(m);
      return o;
    }
  }
  return nullptr;
}

std::string text_of(const Value& v) {
  if (v.type == Field::Type::number && std::isnan(v.number)) return "NaN";
  if (v.type == Field::Type::number && std::isinf(v.number)) return v.number > 0 ? "Infinity" : "-Infinity";
  return to_json(v).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
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

// Optimal string alignment distance, at most `limit` + 1.
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

struct Document::Impl {
  std::string name;
  Value root;
};

// ---- Document -----------------------------------------------------------------------------------------------------
Document Document::read(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::exists(status)) throw InputError(one_line(path) + ": no such file");
  if (fs::is_directory(status)) throw InputError(one_line(path) + ": is a folder; name a JSON file");
  if (fs::is_regular_file(status) && fs::file_size(path, error) > max_file_bytes)
    throw InputError(one_line(path) + ": is larger than 64 MiB; this is no file for napkin");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError(one_line(path) + ": cannot be opened for reading");
  std::string text;
  std::vector<char> block(1 << 16);
  while (in) {
    in.read(block.data(), static_cast<std::streamsize>(block.size()));
    text.append(block.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > max_file_bytes)
      throw InputError(one_line(path) + ": is larger than 64 MiB; this is no file for napkin");
  }
  if (in.bad()) throw InputError(one_line(path) + ": cannot be read");
  return parse(text, path);
}

Document Document::parse(std::string_view text, std::string name) { return parse_line(text, std::move(name), 1); }

Document Document::parse_line(std::string_view text, std::string name, std::size_t line) {
  auto impl = std::make_shared<Impl>();
  impl->name = one_line(name);
  if (text.find_first_not_of(" \t\r\n") == text.npos) throw InputError(location(impl->name, line) + ": is empty");
  std::vector<std::pair<std::size_t, double>> non_finite;
  const std::string clean = without_non_finite(text, non_finite);
  Builder builder(impl->name, line, clean, non_finite, impl->root);
  nlohmann::json::sax_parse(Reader(clean.data(), &builder.furthest),
                            Reader(clean.data() + clean.size(), &builder.furthest), &builder,
                            nlohmann::json::input_format_t::json, /*strict=*/true, /*ignore_comments=*/true);
  Document d;
  d.impl_ = std::move(impl);
  return d;
}

Field Document::root() const { return {impl_, &impl_->root, ""}; }
const std::string& Document::name() const { return impl_->name; }

// ---- Field --------------------------------------------------------------------------------------------------------
Field::Type Field::type() const { return value_of(node_).type; }
std::string Field::pointer() const { return pointer_; }
std::size_t Field::line() const { return value_of(node_).line; }
const std::string& Field::file() const { return doc_->name; }
std::string Field::raw() const { return text_of(value_of(node_)); }

std::string Field::place() const {
  const auto where = location(file(), line());
  return pointer_.empty() ? where : where + ": " + one_line(pointer_);
}

void Field::fail(const std::string& message) const { throw InputError(place() + ": " + message); }

void Field::conflict(const Field& other, const std::string& message) const {
  throw InputError(place() + ": " + one_line(raw(), 60) + " contradicts " + other.place() + ": " +
                   one_line(other.raw(), 60) + ": " + message);
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
