// napkin prefill: the time to the first token.
#include "cli/calculator.hpp"
#include "model/serving/decode.hpp"

namespace napkin::cli {
namespace {

void compute(const Given& g, Answer& a) {
  const auto n = g.number("--gpus", "n");
  const auto rate = let("rate", n * g.peak() * g.number("--efficiency", "efficiency"));
  const auto tokens = g.number("--prompt", "S");
  const bool shaped = g.has_shape_of("--layers") && (g.has_shape_of("--heads") || g.has_shape_of("--hidden"));
  const auto width = !shaped ? ScalarT<T>(0)
                     : g.has_shape_of("--heads") && g.has_shape_of("--head-dim")
                         ? let("L*h", g.shape("--layers", "L") * g.shape("--heads", "N") * g.shape("--head-dim", "H"))
                         : let("L*h", g.shape("--layers", "L") * g.shape("--hidden", "h"));
  const auto p = prefill(g.active_parameters(), tokens, width, !g.typed("--full-attention"), rate);
  a.add("linear_flops", "FLOPs of the linears", p.linear);
  if (shaped) {
    a.add("attention_flops", "FLOPs of attention", p.attention);
    a.add("attention_share", "... of the whole", let("share", p.attention / (p.linear + p.attention)), Show::percent);
  }
  a.add("time_s", "prefill: time to the first token", p.time);
  a.add("tokens_per_s", "prompt tokens/s", let("tokens_per_s", tokens / p.time));
  a.add("tokens_per_s_per_gpu", "... of one accelerator", let("each", tokens / p.time / n));
  a.conventions.push_back(g.typed("--full-attention") ? "2 FLOPs a parameter and token; all S x S scores; dense peak"
                                                      : "2 FLOPs a parameter and token; causal half of the scores; dense peak");
  a.neglected.push_back("communication, queueing, tokenising; reading the weights (matters below a few hundred tokens)");
  if (!shaped) a.neglected.push_back("attention FLOPs: give --model, or --layers and --hidden, to count them");
  a.follow_up = "chunked: how many prompt tokens fit beside 64 decodes in a 30 ms step? (napkin serve)";
}

}  // namespace

void add_prefill(CLI::App& app, Session& session) {
  add_calculator(app, session,
                 {.name = "prefill",
                  .description = "Prefill: FLOPs and time to the first token of a prompt",
                  .parameters = model_options + machine_options + OptionList{
                      {"--active", Reads::count, "Parameters a token uses, when sparse"},
                      {"--prompt", Reads::tokens, "Tokens of the prompt (times sequences, when several)", "8k"},
                      {"--gpus", Reads::count, "Accelerators", "1"},
                      {"--efficiency", Reads::share, "Share of the peak that is reached (MFU)", "0.5"},
                      {"--full-attention", Reads::flag, "Count all scores, not the causal half"}},
                  .compute = compute,
                  .examples = "  napkin prefill llama3-70b --prompt 8k --gpus 8\n"
                              "  napkin prefill --params 70B --prompt 8k --gpus 16 --hw tpu-v5e --efficiency 40%",
                  .positional = "--model"});
}

}  // namespace napkin::cli
