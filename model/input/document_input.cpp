#include "model/input/document_input.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "model/input/document_value.hpp"

namespace napkin {
namespace {

// Bounds that no honest file meets; they keep hostile ones from exhausting memory or the stack.
constexpr std::size_t max_depth = 200, max_values = 1'000'000;
constexpr std::uintmax_t max_file_bytes = std::uintmax_t{64} << 20;

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

}  // namespace

std::string text_of(const Value& v) {
  if (v.type == Field::Type::number && std::isnan(v.number)) return "NaN";
  if (v.type == Field::Type::number && std::isinf(v.number)) return v.number > 0 ? "Infinity" : "-Infinity";
  return to_json(v).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// ---- Document -----------------------------------------------------------------------------------------------------
std::string read_text(const std::string& path) {
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
  return text;
}

Document Document::read(const std::string& path) { return parse(read_text(path), path); }

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

}  // namespace napkin
