#include "model/input/number_input.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <stdexcept>

namespace napkin {
namespace {

struct Unit {
  std::string_view name;
  double si;
};

constexpr std::array byte_units{Unit{"B", 1},        Unit{"kB", 1e3},      Unit{"KB", 1e3},      Unit{"MB", 1e6},
                                Unit{"GB", 1e9},     Unit{"TB", 1e12},     Unit{"PB", 1e15},     Unit{"KiB", 0x1p10},
                                Unit{"MiB", 0x1p20}, Unit{"GiB", 0x1p30},  Unit{"TiB", 0x1p40},  Unit{"PiB", 0x1p50}};
// What people write for bits; refused where bytes are meant.
constexpr std::array bit_units{Unit{"b", 1},       Unit{"kb", 1e3},     Unit{"Mb", 1e6},      Unit{"Gb", 1e9},
                               Unit{"Tb", 1e12},   Unit{"bit", 1},      Unit{"kbit", 1e3},    Unit{"Mbit", 1e6},
                               Unit{"Gbit", 1e9},  Unit{"Tbit", 1e12},  Unit{"Kib", 0x1p10},  Unit{"Mib", 0x1p20},
                               Unit{"Gib", 0x1p30}};
constexpr std::array bandwidth_units{
    Unit{"B/s", 1},         Unit{"kB/s", 1e3},       Unit{"MB/s", 1e6},       Unit{"GB/s", 1e9},
    Unit{"TB/s", 1e12},     Unit{"PB/s", 1e15},      Unit{"KiB/s", 0x1p10},   Unit{"MiB/s", 0x1p20},
    Unit{"GiB/s", 0x1p30},  Unit{"TiB/s", 0x1p40},   Unit{"b/s", 1.0 / 8},    Unit{"kb/s", 1e3 / 8},
    Unit{"Mb/s", 1e6 / 8},  Unit{"Gb/s", 1e9 / 8},   Unit{"Tb/s", 1e12 / 8},  Unit{"kbit/s", 1e3 / 8},
    Unit{"Mbit/s", 1e6 / 8}, Unit{"Gbit/s", 1e9 / 8}, Unit{"Tbit/s", 1e12 / 8}};
constexpr std::array second_units{Unit{"ns", 1e-9}, Unit{"us", 1e-6}, Unit{"µs", 1e-6}, Unit{"ms", 1e-3},
                                  Unit{"s", 1},     Unit{"min", 60},  Unit{"h", 3600},  Unit{"d", 86400}};
constexpr std::array flop_rate_units{Unit{"FLOP/s", 1},     Unit{"MFLOP/s", 1e6},  Unit{"GFLOP/s", 1e9},
                                     Unit{"TFLOP/s", 1e12}, Unit{"PFLOP/s", 1e15}, Unit{"EFLOP/s", 1e18}};
constexpr std::array frequency_units{Unit{"Hz", 1}, Unit{"kHz", 1e3}, Unit{"MHz", 1e6}, Unit{"GHz", 1e9}};
constexpr std::array power_units{Unit{"mW", 1e-3}, Unit{"W", 1}, Unit{"kW", 1e3}, Unit{"MW", 1e6}};

constexpr std::array ten{Unit{"k", 1e3},      Unit{"K", 1e3},      Unit{"M", 1e6},     Unit{"m", 1e6},
                         Unit{"B", 1e9},      Unit{"b", 1e9},      Unit{"G", 1e9},     Unit{"T", 1e12},
                         Unit{"t", 1e12},     Unit{"Ki", 0x1p10},  Unit{"Mi", 0x1p20}, Unit{"Gi", 0x1p30},
                         Unit{"Ti", 0x1p40}};
constexpr std::array two{Unit{"k", 0x1p10},  Unit{"K", 0x1p10},  Unit{"M", 0x1p20},  Unit{"m", 0x1p20},
                         Unit{"G", 0x1p30},  Unit{"T", 0x1p40},  Unit{"Ki", 0x1p10}, Unit{"Mi", 0x1p20},
                         Unit{"Gi", 0x1p30}, Unit{"Ti", 0x1p40}};

constexpr double max_exact_integer = 0x1p53;

// Quotes user text for a one-line message: control characters are shown as '?', long text is cut.
std::string quoted(std::string_view text) {
  constexpr std::size_t limit = 60;
  std::string s = "\"";
  for (const char c : text.substr(0, limit)) s += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return s + (text.size() > limit ? "...\"" : "\"");
}

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw std::invalid_argument(quoted(text) + ' ' + why);
}

std::string_view trimmed(std::string_view s) {
  const auto first = s.find_first_not_of(" \t");
  if (first == s.npos) return {};
  return s.substr(first, s.find_last_not_of(" \t") - first + 1);
}

struct Split {
  double number;
  std::string_view rest;  // after the number, blanks removed
};

// The number `text` starts with; `what` completes "… is not a …".
Split split(std::string_view text, const std::string& what) {
  const auto s = trimmed(text);
  double v{};
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (error == std::errc::result_out_of_range) refuse(text, "is out of range; write a smaller number");
  if (error != std::errc{}) refuse(text, "is not " + what);
  if (!std::isfinite(v)) refuse(text, "is not finite; write " + what);
  return {v, trimmed(s.substr(static_cast<std::size_t>(end - s.data())))};
}

const Unit* find(std::span<const Unit> units, std::string_view name) {
  for (const auto& u : units)
    if (u.name == name) return &u;
  return nullptr;
}

double finite(std::string_view text, double v) {
  if (!std::isfinite(v)) refuse(text, "is out of range; write a smaller number");
  return v;
}

// "number unit" in SI. `what` is "a bandwidth", `choices` the units to offer.
double quantity(std::string_view text, std::span<const Unit> units, const std::string& what,
                const std::string& choices, bool zero_allowed) {
  const auto help = what + "; write a number, a space and one of " + choices;
  const auto [number, rest] = split(text, help);
  const auto* unit = find(units, rest);
  if (unit == nullptr) refuse(text, rest.empty() ? "has no unit; write it with one of " + choices : "is not " + help);
  if (number < 0) refuse(text, "is negative; write " + what + " above zero");
  if (number == 0 && !zero_allowed) refuse(text, "is zero; write " + what + " above zero");
  return finite(text, number * unit->si);
}

double suffixed(std::string_view text, std::span<const Unit> suffixes, const std::string& what) {
  const auto [number, rest] = split(text, what);
  double scale = 1;
  if (!rest.empty()) {
    const auto* suffix = find(suffixes, rest);
    if (suffix == nullptr) refuse(text, "is not " + what);
    scale = suffix->si;
  }
  if (number < 0) refuse(text, "is negative; write " + what);
  return finite(text, number * scale);
}

std::int64_t whole(std::string_view text, double v, const std::string& what) {
  if (v != std::floor(v)) refuse(text, "is not a whole number; write " + what);
  if (v < 1) refuse(text, "is zero; write " + what + " of at least 1");
  if (v > max_exact_integer) refuse(text, "is too large; write at most 2^53");
  return static_cast<std::int64_t>(v);
}

std::string shortest(double v) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), v).ptr;
  return {buffer.data(), end};
}

}  // namespace

