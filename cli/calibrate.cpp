// napkin calibrate: constants from a real machine.
#include "cli/calibrate.hpp"

namespace napkin::cli {

void add_calibrate(CLI::App& app, Session& session) {
  CLI::App* c = app.add_subcommand("calibrate", "Measure a machine, fit its constants, check them");
  c->require_subcommand(1);
  c->footer(
      "Examples:\n  napkin calibrate --help\n"
      "  napkin calibrate measure --help");
  add_calibrate_measure(*c, session);
}

}  // namespace napkin::cli
