// napkin calibrate measure: microbenchmarks on the GPUs of this host.
#include <fmt/format.h>

#include <memory>

#include "calibrate/measure/measure.hpp"
#include "cli/calibrate.hpp"

namespace napkin::cli {

void add_calibrate_measure(CLI::App& calibrate, Session& session) {
  CLI::App* c = calibrate.add_subcommand("measure", "Measure the GPUs of this host, under mpirun those of several: kernels, memory, launch, collectives");
  const auto o = std::make_shared<measure::Options>();
  c->add_option("--groups", o->groups, "launch, memory, elementwise, gemm, attention, metrics, collective, peer (all)")->delimiter(',')->type_name("GROUP,...");
  c->add_option("--devices", o->devices, "Ordinals of the devices (all that are visible); the first runs the kernels")->delimiter(',')->type_name("N,...");
  c->add_option("--out", o->out, "File of the samples, JSON lines (samples.jsonl)")->type_name("FILE");
  c->add_option("--libraries", o->libraries, "Folders of CUDA's libraries, joined by ':', where the loader does not find them")->type_name("DIRS");
  c->add_flag("--quick", o->quick, "Few cases of each group, within a minute");
  c->add_flag("--resume", o->resume, "Go on with FILE after its last case");
  c->add_flag("--nvls", o->nvls, "Let NCCL use NVLink multicast");
  c->add_flag("--list", o->list, "Print the cases and their number, measure nothing");
  c->footer(
      "Examples:\n  napkin calibrate measure --quick --out quick.jsonl   # needs a GPU\n"
      "  napkin calibrate measure --groups gemm,memory --resume --out h.jsonl");
  c->callback([o, &session] {
    const auto r = measure::run(*o);
    if (o->list || r.silent) return;
    print(fmt::format("{}: {} cases measured, {} skipped, {} failed, {} from before, in {:.0f} s\n", o->out, r.measured, r.skipped, r.failed, r.resumed, r.seconds));
    if (r.failed > 0) {
      note(fmt::format("{} cases failed; their lines in {} say why", r.failed, o->out));
      session.exit_code = 1;
    }
  });
}

}  // namespace napkin::cli