double parse_number(std::string_view text) {
  const std::string what = "a number such as 0.9 or 1.5e3";
  const auto [number, rest] = split(text, what);
  if (!rest.empty()) refuse(text, "is not " + what);
  return number;
}

double parse_count(std::string_view text) {
  return suffixed(text, ten, "a count; write digits and, if you like, k, M, B or T (powers of ten), such as 7B");
}

std::int64_t parse_tokens(std::string_view text) {
  const std::string what = "a number of tokens; write digits and, if you like, k, M, G or T (powers of 1,024), such as 4k";
  return whole(text, suffixed(text, two, what), "a number of tokens");
}

Bytes parse_bytes(std::string_view text) {
  const std::string what = "a capacity", choices = "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB";
  const auto [number, rest] = split(text, what + "; write a number, a space and one of " + choices);
  if (const auto* bits = find(bit_units, rest))
    refuse(text, "is a number of bits; a capacity is in bytes: write \"" + shortest(number * bits->si / 8 / 1e9) +
                     " GB\" if bits were meant, else B for bytes");
  return Bytes::si(quantity(text, byte_units, what, choices, true));
}

BytesPerSecond parse_bandwidth(std::string_view text) {
  return BytesPerSecond::si(quantity(text, bandwidth_units, "a bandwidth", "B/s, GB/s, Gb/s, MB/s, TB/s", false));
}

Seconds parse_seconds(std::string_view text) {
  return Seconds::si(quantity(text, second_units, "a time", "ns, us, ms, s, min, h, d", true));
}

FlopsPerSecond parse_flop_rate(std::string_view text) {
  return FlopsPerSecond::si(
      quantity(text, flop_rate_units, "a FLOP rate", "GFLOP/s, TFLOP/s, PFLOP/s", false));
}

Hertz parse_frequency(std::string_view text) {
  return Hertz::si(quantity(text, frequency_units, "a frequency", "Hz, MHz, GHz", false));
}

Watts parse_power(std::string_view text) {
  return Watts::si(quantity(text, power_units, "a power", "W, kW", false));
}

Batch parse_batch(std::string_view text) {
  const auto s = trimmed(text);
  for (const std::string_view ending : {"-tokens", "tokens", "-token", "token"}) {
    if (s.size() <= ending.size() || !s.ends_with(ending)) continue;
    try {
      return {.sequences = 0, .tokens = parse_tokens(s.substr(0, s.size() - ending.size()))};
    } catch (const std::invalid_argument&) {
      refuse(text, "is not a batch; write sequences in digits, such as 1024, or tokens, such as 4M-tokens");
    }
  }
  const std::string what = "a batch; write sequences in digits, such as 1024, or tokens, such as 4M-tokens";
  const auto [number, rest] = split(text, what);
  if (find(two, rest) != nullptr)
    refuse(text, "could be sequences or tokens; write sequences in digits, such as 1024, or " + std::string(s) +
                     "-tokens");
  if (!rest.empty()) refuse(text, "is not " + what);
  if (number < 0) refuse(text, "is negative; write " + what);
  return {.sequences = whole(text, number, "a number of sequences"), .tokens = 0};
}

}  // namespace napkin
