#include "cli/sweep_axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "cli/run_flags.hpp"
#include "model/input/number_input.hpp"

namespace napkin::cli {
namespace {

constexpr std::string_view token_ending = "-tokens";

std::string plain(double v) {
  return fmt::format("{}", v);
}

// 4194304 → "4M", as sequence lengths and token counts are written.
std::string binary(double v) {
  for (const auto& [unit, suffix] : {std::pair{0x1p30, "G"}, std::pair{0x1p20, "M"}, std::pair{0x1p10, "k"}})
    if (v >= unit && std::fmod(v, unit) == 0) return fmt::format("{:.0f}{}", v / unit, suffix);
  return fmt::format("{:.0f}", v);
}

// The values of one kind of axis: text → number, and back into what a flag takes.
struct Reader {
  AxisKind kind;
  bool tokens = false;  // of a batch

  [[nodiscard]] double number(const std::string& text) const {
    switch (kind) {
      case AxisKind::tokens: return static_cast<double>(parse_tokens(text));
      case AxisKind::gpus: {
        const double v = parse_count(text);
        if (v < 1 || v > 1e8 || v != std::floor(v))
          throw std::invalid_argument("\"" + text +
                                      "\" is not a number of accelerators; write a whole number from 1 to 100 million");
        return v;
      }
      case AxisKind::batch: {
        const Batch b = parse_batch(tokens ? text + std::string(token_ending) : text);
        return static_cast<double>(b.tokens > 0 ? b.tokens : b.sequences);
      }
      case AxisKind::degree: {
        const double v = parse_number(text);
        if (v < 0 || v > 1e8 || v != std::floor(v))
          throw std::invalid_argument("\"" + text + "\" is not a degree; write a whole number");
        return v;
      }
      default: {
        const double v = parse_number(text);
        if (v < 1e-6 || v > 1e6)
          throw std::invalid_argument("\"" + text + "\" is not a factor; write a number between 1e-6 and 1e6");
        return v;
      }
    }
  }
  [[nodiscard]] std::string text(double v) const {
    if (kind == AxisKind::tokens) return binary(v);
    if (kind == AxisKind::batch && tokens) return binary(v) + std::string(token_ending);
    return kind == AxisKind::factor ? plain(v) : fmt::format("{:.0f}", v);
  }
};

std::vector<std::string> items(const std::string& text) {
  std::vector<std::string> all(1);
  for (const char c : text) {
    if (c == ',')
      all.emplace_back();
    else
      all.back() += c;
  }
  return all;
}

struct Range {
  std::string from, to;
  bool adds = false;
  double by = 2;
};

Range range_of(const std::string& item, bool binary_steps) {
  const auto dots = item.find("..");
  Range r{.from = item.substr(0, dots), .to = item.substr(dots + 2)};
  if (const auto sign = r.to.find_first_of("*+", 1); sign != std::string::npos && r.to[sign - 1] != 'e') {
    r.adds = r.to[sign] == '+';
    const std::string by = r.to.substr(sign + 1);
    r.by = !r.adds ? parse_number(by) : binary_steps ? static_cast<double>(parse_tokens(by)) : parse_count(by);
    r.to.resize(sign);
    if (r.adds ? !(r.by > 0) : !(r.by > 1))
      throw std::invalid_argument(
          fmt::format("the range \"{}\" stands still; write a step above {}", item, r.adds ? "0 (+8)" : "1 (*2)"));
  }
  if (r.from.empty() || r.to.empty())
    throw std::invalid_argument("\"" + item + "\" is not a range; write FROM..TO, such as 256..16384");
  return r;
}

}  // namespace

SweepAxis read_axis(const std::string& where, SweepAxis::Of of, std::string name, AxisKind kind,
                    const std::string& text) {
  SweepAxis axis{.of = of, .name = std::move(name), .values = {}, .numbers = {}};
  const auto read = [&] {
    std::error_code ignored;
    if (kind == AxisKind::words && std::filesystem::exists(text, ignored)) {
      axis.values = {text};
      return;
    }
    Reader reader{.kind = kind, .tokens = kind == AxisKind::batch && text.find("token") != std::string::npos};
    for (std::string item : items(text)) {
      if (item.empty())
        throw std::invalid_argument(
            fmt::format("\"{}\" has an empty value; write values between commas, such as 1,2,4", text));
      if (kind == AxisKind::words) {
        if (std::find(axis.values.begin(), axis.values.end(), item) == axis.values.end()) axis.values.push_back(item);
        continue;
      }
      if (reader.tokens) {
        for (const std::string_view ending :
             {std::string_view("-tokens"), std::string_view("-token"), std::string_view("tokens")})
          for (auto at = item.find(ending); at != std::string::npos; at = item.find(ending))
            item.erase(at, ending.size());
      }
      if (item.find("..") == std::string::npos) {
        axis.numbers.push_back(reader.number(item));
        continue;
      }
      const Range r = range_of(item, kind == AxisKind::tokens || reader.tokens);
      const double first = reader.number(r.from), last = reader.number(r.to);
      if (first > last)
        throw std::invalid_argument(fmt::format("the range \"{}\" runs downwards; write {}..{}", item, r.to, r.from));
      if (!r.adds && first == 0)
        throw std::invalid_argument(
            fmt::format("the range \"{}\" cannot double from 0; write a step, such as {}+1", item, item));
      // Rounding must not lose the last value of a sum or product.
      const double end = last * (1 + 1e-9);
      for (std::size_t i = 0;; ++i) {
        const double v =
            r.adds ? first + static_cast<double>(i) * r.by : first * std::pow(r.by, static_cast<double>(i));
        if (v > end) break;
        if (kind != AxisKind::factor && v != std::floor(v))
          throw std::invalid_argument(
              fmt::format("the range \"{}\" comes to {}, which is not a whole number", item, v));
        if (axis.numbers.size() >= max_values)
          throw std::invalid_argument(
              fmt::format("the range \"{}\" has more than {} values; write larger steps", item, max_values));
        axis.numbers.push_back(std::min(v, last));
      }
      axis.geometric = axis.geometric || !r.adds;
    }
    std::sort(axis.numbers.begin(), axis.numbers.end());
    axis.numbers.erase(std::unique(axis.numbers.begin(), axis.numbers.end()), axis.numbers.end());
    for (const double v : axis.numbers) axis.values.push_back(reader.text(v));
  };
  read_flag(where, read);
  return axis;
}

}  // namespace napkin::cli
