// napkin goodput: failures, checkpoints, and the share of the time that trains.
#include "cli/calculator.hpp"
#include "model/reliability/checkpoint.hpp"
#include "model/reliability/failures.hpp"

namespace napkin::cli {
namespace {

// MTTF of the job, from the observation that is given.
SecondsT<T> mttf(const Given& g, ScalarT<T> gpus) {
  if (g.typed("--job-mttf")) return g.seconds("--job-mttf", "M");
  if (g.typed("--gpu-mttf")) return job_mttf(g.seconds("--gpu-mttf", "M_unit"), gpus);
  if (g.typed("--node-mttf")) return job_mttf(g.seconds("--node-mttf", "M_node"), let("nodes", gpus / g.number("--per-node", "per_node")));
  if (g.typed("--node-rate")) {
    const auto nodes = let("nodes", gpus / g.number("--per-node", "per_node"));
    return let("M", 1 / (nodes * g.rate("--node-rate", "r_node")), "kokolis2024revisiting");
  }
  if (g.typed("--failures")) {
    const auto observed = g.typed("--observed-gpus") ? g.number("--observed-gpus", "n_observed") : gpus;
    return job_mttf(unit_mttf(observed, g.seconds("--observed", "observed"), g.number("--failures", "failures")), gpus);
  }
  throw InputError("how often does it fail? give --gpu-mttf, --node-mttf, --node-rate, --failures with --observed, or --job-mttf");
}

void checkpoints(const Given& g, Answer& a) {
  BytesT<T> size{};
  if (g.typed("--size")) {
    size = g.bytes("--size", "size");
    if (g.has_parameters()) a.add("bytes_per_param", "bytes a parameter", let("b", size / g.parameters()));
  } else if (g.has_parameters()) {
    size = checkpoint_bytes(g.parameters(), g.bytes("--bytes-per-param", "b"));
    a.add("checkpoint_bytes", "checkpoint", size, Show::gib);
  }
  if (!(size.si() > 0)) return;
  if (g.typed("--gpus")) a.add("checkpoint_bytes_per_gpu", "... of one accelerator", let("size_each", size / g.number("--gpus", "n")), Show::gib);
  if (g.typed("--bandwidth")) a.add("checkpoint_time_s", "writing or reading it", checkpoint_time(size, g.bandwidth("--bandwidth", "B")));
  if (g.typed("--node-bandwidth"))
    a.add("checkpoint_time_s", "writing or reading it, nodes in parallel",
          checkpoint_time(size, let("B", g.number("--gpus", "n") / g.number("--per-node", "per_node") * g.bandwidth("--node-bandwidth", "B_node"))));
}

void compute(const Given& g, Answer& a) {
  a.conventions.push_back("interval = computing between two checkpoints; first order: 1 - delta/tau - (tau/2 + R)/M; ETTR without queueing");
  a.neglected.push_back("failures in bursts, bad nodes that fail again, stragglers, waiting for spare nodes");
  a.follow_up = "measured MTTF of small jobs is below what the node rate predicts: why, and what does it do to the interval?";
  checkpoints(g, a);
  const bool fails = g.typed("--job-mttf") || g.typed("--gpu-mttf") || g.typed("--node-mttf") || g.typed("--node-rate") || g.typed("--failures");
  if (!fails && !a.figures.empty()) return;
  const auto gpus = g.typed("--gpus") ? g.number("--gpus", "n") : g.typed("--observed-gpus") ? g.number("--observed-gpus", "n") : ScalarT<T>(1);
  const auto m = mttf(g, gpus);
  if (g.typed("--failures")) {
    const auto observed = g.typed("--observed-gpus") ? g.number("--observed-gpus", "n_observed") : gpus;
    const auto unit = unit_mttf(observed, g.seconds("--observed", "observed"), g.number("--failures", "failures"));
    a.add("gpu_mttf_s", "MTTF of one accelerator", unit);
    a.add("observed_failures_per_day", "failures/day where it was observed", let("per_day", g.number("--failures", "failures") * SecondsT<T>(86400 * second) / g.seconds("--observed", "observed")));
    a.add("failures_per_1000_node_days", "failures in 1,000 node-days", let("per_1000", 1000 * SecondsT<T>(86400 * second) * g.number("--per-node", "per_node") / unit));
    a.add("gpu_failures_per_year", "failures of one accelerator a year", let("per_year", SecondsT<T>(31536000 * second) / unit));
  }
  a.add("mttf_s", "MTTF of the job", m);
  a.add("failures_per_day", "failures/day", failures_in(SecondsT<T>(86400 * second), m));
  if (g.typed("--run")) {
    const auto run = g.seconds("--run", "run");
    a.add("survival", "P(no failure in the run)", survival(run, m), Show::percent);
    a.add("failures_in_run", "failures in the run", failures_in(run, m));
  }
  // What a checkpoint blocks: as given, or the time it takes to write.
  SecondsT<T> write{};
  if (g.typed("--write")) {
    write = g.seconds("--write", "delta");
  } else {
    for (const auto& f : a.figures)
      if (f.key == "checkpoint_time_s") write = let("delta", SecondsT<T>::of(f.si, f.why));
  }
  if (!(write.si() > 0)) return;
  const auto restart = g.seconds("--restart", "R");
  const auto young = young_interval(write, m), exact = exact_interval(g.scope(), write, m);
  a.add("young_interval_s", "interval, Young", young);
  a.add("daly_interval_s", "interval, Daly", daly_interval(write, m));
  a.add("exact_interval_s", "interval, exact for exponential failures", exact);
  const auto interval = g.typed("--interval") ? g.seconds("--interval", "tau") : young;
  a.add("interval_s", g.typed("--interval") ? "interval, as given" : "interval taken: Young's", let("tau", interval));
  a.add("goodput", "goodput, first order", first_order_goodput(interval, write, restart, m), Show::percent);
  a.add("goodput_exact", "goodput, exact", exact_goodput(interval, write, restart, m), Show::percent);
  a.add("goodput_best", "... at the exact interval", exact_goodput(exact, write, restart, m), Show::percent);
  a.add("ettr", "ETTR", effective_training_time_ratio(interval, write, restart, m), Show::percent);
  a.add("lost_to_writing", "lost to writing", let("lost_writing", write / interval), Show::percent);
  a.add("lost_to_redoing", "lost to computing again", let("lost_redoing", interval / 2 / m), Show::percent);
  a.add("lost_to_restarts", "lost to restarts", let("lost_restarts", restart / m), Show::percent);
}

}  // namespace

void add_goodput(CLI::App& app, Session& session) {
  add_calculator(app, session,
                 {.name = "goodput",
                  .description = "Failures and checkpoints: MTTF, failures a day, best interval, goodput, ETTR, checkpoint size and time",
                  .parameters = OptionList{
                      {"--gpus", Reads::count, "Accelerators of the job"},
                      {"--gpu-mttf", Reads::seconds, "MTTF of one accelerator: 50676 h"},
                      {"--node-mttf", Reads::seconds, "... or of one node: 180 days"},
                      {"--node-rate", Reads::rate, "Failures of one node: 6.5e-3/day"},
                      {"--per-node", Reads::count, "Accelerators of a node", "8"},
                      {"--failures", Reads::number, "Observed: so many interruptions (with --observed, --observed-gpus)"},
                      {"--observed", Reads::seconds, "Observed: in this time, 54 days"},
                      {"--observed-gpus", Reads::count, "Observed: on this many accelerators (default --gpus)"},
                      {"--job-mttf", Reads::seconds, "MTTF of the job, when known"},
                      {"--run", Reads::seconds, "Length of a run: 24 h"},
                      {"--write", Reads::seconds, "What a checkpoint blocks training for"},
                      {"--restart", Reads::seconds, "Detecting, restarting and loading", "10 min"},
                      {"--interval", Reads::seconds, "Computing between checkpoints (default: Young's)"},
                      {"--model", Reads::model, "Checkpoint of this model, or of --params"},
                      {"--params", Reads::count, "Parameters"},
                      {"--bytes-per-param", Reads::bytes, "bf16 weights, fp32 master and moments", "14"},
                      {"--size", Reads::bytes, "Bytes of a checkpoint, when known"},
                      {"--bandwidth", Reads::bandwidth, "Storage, all together: 25 GB/s"},
                      {"--node-bandwidth", Reads::bandwidth, "Storage, each node in parallel: 2 GB/s"}},
                  .compute = compute,
                  .examples = "  napkin goodput --failures 419 --observed 54days --observed-gpus 16384 --gpus 1024 --write 60s --restart 10min\n"
                              "  napkin goodput --gpus 1024 --job-mttf 49.5h --params 100B --node-bandwidth 2GB/s\n"
                              "  napkin goodput --node-rate 6.5e-3/day --gpus 16384 --write 1min --restart 5min --interval 30min"});
}

}  // namespace napkin::cli
