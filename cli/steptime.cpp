// napkin steptime: a training step by rule of thumb.
#include "cli/calculator.hpp"
#include "model/step/rule_of_thumb.hpp"

namespace napkin::cli {
namespace {

void compute(const Given& g, Answer& a) {
  if (g.typed("--jitter")) {
    const auto slow = expected_maximum(g.number("--ranks", "n"), g.number("--jitter", "sigma"));
    a.add("straggler_slowdown", "slowest rank over the mean", slow, Show::percent);
    if (!g.has_parameters() && !g.typed("--batch")) {
      a.conventions.push_back("times of a step independent and normal, deviation --jitter of the mean");
      a.neglected.push_back("ranks that are slow for good");
      a.follow_up = "and when one node in a thousand is 10 % slow for good?";
      return;
    }
  }
  a.conventions.push_back("6 FLOPs a parameter and token (8 recomputing); bubble (p-1)/(v·m) over ideal; rings at full bandwidth, one direction; dense peak");
  a.neglected.push_back("attention FLOPs, optimizer, pipeline sends, latency, partial overlap: napkin predict has them");
  a.follow_up = "halve the batch: what breaks first?";
  StepShape shape{.tp = g.value("--tp"), .pp = g.value("--pp"), .dp = replicas(g, g.number("--tp", "tp"), g.number("--pp", "pp")).si(), .chunks = g.value("--chunks"),
                  .zero3 = g.typed("--zero3"), .recompute = g.typed("--recompute")};
  for (const double way : {shape.tp, shape.pp, shape.dp, shape.chunks})
    if (!(way >= 1)) throw InputError("--tp, --pp, --dp and --chunks are at least 1");
  const auto batch = g.number("--batch", "batch"), sequence = g.number("--seq", "s"), micro = g.number("--micro-batch", "b");
  const auto tp = g.number("--tp", "tp"), pp = g.number("--pp", "pp");
  const auto gpus = let("n", tp * pp * replicas(g, tp, pp));
  a.add("gpus", "accelerators", gpus);
  a.add("tokens_per_step", "tokens of a step", let("T", batch * sequence));
  a.add("tokens_per_gpu", "... on each", let("T_each", batch * sequence / gpus));
  const bool shaped = g.has_shape_of("--layers") && g.has_shape_of("--hidden");
  const auto hidden = g.has_shape_of("--hidden") ? g.shape("--hidden", "h") : ScalarT<T>(1);
  if (!shaped && shape.tp > 1 && g.has_parameters()) throw InputError("tensor parallelism needs --layers and --hidden, or --model");
  const auto rate = let("rate", g.peak() * g.number("--efficiency", "efficiency"));
  const auto p = g.has_parameters() ? g.active_parameters() : ScalarT<T>(0);
  const auto e = step_estimate(g.scope(), p, batch, sequence, micro, shaped ? g.shape("--layers", "L") : ScalarT<T>(1),
                               hidden, shape, rate, g.link(), g.nic());
  if (shape.pp > 1 || !g.has_parameters()) {
    a.add("micro_batches", "micro-batches of a replica", e.micro_batches);
    a.add("bubble_over_ideal", "bubble over ideal", e.bubble, Show::percent);
    a.add("bubble_over_total", "bubble over total", e.bubble_of_total, Show::percent);
  }
  if (shape.pp > 1 && g.has_shape_of("--hidden")) {
    a.add("sends_s", "messages between stages, one after the other, none hidden (not in the step)", e.sends);
    a.add("sends_fill_factor", "... over those of a full pipeline", e.sends_fill, Show::factor);
  }
  if (!g.has_parameters()) return;
  a.add("flops_per_step", "FLOPs of a step", training_flops(p, batch * sequence, ScalarT<T>(shape.recompute ? 8 : 6)));
  a.add("compute_s", "compute", e.compute);
  a.add("compute_with_bubble_s", "compute and bubble", e.compute_with_bubble);
  if (shape.tp > 1) {
    a.add("tp_s", "TP communication", e.tensor);
    a.add("tp_with_bubble_s", "... stretched by the bubble", e.tensor_with_bubble);
  }
  if (shape.dp > 1) a.add("dp_s", "DP communication", e.data);
  const auto ideal = let("T_ideal", training_flops(p, batch * sequence, ScalarT<T>(6)) / (gpus * g.peak()));
  a.add("step_time_s", "step, nothing hidden", e.exposed);
  a.add("mfu", "MFU, nothing hidden (6P)", let("MFU", ideal / e.exposed), Show::percent);
  a.add("hidden_step_time_s", "step, TP and DP hidden", e.hidden);
  a.add("hidden_mfu", "MFU, TP and DP hidden", let("MFU_hidden", ideal / e.hidden), Show::percent);
  a.add("tokens_per_s", "tokens/s, nothing hidden", let("tokens_per_s", batch * sequence / e.exposed));
}

}  // namespace

void add_steptime(CLI::App& app, Session& session) {
  add_calculator(app, session,
                 {.name = "steptime",
                  .description = "Training step by rule of thumb: compute, bubble, TP and DP communication, MFU; stragglers",
                  .parameters = OptionList{
                      {"--model", Reads::model, "Model, or --params --layers --hidden"},
                      {"--params", Reads::count, "Parameters (of one token)"},
                      {"--layers", Reads::count, "Layers"},
                      {"--hidden", Reads::count, "Model width"},
                      {"--batch", Reads::count, "Sequences of a step", "1024"},
                      {"--seq", Reads::tokens, "Tokens of a sequence", "4k"},
                      {"--micro-batch", Reads::count, "Sequences of a micro-batch", "1"},
                      {"--tp", Reads::count, "Tensor parallelism", "1"},
                      {"--pp", Reads::count, "Pipeline stages", "1"},
                      {"--dp", Reads::count, "Replicas", "1"},
                      {"--gpus", Reads::count, "... or all accelerators"},
                      {"--chunks", Reads::count, "Chunks of a stage (interleaved)", "1"},
                      {"--zero3", Reads::flag, "Weights are sharded: gathered twice, gradients scattered"},
                      {"--recompute", Reads::flag, "The backward recomputes the forward"},
                      {"--efficiency", Reads::share, "Share of the peak that kernels reach", "0.5"},
                      {"--link", Reads::bandwidth, "TP: bandwidth of one rank"},
                      {"--nic", Reads::bandwidth, "DP: bandwidth of one rank"},
                      {"--ranks", Reads::count, "Stragglers: ranks that wait for each other", "1024"},
                      {"--jitter", Reads::share, "Stragglers: deviation of a step's time, of its mean"}} + machine_options,
                  .compute = compute,
                  .examples = "  napkin steptime --params 100B --layers 80 --hidden 10240 --tp 8 --pp 4 --dp 32 --batch 1024\n"
                              "  napkin steptime --ranks 1024 --jitter 2%\n"
                              "  napkin steptime --pp 8 --dp 8,32,128 --batch 1024"});
}

}  // namespace napkin::cli
