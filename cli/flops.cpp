// napkin flops: FLOPs per token and per step, and the rates that follow from a throughput.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/explain.hpp"
#include "cli/run_flags.hpp"
#include "hardware/hardware_input.hpp"
#include "model/step/precision.hpp"
#include "model/text.hpp"
#include "model/transformer/model_input.hpp"
#include "model/transformer/flops.hpp"
#include "model/transformer/parameters.hpp"

namespace napkin::cli {
namespace {

struct Options {
  std::string model;
  std::optional<std::string> sequence, batch, hardware, precision;
  std::optional<double> tokens_per_s_per_gpu, step_time_s;
  std::optional<std::int64_t> gpus;
  bool explain = false;
  OutputFormat format = OutputFormat::table;
};

constexpr std::array conventions{FlopConvention::full_attention, FlopConvention::causal_half,
                                 FlopConvention::weights_only};

struct Answer {
  std::int64_t sequence = 0, batch = 0;  // batch in sequences; 0 = not given
  std::optional<double> tokens_per_s_per_gpu;
  std::optional<FlopsPerSecond> peak;
  std::string peak_of;
};

Answer read(const Options& o) {
  Answer a;
  a.sequence = o.sequence ? read_flag("--seq", [&] { return parse_tokens(*o.sequence); }) : 4096;
  if (a.sequence < 1) throw InputError("--seq: write a length of 1 token or more");
  if (o.batch) {
    const Batch b = read_flag("--batch", [&] { return parse_batch(*o.batch); });
    if (b.tokens % a.sequence != 0)
      throw InputError(fmt::format("--batch: {} tokens are not whole sequences of {}", b.tokens, a.sequence));
    a.batch = b.tokens > 0 ? b.tokens / a.sequence : b.sequences;
  }
  if (o.tokens_per_s_per_gpu && o.step_time_s)
    throw InputError("--tokens-per-s-per-gpu and --step-time both say how fast it runs; give one of them");
  a.tokens_per_s_per_gpu = o.tokens_per_s_per_gpu;
  if (o.step_time_s) {
    if (a.batch == 0 || !o.gpus) throw InputError("--step-time: needs --batch and --gpus to become a throughput");
    a.tokens_per_s_per_gpu =
        static_cast<double>(a.batch * a.sequence) / *o.step_time_s / static_cast<double>(*o.gpus);
  }
  if (o.hardware) {
    const Hardware h = read_hardware(*o.hardware);
    const auto precision = precision_named(o.precision.value_or("bf16"));
    if (!precision) throw InputError("--precision: \"" + *o.precision + "\" is not known; write bf16, fp8, mxfp8, nvfp4 ...");
    const auto& peak = h.accelerator.peak[static_cast<std::size_t>(precision->gemm)];
    if (!peak)
      throw InputError(fmt::format("--precision: {} has no {} arithmetic", h.accelerator.name, to_string(precision->gemm)));
    a.peak = peak->value;
    a.peak_of = fmt::format("{} dense {}", h.accelerator.name, to_string(precision->gemm));
  }
  return a;
}

void run(const Options& o) {
  const Architecture model = read_model(o.model);
  const Answer a = read(o);
  Derivation derivation;
  std::vector<const Node*> roots;
  Table t;
  t.title = fmt::format("{}: training FLOPs at {} tokens a sequence", model.name, format_count(static_cast<double>(a.sequence)));
  t.columns = {{"convention", false}, {"weights", true}, {"attention", true}, {"per token", true}};
  if (a.batch > 0) t.columns.push_back({"per step", true});
  if (a.tokens_per_s_per_gpu) t.columns.push_back({"per GPU", true});
  if (a.tokens_per_s_per_gpu && a.peak) t.columns.push_back({"MFU", true});
  nlohmann::ordered_json j{{"schema", 1}, {"model", model.name}, {"seq_len", a.sequence}};
  const Parameters p = parameters(model);
  j["parameters"] = p.total;
  j["active_parameters"] = p.active;
  if (a.tokens_per_s_per_gpu) j["tokens_per_s_per_gpu"] = *a.tokens_per_s_per_gpu;
  if (a.peak) j["peak_tflops"] = double(*a.peak / (TFLOP / second));

  for (const FlopConvention c : conventions) {
    const auto f = training_flops_per_token(Scope<Traced>(derivation), model, a.sequence, c);
    roots.push_back(f.total.why());
    std::vector<std::string> row{std::string(to_string(c)), format(f.weights), format(f.attention), format(f.total)};
    auto& k = j["conventions"][std::string(to_string(c))];
    k = {{"weights_flops_per_token", f.weights.si()},
         {"attention_flops_per_token", f.attention.si()},
         {"flops_per_token", f.total.si()}};
    if (a.batch > 0) {
      const auto step = static_cast<double>(a.batch * a.sequence) * plain(f.total);
      row.push_back(format(step));
      k["flops_per_step"] = step.si();
    }
    if (a.tokens_per_s_per_gpu) {
      const auto rate = PerSecond::si(*a.tokens_per_s_per_gpu) * plain(f.total);
      row.push_back(format(rate));
      k["model_tflops_per_gpu"] = double(rate / (TFLOP / second));
      if (a.peak) {
        const double mfu = double(rate / *a.peak);
        row.push_back(fmt::format("{:.2f} %{}", 100 * mfu, mfu > 1 ? " (above the peak: check the inputs)" : ""));
        k["mfu"] = mfu;
      }
    }
    t.rows.push_back(std::move(row));
  }
  if (a.peak) t.notes.push_back("MFU is of " + a.peak_of + ", " + format(*a.peak) + ".");
  t.notes.push_back("Weights: 6 FLOPs a parameter and token, input embedding left out, head included, active experts only.");
  if (o.format == OutputFormat::json) {
    if (o.explain) j["explanation"] = explain_json(roots);
    print(j.dump(2) + "\n");
    return;
  }
  print(render(t, o.format));
  if (o.explain) print("\n" + explain(roots));
}

}  // namespace

void add_flops(CLI::App& app, Session&) {
  auto* command = app.add_subcommand("flops", "FLOPs per token and step under each convention; MFU of a throughput");
  auto o = std::make_shared<Options>();
  command->add_option("--model,model", o->model, "Preset, size, config.json or folder holding one")->required()->type_name("MODEL");
  command->add_option("--seq", o->sequence, "Sequence length in tokens (default 4k)")->type_name("TOKENS");
  command->add_option("--batch", o->batch, "Global batch: sequences or tokens (4M-tokens)")->type_name("BATCH");
  command->add_option("--gpus", o->gpus, "Accelerators")->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000'000}));
  command->add_option("--tokens-per-s-per-gpu", o->tokens_per_s_per_gpu, "Measured throughput")->check(CLI::PositiveNumber);
  command->add_option("--step-time", o->step_time_s, "Measured step time in seconds")->check(CLI::PositiveNumber);
  command->add_option("--hw", o->hardware, "Hardware whose peak MFU is of")->type_name("HW");
  command->add_option("--precision", o->precision, "Whose format's peak (default bf16)")->type_name("RECIPE");
  command->add_flag("--explain", o->explain, "Unfold every number");
  add_format(*command, o->format);
  command->footer("Examples:\n"
                  "  napkin flops llama3-8b --seq 8k --tokens-per-s-per-gpu 5760 --hw h100\n"
                  "  napkin flops deepseek-v3 --seq 4k --batch 15360 --explain");
  command->callback([o] { run(*o); });
}

}  // namespace napkin::cli
