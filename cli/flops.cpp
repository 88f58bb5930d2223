// napkin flops (alias mfu): FLOPs per token and step under each convention; tokens/s, TFLOP/s, MFU and step time, any of
// them from any other.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "cli/calculator.hpp"
#include "model/input/number_input.hpp"
#include "model/step/rule_of_thumb.hpp"
#include "model/transformer/flops.hpp"
#include "model/transformer/parameters.hpp"

namespace napkin::cli {
namespace {

constexpr std::array conventions{FlopConvention::full_attention, FlopConvention::causal_half, FlopConvention::weights_only};

struct Work {
  TokenFlops<T> model;
  FlopsT<T> executed{};  // with what the backward pass recomputes
};

bool recomputes_all(const Given& g) {
  const std::string word = g.word("--recompute");
  if (word != "none" && word != "selective" && word != "full")
    throw InputError("--recompute: \"" + word + "\"; write none, selective or full");
  return word == "full";
}

// Of one token: from the operators of a model, or 6P (and 12·L·h·s where the shape of attention is given).
Work work_of(const Given& g, double sequence, FlopConvention c) {
  Work w;
  const bool whole = recomputes_all(g), some = g.word("--recompute") != "none";
  if (g.has_shape() && !g.typed("--params")) {
    const auto s = static_cast<std::int64_t>(sequence);
    w.model = training_flops_per_token(g.scope(), g.architecture(), s, c);
    w.executed = some ? let("F_executed", w.model.total + recompute_flops_per_token(g.scope(), g.architecture(), s, c, whole)) : w.model.total;
    return w;
  }
  w.model.weights = let("F_weights", 6 * g.parameters() * flop, "kaplan2020");
  if (c != FlopConvention::weights_only && g.typed("--layers") && g.typed("--hidden"))
    w.model.attention = attention_flops_per_token(g.number("--layers", "L"), g.number("--hidden", "h"), g.scope().input("s", sequence, "--seq"), c == FlopConvention::causal_half);
  w.model.total = let("F_token", w.model.weights + w.model.attention);
  // The forward pass is a third of it.
  w.executed = whole ? let("F_executed", w.model.total + w.model.total / 3)
               : some ? let("F_executed", w.model.total + w.model.attention / 3)
                      : w.model.total;
  return w;
}

// The three passes of one dense layer over one sequence.
void passes_of_layer(const Given& g, Answer& a, double sequence) {
  if (!g.has_shape() || !g.has_shape_of("--ffn") || !g.has_shape_of("--heads")) return;
  const auto h = g.shape("--hidden", "h"), heads = g.shape("--heads", "N"), d = g.shape("--head-dim", "H");
  const double linears = g.architecture().kinds.front().ffn.gated ? 3 : 2;
  const auto weights = let("P_layer", h * d * (2 * heads + 2 * g.shape("--kv-heads", "K")) + linears * h * g.shape("--ffn", "F"));
  const auto s = g.scope().input("s", sequence, "--seq");
  const auto p = pass_flops(weights, s, s, let("w", heads * d));
  a.add("layer/forward_flops", "a layer and sequence: forward", p.forward);
  a.add("layer/input_gradient_flops", "... gradient of the input (B of zero-bubble schedules)", p.input_gradient);
  a.add("layer/weight_gradient_flops", "... gradient of the weights (W)", p.weight_gradient);
  a.add("layer/input_gradient_over_forward", "... B over F", let("B/F", p.input_gradient / p.forward), Show::factor);
  a.add("layer/weight_gradient_over_forward", "... W over F", let("W/F", p.weight_gradient / p.forward), Show::factor);
}

// FLOPs of a run, block by block, dense layers: passes = 3, or 4 when the forward is recomputed; the head is never.
void blocks(const Given& g, Answer& a, double sequence, double tokens) {
  if (!g.has_shape() || !g.has_shape_of("--ffn") || !g.has_shape_of("--heads")) return;
  const auto t = g.scope().input("tokens", tokens, "--tokens");
  const auto passes = g.scope().input("passes", recomputes_all(g) ? 4 : 3, "forward, two backward, recomputing");
  const auto layers = g.shape("--layers", "L"), h = g.shape("--hidden", "h");
  const auto heads = g.shape("--heads", "N"), kv = g.shape("--kv-heads", "K"), d = g.shape("--head-dim", "H");
  const auto qkv = let("F_qkv", 2 * passes * layers * t * h * (heads + 2 * kv) * d * flop);
  const auto scores = let("F_scores", 4 * passes * layers * t * g.scope().input("s", sequence, "--seq") * heads * d * flop);
  const auto out = let("F_out", 2 * passes * layers * t * h * heads * d * flop);
  const auto linears = g.architecture().kinds.front().ffn.gated ? 3 : 2;
  const auto ffn = let("F_ffn", 2 * linears * passes * layers * t * h * g.shape("--ffn", "F") * flop);
  const auto head = let("F_head", 2 * t * h * g.shape("--vocab", "V") * flop);
  a.add("blocks/qkv_flops", "run, queries, keys, values", qkv);
  a.add("blocks/scores_flops", "run, scores and values (all pairs)", scores);
  a.add("blocks/out_flops", "run, output projection", out);
  a.add("blocks/ffn_flops", "run, feed-forward", ffn);
  a.add("blocks/head_forward_flops", "run, head, forward alone", head);
  a.add("blocks/total_flops", "run, total (head in three passes)", let("F_run", qkv + scores + out + ffn + 3 * head));
}

void compute(const Given& g, Answer& a) {
  const bool sized = g.has_parameters();
  // 1. The batch, in tokens; a bare number is sequences.
  double sequence = g.value("--seq");
  std::optional<ScalarT<T>> step_tokens;
  if (g.typed("--batch")) {
    const std::string text = g.word("--batch");
    try {
      const Batch b = parse_batch(text);
      if (b.tokens > 0) step_tokens = g.scope().input("T_step", static_cast<double>(b.tokens), "--batch");
      else if (!g.typed("--seq") && g.typed("--tokens-per-s") && g.typed("--step-time")) {
        const auto s = let("s", g.rate("--tokens-per-s", "tokens_per_s") * g.seconds("--step-time", "T_step_time") / g.scope().input("batch", static_cast<double>(b.sequences), "--batch"));
        a.add("seq_len_implied", "sequence length that the throughput implies", s);
        sequence = s.si();
        step_tokens = let("T_step", s * static_cast<double>(b.sequences));
      } else {
        step_tokens = let("T_step", g.scope().input("batch", static_cast<double>(b.sequences), "--batch") * g.scope().input("s", sequence, "--seq"));
      }
    } catch (const std::invalid_argument& e) {
      throw InputError(std::string("--batch: ") + e.what());
    }
  }
  if (!(sequence >= 1) || sequence != std::floor(sequence)) throw InputError("--seq: write a whole number of tokens, at least 1");
  const auto gpus = g.typed("--gpus") ? std::optional(g.number("--gpus", "n")) : std::nullopt;
  if (gpus && gpus->si() < 1) throw InputError("--gpus: write at least 1");
  // 2. How fast it runs, in tokens of one accelerator.
  // A rate and a step time give the work of the step: the batch, when none is given.
  const bool solves_batch = g.typed("--step-time") && !g.typed("--batch") && (g.typed("--tflops") || g.typed("--mfu") || g.typed("--tokens-per-s-per-gpu"));
  const int ways = g.typed("--tokens-per-s-per-gpu") + g.typed("--tflops") + g.typed("--mfu") + (g.typed("--tokens-per-s") && !g.typed("--step-time")) + (g.typed("--step-time") && !solves_batch);
  if (ways > 1) throw InputError("--tokens-per-s-per-gpu, --tokens-per-s, --step-time, --tflops and --mfu all say how fast it runs; give one of them");
  const bool machine = g.typed("--hw") || g.typed("--peak") || g.typed("--mfu");
  const auto each_of = [&](const Work& w) -> std::optional<PerSecondT<T>> {
    if (g.typed("--tokens-per-s-per-gpu")) return g.rate("--tokens-per-s-per-gpu", "tokens_per_s_each");
    if (g.typed("--tflops")) return let("tokens_per_s_each", g.flop_rate("--tflops", "X") / w.executed);
    if (g.typed("--mfu")) return let("tokens_per_s_each", g.number("--mfu", "MFU") * g.peak() / w.model.total);
    if (!gpus) return std::nullopt;
    if (g.typed("--step-time") && step_tokens) return let("tokens_per_s_each", *step_tokens / g.seconds("--step-time", "T_step_time") / *gpus);
    if (g.typed("--tokens-per-s")) return let("tokens_per_s_each", g.rate("--tokens-per-s", "tokens_per_s") / *gpus);
    return std::nullopt;
  };
  if ((g.typed("--step-time") || g.typed("--tokens-per-s")) && !gpus) throw InputError("--step-time and --tokens-per-s need --gpus");
  if (g.typed("--step-time") && !step_tokens && !g.typed("--tokens-per-s") && !solves_batch) throw InputError("--step-time needs --batch, or a rate (--tokens-per-s, --tflops, --mfu) to find it");
  if (g.typed("--step-time") && g.typed("--tokens-per-s") && !step_tokens) {
    step_tokens = let("T_step", g.rate("--tokens-per-s", "tokens_per_s") * g.seconds("--step-time", "T_step_time"));
    a.add("batch_tokens_implied", "tokens of a step that the throughput implies", *step_tokens);
    a.add("batch_sequences_implied", "... in sequences", let("sequences", *step_tokens / g.scope().input("s", sequence, "--seq")));
  }
  // 3. An achieved rate alone.
  if (g.typed("--tflops")) {
    const auto x = g.flop_rate("--tflops", "X");
    a.add("share_of_peak", g.word("--recompute") == "none" ? "utilisation: achieved over peak" : "HFU: achieved over peak", let("share", x / g.peak()), Show::percent);
    if (gpus) a.add("aggregate_flops_per_s", "all accelerators", let("X_all", x * *gpus));
    if (solves_batch) a.add("flops_per_step_implied", "work of a step that the rate and the step time imply", let("F_step", x * *gpus * g.seconds("--step-time", "T_step_time")));
  }
  if (!sized && a.figures.empty()) throw InputError("needs a model: --model NAME, its shape, or --params 70B; or --tflops with --hw");
  if (sized) {
    if (g.has_shape() && !g.typed("--params")) {
      const Parameters p = napkin::parameters(g.architecture());
      a.label("model", "model", g.architecture().name);
      a.add("parameters", "parameters", g.scope().input("P", static_cast<double>(p.total), g.architecture().name));
      a.add("active_parameters", "... of one token", g.scope().input("P_active", static_cast<double>(p.active), g.architecture().name));
    }
    a.add("seq_len", "sequence length", g.scope().input("s", sequence, "--seq"));
    for (const FlopConvention c : conventions) {
      const std::string name(to_string(c)), at = "conventions/" + name + "/", of = name + ": ";
      const Work w = work_of(g, sequence, c);
      a.add(at + "weights_flops_per_token", of + "weights, a token", w.model.weights);
      a.add(at + "attention_flops_per_token", of + "attention, a token", w.model.attention);
      a.add(at + "flops_per_token", of + "together", w.model.total);
      if (w.model.attention.si() > 0) {
        a.add(at + "attention_over_weights", of + "attention over weights", let("share", w.model.attention / w.model.weights), Show::percent);
        a.add(at + "equal_at_tokens", of + "as many in attention as in weights at a sequence of", let("s_equal", g.scope().input("s", sequence, "--seq") * w.model.weights / w.model.attention));
      }
      const bool some = g.word("--recompute") != "none";
      if (some) a.add(at + "executed_flops_per_token", of + "executed, with recomputing", w.executed);
      if (step_tokens) {
        a.add(at + "flops_per_step", of + "a step", let("F_step", *step_tokens * w.model.total));
        if (some) a.add(at + "executed_flops_per_step", of + "a step, executed", let("F_step_executed", *step_tokens * w.executed));
      }
      const auto each = each_of(w);
      if (!each) continue;
      const auto rate = let("X_model", *each * w.model.total), executed = let("X_executed", *each * w.executed);
      a.add(at + "tokens_per_s_per_gpu", of + "tokens/s of one accelerator", *each);
      a.add(at + "model_flops_per_s_per_gpu", of + "model FLOP/s of one accelerator", rate);
      a.add(at + "model_tflops_per_gpu", of + "... in TFLOP/s", let("TFLOPs", rate / (TFLOP / second)));
      if (some) a.add(at + "executed_flops_per_s_per_gpu", of + "executed FLOP/s of one accelerator", executed);
      if (some) a.add(at + "executed_tflops_per_gpu", of + "executed, in TFLOP/s", let("TFLOPs_executed", executed / (TFLOP / second)));
      if (gpus) a.add(at + "tokens_per_s", of + "tokens/s of all", let("tokens_per_s", *each * *gpus));
      if (solves_batch) {
        const auto tokens = let("T_step", *each * *gpus * g.seconds("--step-time", "T_step_time"));
        a.add(at + "batch_tokens_implied", of + "tokens of a step that rate and step time imply", tokens);
        a.add(at + "batch_sequences_implied", of + "... in sequences", let("sequences", tokens / g.scope().input("s", sequence, "--seq")));
      }
      if (gpus && step_tokens) a.add(at + "step_time_s", of + "step time", let("T_step_time", *step_tokens / (*each * *gpus)));
      if (machine) {
        a.add(at + "mfu", of + "MFU", let("MFU", rate / g.peak()), Show::percent);
        a.add(at + "hfu", of + "HFU", let("HFU", executed / g.peak()), Show::percent);
        if (rate.si() > g.peak().si()) a.label(at + "warning", of + "warning", "above the peak: check the inputs");
      }
    }
    passes_of_layer(g, a, sequence);
    if (g.typed("--tokens")) blocks(g, a, sequence, g.value("--tokens"));
  }
  if (machine || g.typed("--tflops")) a.add("peak_flops_per_s", "dense peak", g.peak());
  a.conventions.push_back("weights: 6 FLOPs a parameter and token, input embedding left out, head included, active experts only (--params: 6P as given)");
  a.conventions.push_back("full-attention: all s x s pairs; causal-half: half of them; MFU counts the model's FLOPs, HFU what runs with recomputing; dense peak");
  a.neglected.push_back("norms, activations, softmax, optimizer");
  a.follow_up = "two papers quote 40 % and 52 % for one run: which convention did each use?";
}

}  // namespace

void add_flops(CLI::App& app, Session& session) {
  add_calculator(app, session,
                 {.name = "flops",
                  .description = "FLOPs per token and step by convention; tokens/s, TFLOP/s, MFU, HFU, step time from one another",
                  .parameters = shape_options + OptionList{
                      {"--ungated", Reads::flag, "The feed-forward has no gate"},
                      {"--seq", Reads::tokens, "Sequence length", "4k"},
                      {"--batch", Reads::word, "Global batch: sequences (1024) or tokens (4M-tokens)"},
                      {"--gpus", Reads::count, "Accelerators"},
                      {"--recompute", Reads::word, "none, selective or full", "none"},
                      {"--tokens-per-s-per-gpu", Reads::rate, "Measured, of one accelerator"},
                      {"--tokens-per-s", Reads::rate, "Measured, of all; with --step-time finds the batch or --seq"},
                      {"--step-time", Reads::seconds, "Measured step time"},
                      {"--tflops", Reads::flop_rate, "Achieved by one accelerator: 400 TFLOP/s (executed, with --recompute)"},
                      {"--mfu", Reads::share, "Or the MFU: throughput follows"},
                      {"--tokens", Reads::count, "Tokens of a run: FLOPs block by block"}} + machine_options,
                  .compute = compute,
                  .examples = "  napkin flops llama3-8b --seq 8k --tokens-per-s-per-gpu 5760 --hw h100\n"
                              "  napkin flops --params 13B --layers 40 --hidden 5120 --tokens-per-s 1.2e6 --gpus 256 --recompute full --hw h100\n"
                              "  napkin flops --tflops 430TFLOPS,400TFLOPS --hw h100",
                  .aliases = {"mfu"},
                  .positional = "--model"});
}

}  // namespace napkin::cli
