// napkin calibrate measure|fit|check|import: constants from measurements, and how well they predict.
#include "cli/calibrate.hpp"

#include <fmt/format.h>

#include "cli/option_value.hpp"
#include "model/input/number_input.hpp"
#include "model/input_error.hpp"

namespace napkin::cli {

double share_of(const char* option, const std::string& text) {
  const bool percent = text.ends_with('%');
  const double v = option_value(option, percent ? text.substr(0, text.size() - 1) : text, parse_number) / (percent ? 100 : 1);
  if (!(v >= 0) || v >= 1) throw InputError(fmt::format("{}: {} is not a share; write 20% or 0.2", option, text));
  return v;
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
