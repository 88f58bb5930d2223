// What every back-of-envelope calculator shares: options that are quantities, one case for each value of a list, and an
// answer of named figures with the arithmetic behind them. A calculator is a table of options and one function.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"
#include "hardware/hardware.hpp"
#include "model/constant.hpp"
#include "model/input_error.hpp"
#include "model/transformer/architecture.hpp"

namespace napkin::cli {

using T = Traced;

// How an option's text is read. `number` is bare; `count` has k, M, B, T as powers of ten; `tokens` as powers of 1,024
// (a bare number is itself, and may have a fraction or an exponent); `share` is 0.4 or "40%".
enum class Reads : std::uint8_t {
  number, count, tokens, bytes, bandwidth, flop_rate, flops, seconds, frequency, rate, share, word, flag, model, hardware
};

struct Parameter {
  const char* flag;  // "--batch"
  Reads reads;
  const char* help;
  const char* fallback = nullptr;  // as typed; shown by help
  bool zero = false;               // a count that may be zero
  const char* heading = "Options"; // of --help; "" = only --help-all shows it
};
using OptionList = std::vector<Parameter>;
[[nodiscard]] OptionList operator+(OptionList a, const OptionList& b);
[[nodiscard]] OptionList under(const char* heading, OptionList options);
[[nodiscard]] inline OptionList seldom(OptionList options) { return under("", std::move(options)); }

// Options that many calculators share.
extern const OptionList machine_options;  // --hw --precision --peak --memory --memory-bandwidth --link --nic
extern const OptionList shape_options;    // --model, or --layers --hidden --ffn ... of one
extern const OptionList model_options;    // the same, the sizes left to --help-all

// The values of one case, as quantities with their provenance. A missing one that has no default is InputError, naming
// what to write; `has` asks first.
class Given {
 public:
  Given(Derivation& d, std::map<std::string, std::string, std::less<>> typed, const OptionList& parameters);

  [[nodiscard]] bool has(std::string_view flag) const;    // typed, or has a default
  [[nodiscard]] bool typed(std::string_view flag) const;  // typed
  [[nodiscard]] std::string word(std::string_view flag) const;
  [[nodiscard]] double value(std::string_view flag) const;  // SI, without a derivation
  [[nodiscard]] std::int64_t whole(std::string_view flag, std::int64_t least = 0) const;

  [[nodiscard]] ScalarT<T> number(std::string_view flag, std::string_view symbol) const;
  [[nodiscard]] BytesT<T> bytes(std::string_view flag, std::string_view symbol) const;
  [[nodiscard]] BytesPerSecondT<T> bandwidth(std::string_view flag, std::string_view symbol) const;
  [[nodiscard]] FlopsPerSecondT<T> flop_rate(std::string_view flag, std::string_view symbol) const;
  [[nodiscard]] FlopsT<T> flops(std::string_view flag, std::string_view symbol) const;
  [[nodiscard]] SecondsT<T> seconds(std::string_view flag, std::string_view symbol) const;
  [[nodiscard]] PerSecondT<T> rate(std::string_view flag, std::string_view symbol) const;

  // Of the machine, unless an option says otherwise.
  [[nodiscard]] const Hardware& hardware() const;
  [[nodiscard]] FlopsPerSecondT<T> peak() const;  // dense, of --precision
  [[nodiscard]] FlopsPerSecondT<T> peak_of(Format f, std::string_view symbol) const;
  [[nodiscard]] BytesPerSecondT<T> memory_bandwidth() const;
  [[nodiscard]] BytesT<T> memory() const;
  [[nodiscard]] BytesPerSecondT<T> link() const;  // inside a node, one accelerator, one direction
  [[nodiscard]] BytesPerSecondT<T> nic() const;   // out of a node, one accelerator, one direction

  // Of the model, unless an option says otherwise.
  [[nodiscard]] bool has_shape() const;  // a model, or the options that make one
  [[nodiscard]] bool has_model() const;
  [[nodiscard]] const Architecture& architecture() const;
  [[nodiscard]] bool has_parameters() const;
  [[nodiscard]] ScalarT<T> parameters() const;         // --params, or the model's total
  [[nodiscard]] ScalarT<T> active_parameters() const;  // of one token
  [[nodiscard]] bool has_shape_of(std::string_view flag) const;
  [[nodiscard]] ScalarT<T> shape(std::string_view flag, std::string_view symbol) const;  // --layers, --hidden ...

  [[nodiscard]] const Scope<T>& scope() const { return scope_; }

 private:
  Scope<T> scope_;
  std::map<std::string, std::string, std::less<>> typed_;
  const OptionList* parameters_;
  mutable std::optional<Hardware> hardware_;
  mutable std::optional<Architecture> architecture_;

  [[nodiscard]] const Parameter& parameter(std::string_view flag) const;
  [[nodiscard]] std::string text(std::string_view flag) const;
  [[nodiscard]] std::string origin(std::string_view flag) const;
  [[nodiscard]] double read(std::string_view flag) const;
};

// Replicas: what --dp says, or what --gpus leaves beside --tp and --pp; InputError where they do not fit together.
[[nodiscard]] ScalarT<T> replicas(const Given& g, ScalarT<T> tp, ScalarT<T> pp);

// How a figure is printed for people; JSON is SI always.
enum class Show : std::uint8_t { plain, percent, gib, days, per_token, factor, dollars };

class Answer {
 public:
  struct Figure {
    std::string key, words, text;  // key: of the JSON, "/" nests
    double si = 0;
    const Node* why = nullptr;
    bool label = false;
  };
  std::vector<Figure> figures;
  std::vector<std::string> conventions, neglected;
  std::string follow_up;
  bool feasible = true;

  template <Dim D>
  void add(std::string key, std::string words, Quantity<D, T> q, Show show = Show::plain) {
    figures.push_back({std::move(key), std::move(words), shown(D, q.si(), show), q.si(), q.why(), false});
    check(figures.back());
  }
  void label(std::string key, std::string words, std::string text) {
    figures.push_back({std::move(key), std::move(words), std::move(text), 0, nullptr, true});
  }

 private:
  static std::string shown(Dim dim, double si, Show show);
  static void check(const Figure& f);
};

// What was typed, before it is split into cases.
struct Asked {
  std::map<std::string, std::string, std::less<>> typed;
  std::optional<bool> explain;
  OutputFormat format = OutputFormat::table;
};

struct Calculator {
  const char* name;
  const char* description;
  OptionList parameters;
  void (*compute)(const Given&, Answer&);
  const char* examples;  // lines "  napkin ..."
  std::vector<const char*> aliases = {};
  const char* positional = nullptr;  // the option that a bare word gives, "--model"
  bool (*other_engine)(const Asked&) = nullptr;  // answers what it can answer better, and says whether it did
};
void add_calculator(CLI::App& app, Session& session, const Calculator& calculator);

}  // namespace napkin::cli
