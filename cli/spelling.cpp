#include "cli/spelling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "model/input/number_input.hpp"
#include "model/transformer/model_input.hpp"

namespace napkin::cli {
namespace {

struct Split {
  double number = 0;
  std::string unit;  // blanks removed
};

std::optional<Split> split(const std::string& text) {
  std::string s;
  for (const char c : text)
    if (c != ' ' && c != '\t') s += c;
  Split out;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), out.number);
  if (error != std::errc{} || !std::isfinite(out.number)) return std::nullopt;
  out.unit = s.substr(static_cast<std::size_t>(end - s.data()));
  return out;
}

std::string lower(std::string s) {
  std::transform(s.begin(), s.end(), s.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return s;
}

// The time unit that a spelled-out word means.
std::string time_unit(const std::string& word) {
  static constexpr std::array<std::pair<const char*, const char*>, 21> words{
      {{"sec", "s"},     {"secs", "s"},  {"second", "s"},  {"seconds", "s"}, {"m", "min"},      {"mins", "min"},   {"minute", "min"},
       {"minutes", "min"}, {"hr", "h"},    {"hrs", "h"},     {"hour", "h"},    {"hours", "h"},    {"day", "d"},      {"days", "d"},
       {"msec", "ms"},   {"usec", "us"}, {"nsec", "ns"},   {"µs", "us"},     {"millisecond", "ms"}, {"milliseconds", "ms"}, {"microseconds", "us"}}};
  for (const auto& [from, to] : words)
    if (lower(word) == from) return to;
  return word;
}

std::string rate_unit(std::string unit) {  // "TBps", "TB/sec" → "TB/s"
  if (unit.ends_with("/sec")) return unit.substr(0, unit.size() - 2);
  if (unit.ends_with("ps") && unit.size() > 2) return unit.substr(0, unit.size() - 2) + "/s";
  return unit;
}

std::string flop_unit(const std::string& unit) {  // "tflops", "TFLOPs/s", "T" → "TFLOP"
  std::string u = lower(unit);
  for (const std::string_view second : {"/s", "/sec", "persecond"})
    if (u.ends_with(second)) u.erase(u.size() - second.size());
  if (u.ends_with("s")) u.pop_back();
  if (u.ends_with("flop")) u.erase(u.size() - 4);
  if (u.size() > 1 || (u.size() == 1 && std::string_view("kmgtpezy").find(u[0]) == std::string_view::npos)) return unit;
  if (!u.empty()) u[0] = static_cast<char>(std::toupper(u[0]));
  return u + "FLOP";
}

double in_units(double number, const std::string& unit, std::initializer_list<std::pair<const char*, double>> units,
                const std::string& what) {
  for (const auto& [name, si] : units)
    if (unit == name) return number * si;
  throw std::invalid_argument(what);
}

// "bidirectional" behind a bandwidth: what both directions carry together.
double directions_of(std::string& unit) {
  for (const std::string_view word : {"bidirectional", "bidir", "bidi", "bothways", "bothdirections", "duplex"})
    if (unit.size() > word.size() && lower(unit).ends_with(word)) {
      unit.erase(unit.size() - word.size());
      while (!unit.empty() && (unit.back() == ',' || unit.back() == '-' || unit.back() == '(')) unit.pop_back();
      return 2;
    }
  for (const std::string_view word : {"unidirectional", "unidir", "oneway", "one-way", "onedirection", "eachway"})
    if (unit.size() > word.size() && lower(unit).ends_with(word)) {
      unit.erase(unit.size() - word.size());
      while (!unit.empty() && (unit.back() == ',' || unit.back() == '-' || unit.back() == '(')) unit.pop_back();
      return 1;
    }
  return 1;
}

double read_rate(const Split& s, const std::string& text) {
  std::string per = s.unit;
  if (per.starts_with("/")) per.erase(0, 1);
  if (per.starts_with("per")) per.erase(0, 3);
  if (const auto dash = per.rfind('-'); dash != std::string::npos) per = per.substr(dash + 1);  // node-day
  if (per.empty()) return s.number;
  // "1/180days", "1 per 180 days": once in so long.
  double once = 1;
  if (const auto [end, error] = std::from_chars(per.data(), per.data() + per.size(), once); error == std::errc{} && once > 0)
    per.erase(0, static_cast<std::size_t>(end - per.data()));
  else once = 1;
  return s.number / once / in_units(1, time_unit(per), {{"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}, {"year", 31536000}},
                             fmt::format("\"{}\" is not a rate; write 20/s or 6.5e-3/day", text));
}

}  // namespace

double read_spelled(Reads reads, const std::string& text) {
  const auto s = split(text);
  if (!s) throw std::invalid_argument(fmt::format("\"{}\" is not a number with a unit", text));
  if (s->number < 0) throw std::invalid_argument(fmt::format("\"{}\" is negative", text));
  const bool bare = s->unit.empty();
  const std::string number = fmt::format("{:.17g}", s->number);
  switch (reads) {
    case Reads::bytes:
      if (bare) return s->number;
      // All in one case: people mean bytes.
      if (s->unit == lower(s->unit) && s->unit.ends_with("b") && s->unit.size() < 4) {
        std::string unit = s->unit;
        std::transform(unit.begin(), unit.end(), unit.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
        if (unit.size() == 3) unit[1] = 'i';
        return parse_bytes(number + " " + unit).si();
      }
      return parse_bytes(number + " " + (s->unit == "bytes" ? "B" : s->unit)).si();
    case Reads::bandwidth: {
      std::string unit = s->unit;
      const double directions = directions_of(unit);
      return (unit.empty() ? s->number : parse_bandwidth(number + " " + rate_unit(unit)).si()) / directions;
    }
    case Reads::flop_rate: return bare ? s->number : parse_flop_rate(number + " " + flop_unit(s->unit) + "/s").si();
    case Reads::flops:
      if (bare) return s->number;
      return in_units(s->number, flop_unit(s->unit),
                      {{"FLOP", 1}, {"KFLOP", 1e3}, {"MFLOP", 1e6}, {"GFLOP", 1e9}, {"TFLOP", 1e12}, {"PFLOP", 1e15}, {"EFLOP", 1e18}, {"ZFLOP", 1e21}, {"YFLOP", 1e24}},
                      fmt::format("\"{}\" is not a number of FLOPs; write 6.3e24 or 1.2 TFLOP", text));
    case Reads::seconds:
      if (bare) return s->number;
      if (s->unit.starts_with("year")) return s->number * 31536000;
      if (s->unit.starts_with("week")) return s->number * 604800;
      return parse_seconds(number + " " + time_unit(s->unit)).si();
    case Reads::frequency: return bare ? s->number : parse_frequency(number + " " + s->unit).si();
    case Reads::rate: return read_rate(*s, text);
    case Reads::share: {
      const double v = s->unit == "%" ? s->number / 100 : s->number;
      if ((!bare && s->unit != "%") || v > 1) throw std::invalid_argument(fmt::format("\"{}\" is not a share; write 40% or 0.4", text));
      return v;
    }
    case Reads::tokens: {
      std::string unit = s->unit;
      for (const std::string_view ending : {"-tokens", "tokens", "-token", "token"})
        if (unit.ends_with(ending)) {
          unit.erase(unit.size() - ending.size());
          break;
        }
      if (unit.empty()) return s->number;
      return static_cast<double>(parse_tokens(number + unit));
    }
    case Reads::count: return parse_count(text);
    case Reads::flag: return s->number;
    default: return parse_number(text);
  }
}

BytesPerSecond read_bandwidth(const std::string& text) { return BytesPerSecond::si(read_spelled(Reads::bandwidth, text)); }

Architecture shape_of(const std::function<std::optional<std::int64_t>(std::string_view)>& size) {
  nlohmann::json j{{"name", "the given shape"}};
  const auto put = [&](const char* key, std::string_view flag, std::optional<std::int64_t> otherwise = std::nullopt) {
    const auto v = size(flag);
    if (v) j[key] = *v;
    else if (otherwise) j[key] = *otherwise;
  };
  put("layers", "--layers");
  put("hidden", "--hidden");
  put("ffn", "--ffn");
  put("heads", "--heads", 1);
  put("kv_heads", "--kv-heads");
  put("head_dim", "--head-dim");
  put("vocab", "--vocab", 1);
  j["gated"] = !size("--ungated").has_value();
  j["tied_embeddings"] = size("--tied").has_value();
  j["position"] = "rope";
  j["bias"] = false;
  j["norm"] = "rmsnorm";
  if (size("--experts")) {
    auto& moe = j["moe"];
    const auto member = [&](const char* key, std::string_view flag) {
      if (const auto v = size(flag)) moe[key] = *v;
    };
    member("experts", "--experts");
    member("top_k", "--top-k");
    member("ffn", "--expert-ffn");
    member("shared_experts", "--shared-experts");
    member("dense_layers", "--dense-layers");
  }
  return read_record_model(Document::parse(j.dump(), "the given shape").root());
}

}  // namespace napkin::cli
