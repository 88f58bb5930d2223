// napkin calibrate measure|fit|check|import: constants from measurements, and how well they predict.
#include "cli/calibrate.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "cli/option_value.hpp"
#include "hardware/hardware_input.hpp"
#include "model/frameworks/profile_input.hpp"
#include "model/input/number_input.hpp"
#include "model/input_error.hpp"

namespace napkin::cli {

double share_of(const char* option, const std::string& text) {
  const bool percent = text.ends_with('%');
  const double v = option_value(option, percent ? text.substr(0, text.size() - 1) : text, parse_number) / (percent ? 100 : 1);
  if (!(v >= 0) || v >= 1) throw InputError(fmt::format("{}: {} is not a share; write 20% or 0.2", option, text));
  return v;
}

void refuse_output(const char* option, const std::string& path, const std::vector<std::string>& inputs) {
  namespace fs = std::filesystem;
  if (path.empty()) return;
  std::error_code unknown;
  for (const auto& in : inputs)
    if (!in.empty() && (in == path || fs::equivalent(in, path, unknown)))
      throw InputError(fmt::format("{}: {} is read here and would be overwritten; write another name", option, path));
  if (fs::is_directory(path, unknown)) throw InputError(fmt::format("{}: {} is a folder; write the name of a file in it", option, path));
  if (catalog_text(path) || profile_text(path))
    throw InputError(fmt::format("{0}: \"{1}\" is a built-in name, which would be taken in place of the file; write {1}.json", option, path));
}

Regime regime_of(const std::string& text) {
  if (text == "sustained") return Regime::sustained;
  if (text == "burst") return Regime::burst;
  throw InputError(fmt::format("--regime: \"{}\" is neither sustained nor burst", text));
}

void add_calibrate(CLI::App& app, Session& session) {
  auto* calibrate = app.add_subcommand("calibrate", "Constants from a real machine: measure, fit them, check them, import others' timings");
  calibrate->require_subcommand(1);
  add_calibrate_measure(*calibrate, session);
  add_calibrate_fit(*calibrate, session);
  add_calibrate_check(*calibrate, session);
  add_calibrate_import(*calibrate, session);
  calibrate->footer("Examples:\n  napkin calibrate measure --help\n  napkin calibrate fit examples/measurements/kernels.jsonl --base h200 --regime sustained\n"
                    "  napkin calibrate check h200 examples/measurements/kernels.jsonl --regime sustained\n"
                    "  napkin calibrate import examples/measurements/trace.json");
}

}  // namespace napkin::cli
