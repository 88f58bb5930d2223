// napkin frameworks: the profiles, and what each one says.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "model/frameworks/profile_input.hpp"
#include "model/run/spread_input.hpp"
#include "model/input_error.hpp"

namespace napkin::cli {
namespace {

struct Options {
  std::string name;
  int year = 0;
  OutputFormat format = OutputFormat::table;
};

std::string per_parameter(const BytePolicy& b) {
  return fmt::format("{} + {} + {} + {}", double(b.parameter.value), double(b.gradient.value), double(b.master.value),
                     double(b.moments.value));
}

nlohmann::ordered_json json_of(const Profile& p) {
  return {{"name", p.name},
          {"title", p.title},
          {"bytes_per_param",
           {{"param", double(p.bytes.parameter.value)},
            {"grad", double(p.bytes.gradient.value)},
            {"master", double(p.bytes.master.value)},
            {"moments", double(p.bytes.moments.value)},
            {"compute_copy", double(p.bytes.compute_copy.value)}}},
          {"gemm_share", double(p.gemm_share.value)},
          {"default_zero", p.default_zero},
          {"max_zero", p.max_zero},
          {"step_time_residual", find_spread({p.name, {}, {}, {}})->time.nine_in_ten}};
}

void list(OutputFormat format) {
  Table t;
  t.title = "Framework profiles";
  t.columns = {{"name", false}, {"param + grad + master + Adam, bytes", false}, {"ZeRO", true}, {"what", false}};
  nlohmann::ordered_json j = nlohmann::ordered_json::array();
  for (const std::string& name : profile_names()) {
    const Profile p = read_profile(name);
    t.rows.push_back({p.name, per_parameter(p.bytes), std::to_string(p.default_zero), p.title});
    j.push_back(json_of(p));
  }
  print(format == OutputFormat::json ? j.dump(2) + "\n" : render(t, format));
}

void show(const Options& o) {
  const Profile p = read_profile(o.name, o.year);
  if (o.format == OutputFormat::json) print(json_of(p).dump(2) + "\n");
  else if (const auto text = profile_text(o.name)) print(*text);
  else print(json_of(p).dump(2) + "\n");
}

void check(const Options& o) {
  const Profile p = read_profile(o.name, o.year);
  print(fmt::format("{}: ok ({} bytes a parameter)\n", p.name, per_parameter(p.bytes)));
}

}  // namespace

void add_frameworks(CLI::App& app, Session&) {
  auto* command = app.add_subcommand("frameworks", "Framework profiles: byte policy, kernels, overlap");
  command->require_subcommand(1);
  auto o = std::make_shared<Options>();
  auto* lists = command->add_subcommand("list", "All profiles");
  add_format(*lists, o->format);
  lists->callback([o] { list(o->format); });
  auto* shows = command->add_subcommand("show", "One profile, as it stands in its file");
  shows->add_option("name", o->name, "Profile name or file")->required();
  shows->add_option("--year", o->year, "Year of the software");
  add_format(*shows, o->format);
  shows->callback([o] { show(*o); });
  auto* checks = command->add_subcommand("check", "Read a profile and report what is wrong with it");
  checks->add_option("name", o->name, "Profile name or file")->required();
  checks->callback([o] { check(*o); });
  command->footer("Examples:\n  napkin frameworks list\n  napkin frameworks show megatron-lm");
}

}  // namespace napkin::cli
