// JSON documents that know where everything stands: every complaint names file, line and field.
// The JSON library stays inside document_input.cpp.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/input_error.hpp"
#include "model/quantity.hpp"

namespace napkin {

class Field;
class Edits;
struct WrittenNumber;

// A parsed JSON text. Comments are allowed; the literals NaN, Infinity and -Infinity are accepted as numbers so that
// real config.json files read, and refused by every typed reader below.
class Document {
 public:
  // Reads a file; InputError when it is missing, a folder, or not JSON (with line and column).
  static Document read(const std::string& path);
  // Parses `text`; `name` stands for the file in messages.
  static Document parse(std::string_view text, std::string name);
  // Parses one line of a JSON-lines file; messages say name:line.
  static Document parse_line(std::string_view text, std::string name, std::size_t line);
  [[nodiscard]] Field root() const;
  [[nodiscard]] const std::string& name() const;

  struct Impl;

 private:
  std::shared_ptr<const Impl> impl_;
  friend class Field;
  friend class Edits;                                                          // model/input/edits_input.hpp
  friend WrittenNumber written_number(const Document& d, std::string_view pointer);
};

// A cursor into a document. Reading never guesses: a wrong type, a wrong unit, NaN or an unknown member is an InputError
//   hardware/h200.json:5: /memory/bandwidth: "4.8 TBps" is not a bandwidth; write a number, a space and one of B/s ...
class Field {
 public:
  enum class Type : std::uint8_t { null, boolean, number, string, array, object };

  [[nodiscard]] Type type() const;
  [[nodiscard]] bool is(Type t) const { return type() == t; }

  // Objects.
  [[nodiscard]] Field operator[](std::string_view key) const;            // missing = InputError
  [[nodiscard]] std::optional<Field> find(std::string_view key) const;   // missing or null = nothing
  [[nodiscard]] bool has(std::string_view key) const;                    // present, null included
  [[nodiscard]] std::vector<std::pair<std::string, Field>> members() const;
  void only(std::initializer_list<std::string_view> keys) const;         // any other member is an error, with a hint
  void only(const std::vector<std::string_view>& keys) const;

  // Arrays.
  [[nodiscard]] std::vector<Field> elements() const;

  // Values. A quantity is a string "number unit" (or a bare SI number where `bare` is allowed by the reader's name).
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] double number() const;                                    // finite
  [[nodiscard]] std::int64_t integer(std::int64_t at_least, std::int64_t at_most) const;
  [[nodiscard]] std::string string() const;
  [[nodiscard]] Bytes bytes() const;                                      // "80 GB", "80 GiB"
  [[nodiscard]] BytesPerSecond bandwidth() const;                         // "3.35 TB/s", "400 Gb/s"
  [[nodiscard]] Seconds seconds() const;                                  // "5 us"
  [[nodiscard]] FlopsPerSecond flop_rate() const;                         // "989.4 TFLOP/s"
  [[nodiscard]] Hertz frequency() const;                                  // "1830 MHz"
  [[nodiscard]] Watts power() const;                                      // "700 W"
  [[nodiscard]] std::string raw() const;                                  // the JSON text of this value

  [[nodiscard]] std::string pointer() const;                              // "/memory/bandwidth"
  [[nodiscard]] std::size_t line() const;
  [[nodiscard]] const std::string& file() const;
  [[nodiscard]] std::string place() const;                                // "file:line: /pointer"
  [[noreturn]] void fail(const std::string& message) const;               // throws InputError("place: message")
  // Two fields contradict each other: shows both places and values.
  [[noreturn]] void conflict(const Field& other, const std::string& message) const;

 private:
  std::shared_ptr<const Document::Impl> doc_;
  const void* node_{};
  std::string pointer_;
  Field(std::shared_ptr<const Document::Impl> doc, const void* node, std::string pointer)
      : doc_(std::move(doc)), node_(node), pointer_(std::move(pointer)) {}
  friend class Document;
};

// Text for a one-line message: control characters become '?', long text is cut.
[[nodiscard]] std::string one_line(std::string_view s, std::size_t limit = 300);

// The bytes of a file; InputError when it is missing, a folder, or larger than 64 MiB.
[[nodiscard]] std::string read_text(const std::string& path);

// "bandwith" → "bandwidth" when one of `known` is close enough, else empty.
[[nodiscard]] std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace napkin
