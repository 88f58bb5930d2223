// napkin calibrate check: predicted against measured, by group, the worst first.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "calibrate/samples/check.hpp"
#include "cli/calibrate.hpp"
#include "cli/comparison_view.hpp"
#include "hardware/hardware_input.hpp"
#include "model/text.hpp"

namespace napkin::cli {
namespace {

using namespace napkin::fit;
using Json = nlohmann::ordered_json;

struct Options {
  std::string hardware, held_out = "0", regime;
  std::vector<std::string> samples;
  OutputFormat format = OutputFormat::table;
};

Json to_json(const CheckReport& report, const Samples& samples) {
  Json out{{"schema", 1}, {"rows", samples.rows}, {"groups", comparison_groups(report)}};
  out["too_short"] = report.short_calls;
  out["refused"] = report.refused;
  out["unused"] = samples.unused;
  out["notes"] = samples.notes;
  return out;
}

Table to_table(const CheckReport& report, const Samples& samples, const Hardware& h, const Options& o) {
  auto t = comparison_table(fmt::format("{}: predicted against {} measurements, the worst group first", h.accelerator.title,
                                        format_count(static_cast<double>(samples.rows))),
                            report, o.format);
  for (const auto& n : samples.notes) t.notes.push_back(n);
  for (const auto& [kind, n] : samples.unused) t.notes.push_back(fmt::format("{} rows of {}: not used", n, kind));
  if (!samples.regime_stated && o.regime.empty())
    t.notes.push_back("Some rows do not say under which clocks they ran: taken as a short benchmark (--regime sustained "
                      "for long runs).");
  return t;
}

void run(const Options& o, Session& session) {
  const auto regime = o.regime.empty() ? Regime::burst : regime_of(o.regime);
  const auto h = read_hardware(o.hardware);
  const auto samples = read_samples(o.samples);
  const auto report = check(h, samples, share_of("--held-out", o.held_out), regime);
  if (report.groups.empty()) session.exit_code = 1;
  print(o.format == OutputFormat::json ? to_json(report, samples).dump(2) + '\n'
                                       : render(to_table(report, samples, h, o), o.format));
}

}  // namespace

void add_calibrate_check(CLI::App& calibrate, Session& session) {
  auto* c = calibrate.add_subcommand("check", "How well a hardware file predicts measurements, by group");
  const auto o = std::make_shared<Options>();
  c->add_option("hardware", o->hardware, "A catalog name or a hardware file")->required();
  c->add_option("samples", o->samples, "JSON lines, as calibrate measure and import write")->required();
  c->add_option("--held-out", o->held_out, "Compare only the share of the shapes that a fit with the same share did not see");
  c->add_option("--regime", o->regime, "Clocks of kernels that do not say: burst (default) or sustained");
  add_format(*c, o->format);
  c->footer("Examples:\n  napkin calibrate check h200 examples/measurements/kernels.jsonl\n"
            "  napkin calibrate check h200 examples/measurements/kernels.jsonl --held-out 20% --format csv");
  c->callback([o, &session] { run(*o, session); });
}

}  // namespace napkin::cli
