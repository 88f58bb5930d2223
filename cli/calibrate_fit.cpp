// napkin calibrate fit: measurements → a hardware file. Needs Eigen at build time (NAPKIN_HAS_FIT).
#include <memory>

#include "cli/calibrate.hpp"
#include "cli/calibrate_fit_report.hpp"
#include "model/input_error.hpp"

namespace napkin::cli {

void add_calibrate_fit(CLI::App& calibrate, Session& session) {
  auto* c = calibrate.add_subcommand("fit", "Fit a machine's constants to measurements, and write a hardware file");
  const auto o = std::make_shared<FitRequest>();
  c->add_option("samples", o->samples, "JSON lines, as calibrate measure and import write");
  auto* runs = c->add_option("--runs", o->runs, "Run records with a `measured` member instead: adjusts the few constants of a stack to your own runs")->type_name("RUNS.jsonl");
  c->add_option("--framework", o->framework, "With --runs: the framework they are of (default: what they say)")->needs(runs);
  c->add_option("--profile", o->profile, "With --runs: the framework profile to write")->type_name("FILE")->needs(runs);
  c->add_option("--base", o->base, "The machine whose other constants stay: a catalog name or a file (default: what the samples name)");
  auto* held_out = c->add_option("--held-out,--holdout", o->held_out, "Share of the shapes, drawn by hash, that no constant sees (default 20%)");
  auto* folds = c->add_option("--folds", o->folds, "Also fit so many times, each without another share of the shapes, and report every shape by the fit that did not see it")
      ->check(CLI::Range(2, 20));
  c->add_option("--regime", o->regime, "Clocks of kernels that do not say: burst (default) or sustained");
  c->add_option("-o,--output", o->output, "The hardware file to write");
  c->add_option("--name", o->name, "Its name (default: from the file's)");
  add_format(*c, o->format);
  c->footer("Examples:\n  napkin calibrate fit examples/measurements/kernels.jsonl --base h200 --regime sustained\n"
            "  napkin calibrate fit examples/measurements/kernels.jsonl --base h200 --held-out 30% --folds 3 --format json\n"
            "  napkin calibrate fit --runs examples/runs/measured.jsonl");
  c->callback([o, held_out, folds, &session] {
    if (o->samples.empty() == o->runs.empty())
      throw InputError(o->runs.empty() ? "calibrate fit: needs samples, or --runs RUNS.jsonl" : "calibrate fit: samples and --runs are two fits; give one");
    if (!o->runs.empty() && held_out->count() + folds->count() > 0)
      throw InputError("--runs: a fit to runs holds none out; leave --held-out and --folds away (napkin validate RUNS.jsonl --leave-out does)");
    print(o->runs.empty() ? fit_report(*o, session.exit_code) : runs_report(*o, session.exit_code));
  });
}

#ifndef NAPKIN_HAS_FIT
std::string runs_report(const FitRequest& r, int& exit_code) { return fit_report(r, exit_code); }
std::string fit_report(const FitRequest&, int&) {
  throw InputError("calibrate fit needs Eigen, which this napkin was built without; install libeigen3-dev and build again");
}
#endif

}  // namespace napkin::cli
