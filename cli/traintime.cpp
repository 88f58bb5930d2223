// napkin traintime: a training run in FLOPs, days, accelerator-hours and money.
#include "cli/calculator.hpp"
#include "model/step/rule_of_thumb.hpp"

namespace napkin::cli {
namespace {

Watts plain_watt() { return Watts::si(1); }

void compute(const Given& g, Answer& a) {
  std::optional<ScalarT<T>> gpus;
  if (g.typed("--gpus")) gpus = g.number("--gpus", "n");
  else if (g.typed("--dp") || g.typed("--tp") || g.typed("--pp") || g.typed("--cp"))
    gpus = let("n", g.number("--tp", "tp") * g.number("--cp", "cp") * g.number("--pp", "pp") * g.number("--dp", "dp"));
  if (gpus && !g.typed("--gpus")) a.add("gpus", "accelerators: tp x cp x pp x dp", *gpus);
  // 1. Steps.
  std::optional<ScalarT<T>> step_tokens;
  if (g.typed("--batch-tokens")) step_tokens = g.number("--batch-tokens", "T_step");
  else if (g.typed("--sequences")) step_tokens = let("T_step", g.number("--sequences", "sequences") * g.number("--seq", "s"));
  else if (g.typed("--per-replica")) step_tokens = let("T_step", g.number("--per-replica", "sequences") * g.number("--dp", "dp") * g.number("--seq", "s"));
  if (step_tokens) {
    a.add("tokens_per_step", "tokens of a step", *step_tokens);
    if (gpus) a.add("tokens_per_gpu", "... on each", let("T_each", *step_tokens / *gpus));
  }
  // 2. Work.
  const bool sized = g.has_parameters();
  std::optional<FlopsT<T>> work;
  if (sized) {
    const auto p = g.active_parameters();
    const auto factor = g.number("--flops-per-param", "factor");
    a.add("flops_per_token", "FLOPs of a token", let("F_token", factor * p * flop));
    const auto tokens = g.typed("--tokens") ? g.number("--tokens", "T") : optimal_tokens(p, g.number("--ratio", "ratio"));
    a.add("tokens", g.typed("--tokens") ? "tokens" : "tokens: compute-optimal", tokens);
    a.add("tokens_per_param", "... a parameter", let("ratio", tokens / p));
    work = training_flops(p, tokens, factor);
    a.add("flops", "FLOPs of the run", *work);
    if (step_tokens) {
      a.add("flops_per_step", "FLOPs of a step", training_flops(p, *step_tokens, factor));
      a.add("steps", "steps", let("steps", tokens / *step_tokens));
    }
  } else if (g.typed("--flops")) {
    work = g.flops("--flops", "F");
    // C = 6 N D, D = ratio N
    const auto p = let("P_opt", sqrt(*work / (1 * flop) / (g.number("--flops-per-param", "factor") * g.number("--ratio", "ratio"))), "hoffmann2022");
    a.add("optimal_params", "compute-optimal parameters", p);
    a.add("optimal_tokens", "compute-optimal tokens", optimal_tokens(p, g.number("--ratio", "ratio")));
  }
  // 3. Time.
  std::optional<SecondsT<T>> time;
  if (g.typed("--time")) {
    time = g.seconds("--time", "T_run");
    if (work) {
      const auto needed = let("n_needed", *work / (*time * g.peak() * g.number("--mfu", "MFU")));
      a.add("gpus_needed", "accelerators for that time", let("n_ceil", ceil(needed)));
      if (gpus) a.add("mfu_needed", "MFU for that time on --gpus", let("MFU_needed", *work / (*time * *gpus * g.peak())), Show::percent);
    }
  } else if (work && gpus) {
    time = time_at(*work, *gpus, g.peak(), g.number("--mfu", "MFU"));
    a.add("time_s", "time", *time, Show::days);
    a.add("days", "days", let("days", *time / SecondsT<T>(86400 * second)));
    if (step_tokens && sized) {
      const auto step = time_at(training_flops(g.active_parameters(), *step_tokens, g.number("--flops-per-param", "factor")), *gpus, g.peak(), g.number("--mfu", "MFU"));
      a.add("step_time_s", "a step", step);
      a.add("tokens_per_s", "tokens/s", let("tokens_per_s", *step_tokens / step));
    }
  }
  if (time && gpus) {
    const auto hours = let("gpu_hours", *gpus * *time / SecondsT<T>(3600 * second));
    a.add("gpu_hours", "accelerator-hours", hours);
    a.add("gpu_years", "accelerator-years", let("gpu_years", hours / 8760));
    if (g.typed("--power") || (g.typed("--hw") && g.hardware().accelerator.power)) {
      const auto power = g.typed("--power") ? g.number("--power", "watts") : let("watts", g.scope().read("power", *g.hardware().accelerator.power) / plain_watt());
      a.add("energy_kwh", "energy, kWh", let("energy", hours * power * g.number("--pue", "PUE") / 1000));
    }
    if (g.typed("--price") || g.hardware().accelerator.price_per_hour) {
      const auto price = g.typed("--price") ? g.number("--price", "price") : g.scope().read("price", *g.hardware().accelerator.price_per_hour);
      const auto cost = let("cost", hours * price);
      a.add("cost_usd", "cost", cost, Show::dollars);
      if (work) a.add("flops_per_usd", "FLOPs a dollar", let("F_per_usd", *work / cost));
    }
  }
  a.conventions.push_back("6 FLOPs a parameter and token (Chinchilla: 20 tokens a parameter); MFU of the dense peak; tokens of a run in powers of ten");
  a.neglected.push_back("attention FLOPs, failures and restarts (napkin goodput), evaluation, warm-up");
  a.follow_up = "and with failures? 419 interruptions in 54 days on 16,384 accelerators (napkin goodput)";
}

}  // namespace

void add_traintime(CLI::App& app, Session& session) {
  add_calculator(app, session,
                 {.name = "traintime",
                  .description = "Training run: 6ND FLOPs, days, GPU-hours, cost, Chinchilla tokens, tokens per step",
                  .parameters = OptionList{
                      {"--model", Reads::model, "Model, or:"},
                      {"--params", Reads::count, "Parameters (of one token)"},
                      {"--tokens", Reads::count, "Tokens of the run: 15T, in powers of ten (default: 20 a parameter)"},
                      {"--flops", Reads::flops, "A budget instead of a model: 5.88e21"},
                      {"--flops-per-param", Reads::number, "FLOPs a parameter and token; 8 recomputing", "6"},
                      {"--gpus", Reads::count, "Accelerators, or --tp --cp --pp --dp"},
                      {"--tp", Reads::count, "Tensor parallelism", "1"},
                      {"--cp", Reads::count, "Context parallelism", "1"},
                      {"--pp", Reads::count, "Pipeline stages", "1"},
                      {"--dp", Reads::count, "Replicas", "1"},
                      {"--mfu", Reads::share, "Utilisation of the peak", "0.4"},
                      {"--time", Reads::seconds, "Time of the run, when it is given: 30 days"},
                      {"--batch-tokens", Reads::tokens, "Tokens of a step"},
                      {"--seq", Reads::tokens, "Tokens of a sequence", "4k"},
                      {"--price", Reads::number, "US dollars an accelerator-hour"},
                      {"--power", Reads::number, "Watts of an accelerator, for energy"}} + machine_options +
                      seldom({
                      {"--active", Reads::count, "Parameters of one token, when sparse"},
                      {"--ratio", Reads::number, "Tokens a parameter that are optimal", "20"},
                      {"--sequences", Reads::count, "... or its sequences"},
                      {"--per-replica", Reads::count, "... or sequences of a replica"},
                      {"--pue", Reads::number, "Power of the building over the accelerators'", "1"}}),
                  .compute = compute,
                  .examples = "  napkin traintime --params 7B --gpus 64 --mfu 40% --price 2.5\n"
                              "  napkin traintime llama3-70b --tokens 15T --gpus 8960 --hw tpu-v5p\n"
                              "  napkin traintime --tp 8 --pp 16 --dp 128 --per-replica 16 --seq 8k",
                  .positional = "--model"});
}

}  // namespace napkin::cli
