#include "cli/space_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "model/input/document_input.hpp"

namespace napkin::cli {
namespace {

constexpr std::array<std::string_view, 5> limited{"tp", "cp", "pp", "ep", "micro-batch"};

std::vector<std::string_view> axis_words() {
  std::vector<std::string_view> words(axis_names.begin(), axis_names.end());
  words.push_back("dp");
  return words;
}

// An axis by its name, with underscores for dashes and mb for micro-batch.
std::string axis_named(const std::string& flag, std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  if (name == "mb") name = "micro-batch";
  if (name == "cp-comm") name = "cp-exchange";
  const auto words = axis_words();
  if (std::find(words.begin(), words.end(), name) != words.end()) return name;
  const std::string close = did_you_mean(name, words);
  throw InputError(fmt::format("{}: \"{}\" is not an axis{}; write one of {}", flag, name,
                               close.empty() ? "" : "; did you mean \"" + close + "\"?", fmt::join(words, ", ")));
}

LayoutAxis optional_axis(const std::string& flag, const std::string& asked) {
  const std::string name = axis_named(flag, asked);
  std::vector<std::string_view> optional;
  for (const LayoutAxis axis : optional_axes) {
    optional.push_back(axis_names[static_cast<std::size_t>(axis)]);
    if (optional.back() == name) return axis;
  }
  throw InputError(fmt::format("{}: {} is always searched; write one of {}", flag, name, fmt::join(optional, ", ")));
}

// The limits of an axis, which is searched from now on.
AxisLimit& limit_named(Space& s, const std::string& name) {
  if (name == "dp") return s.dp;
  const auto at = static_cast<std::size_t>(std::find(axis_names.begin(), axis_names.end(), name) - axis_names.begin());
  s.opened[at] = true;
  return s.limits[at];
}

std::int64_t number_of(const std::string& flag, const std::string& axis, const std::string& text) {
  std::int64_t v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc{} || end != text.data() + text.size() || v < 0)
    throw InputError(fmt::format("{}: \"{}\" is not a value of {}; write a whole number", flag, text, axis));
  return v;
}

std::int64_t value_of(const std::string& flag, const std::string& axis, std::string text) {
  const auto at = std::find(axis_names.begin(), axis_names.end(), axis);
  const auto names = at == axis_names.end() ? std::span<const std::string_view>{}
                                            : value_names(static_cast<LayoutAxis>(at - axis_names.begin()));
  if (names.empty()) return number_of(flag, axis, text);
  if (axis == "sp" && (text == "true" || text == "1")) text = "on";
  if (axis == "sp" && (text == "false" || text == "0")) text = "off";
  const auto name = std::find(names.begin(), names.end(), text);
  if (name == names.end()) {
    const std::string close = did_you_mean(text, {names.begin(), names.end()});
    throw InputError(fmt::format("{}: {} \"{}\" is not known{}; write {} or {}", flag, axis, text,
                                 close.empty() ? "" : "; did you mean \"" + close + "\"?",
                                 fmt::join(names.first(names.size() - 1), ", "), names.back()));
  }
  return name - names.begin();
}

void read_list(Space& s, const std::string& flag, const std::string& text, bool require) {
  const auto equals = text.find('=');
  if (equals == std::string::npos)
    throw InputError(fmt::format("{}: \"{}\" names no value; write an axis and its values, as {} tp=4,8", flag, text, flag));
  const std::string axis = axis_named(flag, text.substr(0, equals));
  AxisLimit& limit = limit_named(s, axis);
  std::istringstream values(text.substr(equals + 1));
  for (std::string v; std::getline(values, v, ',');)
    (require ? limit.require : limit.forbid).push_back(value_of(flag, axis, v));
  if ((require ? limit.require : limit.forbid).empty())
    throw InputError(fmt::format("{}: \"{}\" names no value; write, say, {} tp=8", flag, text, flag));
}

// "pp<=8", "dp>=2"
void read_limit(Space& s, const std::string& text) {
  const auto at = text.find_first_of("<>");
  if (at == std::string::npos || at == 0 || at + 2 >= text.size() || text[at + 1] != '=')
    throw InputError(fmt::format("--limit: \"{}\" is not a limit; write an axis and a bound, as pp<=8 or dp>=2", text));
  const std::string axis = axis_named("--limit", text.substr(0, at));
  const std::int64_t bound = number_of("--limit", axis, text.substr(at + 2));
  AxisLimit& limit = limit_named(s, axis);
  std::int64_t& side = text[at] == '<' ? limit.at_most : limit.at_least;
  if (text[at] == '<' && bound == 0)
    throw InputError(fmt::format("--limit: \"{}\" leaves no value; write 1 or more, or --require {}=0 where 0 is one", text, axis));
  side = side == 0 ? bound : text[at] == '<' ? std::min(side, bound) : std::max(side, bound);
  if (limit.at_most > 0 && limit.at_least > limit.at_most)
    throw InputError(fmt::format("--limit: {} from {} to {} is empty", axis, limit.at_least, limit.at_most));
}

}  // namespace

