#include "cli/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/table.hpp"

namespace napkin::cli {
namespace {

constexpr std::size_t width = 64, height = 16;
constexpr double log_span = 8;  // largest / smallest from which an axis is logarithmic
constexpr std::string_view marks = "ox+*#@%&abcdefghijklmnpqrstuvwyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

std::string label(double v) {
  const double a = std::abs(v);
  if (v == 0) return "0";
  for (const auto& [unit, suffix] : {std::pair{1e9, "G"}, std::pair{1e6, "M"}, std::pair{1e4, "k"}})
    if (a >= unit) return fmt::format("{:.4g}{}", v / (unit == 1e4 ? 1e3 : unit), suffix);
  return a >= 1e-3 ? fmt::format("{:.4g}", v) : fmt::format("{:.2e}", v);
}

struct Scale {
  double low = 0, high = 1;
  bool log = false;
  [[nodiscard]] double at(double v) const {  // 0 … 1
    if (high == low) return 0.5;
    return log ? std::log(v / low) / std::log(high / low) : (v - low) / (high - low);
  }
  [[nodiscard]] double value(double share) const {
    return log ? low * std::pow(high / low, share) : low + share * (high - low);
  }
};

Scale scale_of(const std::vector<double>& values) {
  Scale s{.low = *std::min_element(values.begin(), values.end()),
          .high = *std::max_element(values.begin(), values.end())};
  s.log = s.low > 0 && s.high / s.low >= log_span;
  return s;
}

std::string bars(const Plot& p) {
  double most = 0;
  std::size_t wide = 0;
  const auto title = [&](std::size_t i, const Plot::Series& s) {
    return p.series.size() == 1 ? p.words[i] : p.words[i] + " " + s.name;
  };
  for (const auto& s : p.series)
    for (std::size_t i = 0; i < s.y.size(); ++i) {
      wide = std::max(wide, display_width(title(i, s)));
      if (s.y[i]) most = std::max(most, *s.y[i]);
    }
  if (most <= 0) return {};
  std::string out = p.y_title + "\n\n";
  for (std::size_t i = 0; i < p.words.size(); ++i)
    for (const auto& s : p.series) {
      const std::string name = title(i, s);
      out += name + std::string(wide - display_width(name), ' ') + " |";
      if (s.y[i])
        out += std::string(static_cast<std::size_t>(std::lround(*s.y[i] / most * (width - 12))), '#') + ' ' +
               label(*s.y[i]);
      out += '\n';
    }
  return out;
}

}  // namespace

std::string draw(const Plot& p) {
  if (p.x.empty()) return bars(p);
  std::vector<double> xs, ys;
  for (const auto& s : p.series)
    for (std::size_t i = 0; i < s.y.size(); ++i)
      if (s.y[i]) xs.push_back(p.x[i]), ys.push_back(*s.y[i]);
  if (xs.empty()) return {};
  const Scale x = scale_of(xs);
  Scale y = scale_of(ys);
  if (!y.log) y.low = 0;
  if (y.high == y.low) y.high = y.low + 1;

  std::vector<std::string> canvas(height, std::string(width, ' '));
  const auto column = [&](double v) { return static_cast<std::size_t>(std::lround(x.at(v) * (width - 1))); };
  const auto row = [&](double v) { return height - 1 - static_cast<std::size_t>(std::lround(y.at(v) * (height - 1))); };
  // Lines first, so that no dot hides a point.
  for (const auto& s : p.series)
    for (std::size_t i = 1; i < s.y.size(); ++i) {
      if (!s.y[i] || !s.y[i - 1]) continue;
      const std::size_t a = column(p.x[i - 1]), b = column(p.x[i]);
      for (std::size_t c = a + 1; c < b; ++c) {
        const double t = static_cast<double>(c - a) / static_cast<double>(b - a);
        const double share = y.at(*s.y[i - 1]) + t * (y.at(*s.y[i]) - y.at(*s.y[i - 1]));
        canvas[height - 1 - static_cast<std::size_t>(std::lround(share * (height - 1)))][c] = '.';
      }
    }
  for (std::size_t n = p.series.size(); n-- > 0;)
    for (std::size_t i = 0; i < p.x.size(); ++i)
      if (p.series[n].y[i]) canvas[row(*p.series[n].y[i])][column(p.x[i])] = marks[n % marks.size()];

  constexpr std::size_t ticks = 4;
  std::string out = p.y_title + (y.log ? " (log)" : "") + "\n\n";
  for (std::size_t r = 0; r < height; ++r) {
    const bool tick = (height - 1 - r) % ((height - 1) / (ticks - 1)) == 0;
    const double share = static_cast<double>(height - 1 - r) / (height - 1);
    std::string line = fmt::format("{:>10} {}{}", tick ? label(y.value(share)) : "", tick ? '+' : '|', canvas[r]);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  std::string axis = std::string(11, ' ') + '+' + std::string(width, '-') + '\n', numbers(12 + width + 12, ' ');
  for (std::size_t t = 0; t < ticks; ++t) {
    const double share = static_cast<double>(t) / (ticks - 1);
    const std::size_t at = 12 + static_cast<std::size_t>(std::lround(share * (width - 1)));
    axis[at] = '+';
    const std::string text = label(x.value(share));
    const std::size_t start = at - std::min(at, text.size() / 2);
    numbers.replace(start, text.size(), text);
    if (x.high == x.low) break;
  }
  numbers.erase(numbers.find_last_not_of(' ') + 1);
  out += axis + numbers + '\n' + std::string(12, ' ') + p.x_title + (x.log ? " (log)" : "") + '\n';
  if (p.series.size() > 1) {
    out += '\n';
    for (std::size_t n = 0; n < p.series.size(); ++n)
      out += fmt::format("{:>12} {}\n", marks[n % marks.size()], p.series[n].name);
  }
  return out;
}

}  // namespace napkin::cli
