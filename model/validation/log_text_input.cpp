#include "model/validation/log_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>

#include "model/input_error.hpp"
#include "model/validation/log_dialects.hpp"
#include "model/validation/statistics.hpp"

namespace napkin::validation {
namespace {

// Lines without terminal colours and carriage returns.
LogLines lines_of(std::string_view text) {
  LogLines lines(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') {
      lines.emplace_back();
    } else if (text[i] == '\x1b' && i + 1 < text.size() && text[i + 1] == '[') {
      while (i < text.size() && std::isalpha(static_cast<unsigned char>(text[i])) == 0) ++i;
    } else if (text[i] != '\r') {
      lines.back() += text[i];
    }
  }
  return lines;
}

std::string trimmed(std::string_view s) {
  const auto first = s.find_first_not_of(" \t"), last = s.find_last_not_of(" \t");
  return first == s.npos ? std::string() : std::string(s.substr(first, last - first + 1));
}

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Steps that are not compilation or warm-up: the first fifth is left out, at least one and at most ten.
std::vector<double> settled(const std::vector<double>& steps) {
  const std::size_t skip = steps.size() < 2 ? 0 : std::clamp<std::size_t>(steps.size() / 5, 1, 10);
  return {steps.begin() + static_cast<std::ptrdiff_t>(skip), steps.end()};
}

}  // namespace

std::optional<double> number_behind(std::string_view line, std::string_view key) {
  const auto found = line.find(key);
  if (found == line.npos) return {};
  std::string digits;
  std::size_t i = found + key.size();
  while (i < line.size() && (line[i] == ' ' || line[i] == ':' || line[i] == '=')) ++i;
  for (; i < line.size() && (std::isdigit(static_cast<unsigned char>(line[i])) != 0 || std::string_view(".,-+eE").find(line[i]) != std::string_view::npos); ++i)
    if (line[i] != ',') digits += line[i];
  while (!digits.empty() && std::isdigit(static_cast<unsigned char>(digits.back())) == 0) digits.pop_back();
  double v = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), v).ec != std::errc{}) return {};
  const bool unit_follows = i + 1 < line.size() && std::isalpha(static_cast<unsigned char>(line[i + 1])) != 0;
  if (i < line.size() && !unit_follows) v *= line[i] == 'K' ? 1e3 : line[i] == 'M' ? 1e6 : line[i] == 'G' || line[i] == 'B' ? 1e9 : 1;
  return v;
}

std::string LogArguments::text(std::string_view name) const {
  const auto at = values_.find(name);
  return at == values_.end() || at->second == "None" || at->second == "null" ? std::string() : at->second;
}
std::optional<double> LogArguments::number(std::string_view name) const {
  const std::string s = text(name);
  return s.empty() ? std::nullopt : number_behind(s, "");
}
std::optional<std::int64_t> LogArguments::whole(std::string_view name) const {
  const auto v = number(name);
  if (!v || *v < 0 || *v > 1e15 || *v != static_cast<double>(static_cast<std::int64_t>(*v))) return {};
  return static_cast<std::int64_t>(*v);
}
bool LogArguments::flag(std::string_view name) const {
  const std::string s = text(name);
  return s == "True" || s == "true";
}
LogArguments dotted_arguments(const LogLines& lines) {
  LogArguments a;
  for (const std::string& line : lines) {
    const auto dots = line.find(" ..");
    if (dots == std::string::npos) continue;
    auto begin = dots;
    while (begin > 0 && is_name(line[begin - 1])) --begin;
    const auto end = line.find_first_not_of('.', dots + 1);
    if (begin < dots && end != std::string::npos) a.set(line.substr(begin, dots - begin), trimmed(line.substr(end)));
  }
  return a;
}

LogArguments prefixed_arguments(const LogLines& lines, std::string_view prefix) {
  LogArguments a;
  for (const std::string& line : lines) {
    const auto at = line.find(prefix);
    if (at == std::string::npos) continue;
    const std::string rest = line.substr(at + prefix.size());
    const auto colon = rest.find(':');
    if (colon != std::string::npos) a.set(trimmed(rest.substr(0, colon)), trimmed(rest.substr(colon + 1)));
  }
  return a;
}

LogArguments assigned_arguments(const LogLines& lines, std::string_view until) {
  LogArguments a;
  for (const std::string& line : lines) {
    if (line.find(until) != std::string::npos) break;
    for (auto equal = line.find('='); equal != std::string::npos; equal = line.find('=', equal + 1)) {
      auto begin = equal;
      while (begin > 0 && is_name(line[begin - 1])) --begin;
      auto end = equal + 1;
      while (end < line.size() && line[end] != ',' && line[end] != ')') ++end;
      if (begin < equal) a.set(line.substr(begin, equal - begin), trimmed(line.substr(equal + 1, end - equal - 1)));
    }
  }
  return a;
}

LogRun read_log(std::string_view text, const std::string& name) {
  const LogLines lines = lines_of(text);
  for (const LogDialect& dialect : log_dialects()) {
    const auto has = [&](const std::string& line) { return line.find(dialect.step_line) != std::string::npos; };
    if (std::none_of(lines.begin(), lines.end(), has)) continue;
    LogDraft draft;
    dialect.read(lines, draft);
    LogRun run;
    nlohmann::ordered_json record{{"framework", dialect.framework}};
    record.update(nlohmann::ordered_json::parse(draft.record));
    auto& measured = record["measured"];
    measured["oom"] = false;
    if (draft.first_stage) measured["memory_of"] = "first_stage";
    const auto time = settled(draft.step_seconds), rate = settled(draft.tokens_per_gpu);
    run.steps = std::max(draft.step_seconds.size(), draft.tokens_per_gpu.size());
    if (!time.empty()) measured["step_time_s"] = percentile(time, 0.5);
    if (!rate.empty()) measured["tokens_per_s_per_gpu"] = percentile(rate, 0.5);
    if (draft.allocated_gib > 0) measured["alloc_gib"] = draft.allocated_gib;
    if (draft.reserved_gib > 0) measured["reserved_gib"] = draft.reserved_gib;
    run.notes = std::move(draft.notes);
    run.notes.push_back(fmt::format("{} step lines, the median of the last {} is measured", run.steps, std::max(time.size(), rate.size())));
    run.record = record.dump();
    return run;
  }
  throw InputError(name + ": has no step line of a log that is known (Megatron-LM, TorchTitan, nanotron, DeepSpeed, MaxText)");
}

}  // namespace napkin::validation