std::string axis_value(LayoutAxis axis, std::int64_t value) {
  const auto names = value_names(axis);
  return value >= 0 && value < std::ssize(names) ? std::string(names[static_cast<std::size_t>(value)]) : std::to_string(value);
}

void add_space_options(CLI::App& command, SpaceFlags& f) {
  command
      .add_option("--space", f.space,
                  "default: tp sp cp ep etp pp vpp zero micro-batch recompute; full: also those of --vary but overlap and split")
      ->type_name("NAME")
      ->check(CLI::IsMember({"default", "full"}));
  command
      .add_option("--vary", f.vary,
                  "Search these too: cp-exchange, schedule, split, order, recompute-layers, overlap, offload, zero-group, "
                  "optimizer-offload")
      ->type_name("AXES")
      ->delimiter(',');
  command.add_option("--require", f.require, "Only these values of an axis: tp=8, pp=2,4, recompute=none, sp=on")
      ->type_name("AXIS=VALUES");
  command.add_option("--forbid", f.forbid, "Not these values of an axis")->type_name("AXIS=VALUES");
  command.add_option("--limit", f.limit, "A range of an axis: pp<=8, dp>=2")->type_name("AXIS<=N");
  for (const std::string_view axis : limited)
    command
        .add_option_function<std::int64_t>(
            fmt::format("--max-{}", axis), [&f, axis](const std::int64_t& v) { f.at_most[std::string(axis)] = v; },
            fmt::format("Largest {}", axis))
        ->type_name("N")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000'000}));
}

Space read_space(const SpaceFlags& f) {
  Space s;
  // What is left exposed is never faster, and layers split otherwise than the framework does are a choice of their own.
  if (f.space == "full")
    for (const LayoutAxis axis : optional_axes)
      s.opened[static_cast<std::size_t>(axis)] = axis != LayoutAxis::overlap && axis != LayoutAxis::split;
  for (const std::string& axis : f.vary) s.opened[static_cast<std::size_t>(optional_axis("--vary", axis))] = true;
  for (const std::string& text : f.require) read_list(s, "--require", text, true);
  for (const std::string& text : f.forbid) read_list(s, "--forbid", text, false);
  for (const std::string& text : f.limit) read_limit(s, text);
  for (const auto& [axis, v] : f.at_most) {
    std::int64_t& most = limit_named(s, axis).at_most;
    most = most == 0 ? v : std::min(most, v);
  }
  // A micro-batch that is asked for is searched, however large.
  const AxisLimit& mb = s.limits[static_cast<std::size_t>(LayoutAxis::micro_batch)];
  s.max_micro_batch = std::max(s.max_micro_batch, mb.at_most);
  for (const std::int64_t v : mb.require) s.max_micro_batch = std::max(s.max_micro_batch, v);
  return s;
}

}  // namespace napkin::cli
