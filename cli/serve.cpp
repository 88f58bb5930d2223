// napkin serve: requests, servers, speculative decoding, chunked prefill.
#include "cli/calculator.hpp"
#include "model/serving/traffic.hpp"

namespace napkin::cli {
namespace {

void compute(const Given& g, Answer& a) {
  const auto outputs = g.number("--output", "outputs");
  if (g.typed("--rate")) {
    const auto live = concurrency(g.rate("--rate", "lambda"), g.seconds("--prefill-time", "T_prefill"), outputs, g.seconds("--step-time", "T_step"));
    a.add("concurrency", "sequences under way (Little)", live);
    a.add("residence_s", "a request stays", let("W", live / g.rate("--rate", "lambda")));
    if (g.typed("--capacity")) {
      const auto replicas = let("replicas", ceil(live / g.number("--capacity", "capacity")));
      a.add("replicas", "replicas", replicas);
      a.add("gpus", "accelerators", let("gpus", replicas * g.number("--gpus", "n")));
      a.add("utilisation", "of their slots taken", let("utilisation", live / (replicas * g.number("--capacity", "capacity"))), Show::percent);
    }
  }
  if (g.typed("--prefill-time") && g.typed("--batch") && g.typed("--step-time"))
    a.add("prefill_servers_per_decode_server", "prefill servers for one decode server",
          prefill_servers_per_decode_server(g.seconds("--prefill-time", "T_prefill"), g.number("--batch", "B"), g.seconds("--step-time", "T_step"), outputs));
  if (g.typed("--batch") && g.typed("--step-time")) {
    const auto rate = requests_per_second(g.number("--batch", "B"), g.seconds("--step-time", "T_step"), outputs);
    a.add("requests_per_s", "answers/s of a full decode server", rate);
    a.add("requests_per_s_per_gpu", "... of one accelerator", let("each", rate / g.number("--gpus", "n")));
  }
  if (g.typed("--acceptance")) {
    const auto drafted = g.number("--draft", "k");
    const auto tokens = tokens_per_verification(g.number("--acceptance", "a"), drafted);
    a.add("tokens_per_step", "tokens a verification step yields", tokens);
    a.add("speedup", "speed-up", speculative_speedup(tokens, drafted, g.number("--draft-cost", "c")), Show::factor);
  }
  if (g.typed("--step-limit")) {
    const auto rate = let("rate", g.number("--gpus", "n") * g.peak() * g.number("--efficiency", "efficiency"));
    const auto limit = g.seconds("--step-limit", "limit");
    const auto tokens = chunk_tokens(limit, g.seconds("--decode-time", "T_decode"), rate, g.active_parameters());
    if (tokens.si() <= 0) {
      a.label("chunk", "prompt tokens beside the decodes", "none: the decodes alone take longer than the limit");
      a.feasible = false;
    } else {
      a.add("chunk_tokens", "prompt tokens beside the decodes in a step", tokens);
      a.add("prompt_tokens_per_s", "prompt tokens/s", let("prompt_rate", tokens / limit));
    }
  }
  a.conventions.push_back("an answer takes its prefill and then one step a token; dense peak");
  a.neglected.push_back("arrivals in bursts (p99 needs slack: keep utilisation below about 80 %), moving caches between servers");
  a.follow_up = "what happens to p99 when arrivals double for a minute?";
}

}  // namespace

void add_serve(CLI::App& app, Session& session) {
  add_calculator(app, session,
                 {.name = "serve",
                  .description = "Serving: concurrency and replicas (Little), prefill:decode servers, speculation, chunked prefill",
                  .parameters = OptionList{
                      {"--rate", Reads::rate, "Requests arriving: 20/s"},
                      {"--output", Reads::tokens, "Tokens of an answer", "512"},
                      {"--prefill-time", Reads::seconds, "Prefill of a prompt: 0.5 s"},
                      {"--step-time", Reads::seconds, "Decode step: 25 ms"},
                      {"--batch", Reads::count, "Sequences a decode server decodes together"},
                      {"--capacity", Reads::count, "Sequences a replica holds"},
                      {"--gpus", Reads::count, "Accelerators of a replica", "1"},
                      {"--acceptance", Reads::share, "Speculation: probability that a drafted token is accepted"},
                      {"--draft", Reads::count, "Speculation: tokens drafted a step", "1", true},
                      {"--draft-cost", Reads::share, "Speculation: a draft, in steps of the target", "0"},
                      {"--step-limit", Reads::seconds, "Chunked prefill: longest step"},
                      {"--decode-time", Reads::seconds, "Chunked prefill: what the decodes of a step take", "0"},
                      {"--model", Reads::model, "Chunked prefill: the model, or --params"},
                      {"--params", Reads::count, "Parameters (of one token)"},
                      {"--efficiency", Reads::share, "Share of the peak that prefill reaches", "0.5"}} + machine_options,
                  .compute = compute,
                  .examples = "  napkin serve --rate 20/s --output 500 --step-time 25ms --prefill-time 0.5s --capacity 161 --gpus 8\n"
                              "  napkin serve --acceptance 80%,85%,90% --draft 1\n"
                              "  napkin serve --step-limit 30ms --decode-time 8.47ms --params 70.6B --gpus 8"});
}

}  // namespace napkin::cli
