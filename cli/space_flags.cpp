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

AxisLimit& limit_named(Space& s, const std::string& flag, std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  if (name == "dp") return s.dp;
  if (name == "mb") name = "micro-batch";
  const auto at = std::find(axis_names.begin(), axis_names.end(), name);
  if (at == axis_names.end()) {
    const std::string close = did_you_mean(name, axis_words());
    throw InputError(fmt::format("{}: \"{}\" is not an axis{}; write one of {}", flag, name,
                                 close.empty() ? "" : "; did you mean \"" + close + "\"?", fmt::join(axis_words(), ", ")));
  }
  return s.limits[static_cast<std::size_t>(at - axis_names.begin())];
}

std::int64_t value_of(const std::string& flag, const std::string& axis, const std::string& text) {
  constexpr std::array<std::string_view, 3> recompute{"none", "selective", "full"};
  if (axis == "recompute") {
    const auto at = std::find(recompute.begin(), recompute.end(), text);
    if (at == recompute.end())
      throw InputError(fmt::format("{}: recompute \"{}\" is not known; write none, selective or full", flag, text));
    return at - recompute.begin();
  }
  if (axis == "sp" && (text == "true" || text == "on")) return 1;
  if (axis == "sp" && (text == "false" || text == "off")) return 0;
  std::int64_t v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc{} || end != text.data() + text.size() || v < 0)
    throw InputError(fmt::format("{}: \"{}\" is not a value of {}; write a whole number", flag, text, axis));
  return v;
}

void read_list(Space& s, const std::string& flag, const std::string& text, bool require) {
  const auto equals = text.find('=');
  if (equals == std::string::npos)
    throw InputError(fmt::format("{}: \"{}\" names no value; write an axis and its values, as {} tp=4,8", flag, text, flag));
  const std::string axis = text.substr(0, equals);
  AxisLimit& limit = limit_named(s, flag, axis);
  std::istringstream values(text.substr(equals + 1));
  for (std::string v; std::getline(values, v, ',');)
    (require ? limit.require : limit.forbid).push_back(value_of(flag, axis, v));
  if ((require ? limit.require : limit.forbid).empty())
    throw InputError(fmt::format("{}: \"{}\" names no value; write, say, {} tp=8", flag, text, flag));
}

}  // namespace

void add_space_options(CLI::App& command, SpaceFlags& f) {
  command.add_option("--require", f.require, "Only these values of an axis: tp=8, pp=2,4, recompute=none, sp=on")
      ->type_name("AXIS=VALUES");
  command.add_option("--forbid", f.forbid, "Not these values of an axis")->type_name("AXIS=VALUES");
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
  for (const std::string& text : f.require) read_list(s, "--require", text, true);
  for (const std::string& text : f.forbid) read_list(s, "--forbid", text, false);
  for (const auto& [axis, v] : f.at_most) limit_named(s, "--max-" + axis, axis).at_most = v;
  // A micro-batch that is asked for is searched, however large.
  const AxisLimit& mb = s.limits[static_cast<std::size_t>(LayoutAxis::micro_batch)];
  s.max_micro_batch = std::max(s.max_micro_batch, mb.at_most);
  for (const std::int64_t v : mb.require) s.max_micro_batch = std::max(s.max_micro_batch, v);
  return s;
}

}  // namespace napkin::cli
