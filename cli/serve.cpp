// napkin serve: requests, servers, speculative decoding, chunked prefill.
#include <algorithm>
#include <cmath>
#include <optional>

#include "cli/calculator.hpp"
#include "model/serving/decode.hpp"
#include "model/serving/kv_cache.hpp"
#include "model/serving/queueing.hpp"
#include "model/serving/traffic.hpp"

namespace napkin::cli {
namespace {

// What one server does: from options, or from its model and machine.
struct Server {
  std::optional<SecondsT<T>> prefill, step;
  std::optional<ScalarT<T>> capacity;  // sequences it decodes at once
};

Server given_server(const Given& g) {
  Server s;
  if (g.typed("--prefill-time")) s.prefill = g.seconds("--prefill-time", "T_prefill");
  if (g.typed("--step-time")) s.step = g.seconds("--step-time", "T_step");
  if (g.typed("--capacity")) s.capacity = g.number("--capacity", "capacity");
  return s;
}

// The most sequences that memory holds and --token-limit allows, all at their full length.
Server modelled_server(const Given& g, Answer& a, ScalarT<T> outputs) {
  const auto n = g.number("--gpus", "n"), prompt = g.number("--prompt", "prompt");
  const auto rate = let("rate", g.peak() * g.number("--efficiency", "efficiency"));  // of one accelerator
  const auto width = let("L*h", g.shape("--layers", "L") * g.shape("--heads", "N") * g.shape("--head-dim", "H"));
  const auto active = g.active_parameters();
  Server s;
  s.prefill = prefill(active, prompt, width, true, let("rate_all", n * rate)).time;
  a.add("prefill_time_s", "prefill of a prompt on one server", *s.prefill);
  const auto weights = let("weights", g.parameters() * g.bytes("--weight-bytes", "b_w"));
  const auto sequence = kv_bytes_of_sequence(kv_layers(g.scope(), g.architecture()), g.bytes("--kv-bytes", "b_kv"), let("context", prompt + outputs));
  const auto room = let("room", n * g.memory() * (1 - g.number("--reserve", "reserve")) - weights);
  const auto fits = let("fits", floor(max(room, BytesT<T>{}) / sequence));
  a.add("sequence_bytes", "cache of a sequence at its longest", sequence, Show::gib);
  a.add("sequences_that_fit", "sequences whose caches fit beside the weights", fits);
  const auto bandwidth = g.memory_bandwidth();
  const auto step = [&](ScalarT<T> batch) { return decode_step(weights, let("caches", batch * sequence), active, batch, n, bandwidth, rate); };
  double most = fits.si();
  if (g.typed("--token-limit")) {
    const double limit = g.value("--token-limit");
    double low = 0;  // step time grows with the batch
    while (low < most) {
      const double half = std::ceil((low + most) / 2);
      const auto at = decode_step(plain(weights), half * plain(sequence), plain(active), Scalar(half), plain(n), plain(bandwidth), plain(rate));
      if (at.time.si() <= limit) low = half;
      else most = half - 1;
    }
  }
  if (most < 1) {
    a.label("capacity", "sequences that a server decodes at once", fits.si() < 1 ? "none: weights and one cache do not fit" : "none: one alone takes longer than --token-limit");
    a.feasible = false;
    return s;
  }
  s.capacity = g.scope().input("capacity", most, most < fits.si() ? "the most within --token-limit" : "all that fit");
  s.step = step(*s.capacity).time;
  a.add("capacity", "sequences that a server decodes at once", *s.capacity);
  a.label("capacity_bound", "... bound by", most < fits.si() ? "the time per token" : "memory");
  a.add("step_time_s", "step: time per output token", *s.step);
  return s;
}

// Sequences that decode at once, and the replicas that hold them.
ScalarT<T> slots(const Given& g, Answer& a, const Server& s, ScalarT<T> outputs) {
  const auto rate = g.rate("--rate", "lambda");
  const auto live = concurrency(rate, s.prefill.value_or(SecondsT<T>{}), outputs, *s.step);
  a.add("concurrency", "sequences under way (Little)", live);
  a.add("residence_s", "a request stays", let("W", live / rate));
  const auto most = g.scope().input("live_tail", poisson_quantile(live.si(), g.value("--tail")), "Poisson quantile (M/G/inf) at --tail");
  a.add("concurrency_tail", "... at --tail: arrivals are random", most);
  if (!s.capacity) return 0;
  const auto capacity = *s.capacity, each = g.number("--gpus", "n");
  const auto replicas = let("replicas", ceil(live / capacity)), enough = let("replicas_tail", ceil(most / capacity));
  a.add("replicas", "replicas for the mean", replicas);
  a.add("gpus", "accelerators", let("gpus", replicas * each));
  a.add("utilisation", "of their slots taken", let("utilisation", live / (replicas * capacity)), Show::percent);
  a.add("replicas_tail", "replicas with a free slot at --tail", enough);
  a.add("gpus_tail", "... accelerators", let("gpus_tail", enough * each));
  a.add("utilisation_tail", "... of their slots taken in the mean", let("utilisation_tail", live / (enough * capacity)), Show::percent);
  return enough;
}

// Time to the first token: the wait for a prefill server, then the prefill.
ScalarT<T> first_token(const Given& g, Answer& a, SecondsT<T> service) {
  const auto rate = g.rate("--rate", "lambda");
  const auto variation = g.number("--prefill-variation", "v"), share = g.number("--tail", "q");
  const auto needed = let("servers_least", floor(rate * service) + 1);
  a.add("prefill_servers_least", "prefill servers that keep up with arrivals, least", needed);
  const auto servers = g.typed("--prefill-servers") ? g.number("--prefill-servers", "servers") : needed;
  if (servers.si() > 1e6) throw InputError("more than a million prefill servers: --rate times --prefill-time is not that of one service");
  if ((rate * service).si() >= servers.si()) {
    a.label("first_token", "time to the first token", "unbounded: the queue grows for ever");
    a.feasible = false;
  } else {
    const auto w = queue_wait(g.scope(), rate, service, servers, variation, share);
    a.add("prefill_utilisation", "their utilisation", w.utilisation, Show::percent);
    a.add("wait_probability", "... share of requests that wait", w.busy, Show::percent);
    a.add("wait_mean_s", "... wait, mean", w.mean);
    a.add("wait_tail_s", "... wait at --tail", w.tail);
    a.add("first_token_mean_s", "time to the first token, mean", let("TTFT", w.mean + service));
    a.add("first_token_tail_s", "... at --tail", let("TTFT_tail", w.tail + service));
  }
  if (!g.typed("--first-token-limit")) return servers;
  const auto limit = g.seconds("--first-token-limit", "limit");
  for (double n = needed.si(); service.si() < limit.si() && n < needed.si() + 10000; ++n) {
    const auto w = queue_wait(Scope<Plain>(), plain(rate), plain(service), Scalar(n), plain(variation), plain(share));
    if ((w.tail + plain(service)).si() > limit.si()) continue;
    const auto enough = g.scope().input("servers_limit", n, "the least that keeps the limit");
    a.add("prefill_servers", "prefill servers that keep --first-token-limit at --tail", enough);
    return enough;
  }
  a.label("prefill_servers", "prefill servers that keep --first-token-limit", "none: the prefill alone takes longer");
  a.feasible = false;
  return servers;
}

void compute(const Given& g, Answer& a) {
  const auto outputs = g.number("--output", "outputs");
  const bool arrivals = g.typed("--rate");
  const Server server = arrivals && g.has_model() && !g.typed("--step-time") && !g.typed("--prefill-time") ? modelled_server(g, a, outputs) : given_server(g);
  ScalarT<T> decoding = 0, prefilling = 0;
  if (arrivals && server.step) decoding = slots(g, a, server, outputs);
  if (arrivals && server.prefill) prefilling = first_token(g, a, *server.prefill);
  if (decoding.si() > 0 && prefilling.si() > 0)
    a.add("gpus_all", "accelerators of both, when prefill and decode have servers of their own", let("gpus_all", (decoding + prefilling) * g.number("--gpus", "n")));
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
      if (arrivals && g.typed("--prompt")) {
        const auto pieces = let("pieces", ceil(g.number("--prompt", "prompt") / floor(max(tokens, 1))));
        const auto share = let("mixed_share", g.rate("--rate", "lambda") * pieces * limit);
        a.add("mixed_step_share", "share of steps that carry a piece of prompt (one replica)", share, Show::percent);
        const bool worst = share.si() > 1 - g.value("--tail");
        a.add("step_tail_s", "time per output token at --tail", worst ? choose("steps with prompts are more than the tail", limit)
                                                                        : choose("steps with prompts are rarer than the tail", g.seconds("--decode-time", "T_decode")));
        if (share.si() > 1) {
          a.label("keeps_up", "prompts keep up", "no: more pieces than steps");
          a.feasible = false;
        }
      }
    }
  }
  a.conventions.push_back("an answer takes its prefill and then one step a token; Poisson arrivals, one queue for all replicas; a step is as slow as what it carries; dense peak");
  a.neglected.push_back("arrivals more bursty than Poisson, answers that share a prefix, moving caches between servers");
  a.follow_up = "what happens to p99 when arrivals double for a minute?";
}

}  // namespace

void add_serve(CLI::App& app, Session& session) {
  add_calculator(app, session,
                 {.name = "serve",
                  .description = "Serving: concurrency and replicas (Little), p99 waits, prefill:decode servers, speculation, chunked prefill",
                  .parameters = OptionList{
                      {"--model", Reads::model, "With --rate: times, capacity and replicas follow from model, machine and limits"},
                      {"--rate", Reads::rate, "Requests arriving: 20/s"},
                      {"--prompt", Reads::tokens, "Tokens of a prompt", "4k"},
                      {"--output", Reads::tokens, "Tokens of an answer", "512"},
                      {"--gpus", Reads::count, "Accelerators of a replica", "1"},
                      {"--token-limit", Reads::seconds, "Time per output token to keep: 25 ms"},
                      {"--first-token-limit", Reads::seconds, "Time to the first token to keep at --tail: 1 s"},
                      {"--tail", Reads::share, "Share of requests that a tail figure covers: p99", "99%"},
                      {"--prefill-time", Reads::seconds, "Prefill of a prompt, when known: 0.5 s"},
                      {"--step-time", Reads::seconds, "Decode step, when known: 25 ms"},
                      {"--capacity", Reads::count, "Sequences a replica holds, when known"},
                      {"--batch", Reads::count, "Sequences a decode server decodes together"},
                      {"--acceptance", Reads::share, "Speculation: probability that a drafted token is accepted"},
                      {"--draft", Reads::count, "Speculation: tokens drafted a step", "1", true},
                      {"--draft-cost", Reads::share, "Speculation: a draft, in steps of the target", "0"},
                      {"--step-limit", Reads::seconds, "Chunked prefill: longest step; with --rate and --prompt: which steps carry a piece"},
                      {"--decode-time", Reads::seconds, "Chunked prefill: what the decodes of a step take", "0"},
                      {"--params", Reads::count, "Parameters (of one token), instead of --model"},
                      {"--efficiency", Reads::share, "Share of the peak that prefill reaches", "0.5"}} +
                      seldom({{"--prefill-servers", Reads::count, "Servers (or replicas) that prefill; default: the least that keep up"},
                              {"--prefill-variation", Reads::number, "Variance of the prefill time over its mean squared: 0 alike, 1 exponential", "0", true},
                              {"--weight-bytes", Reads::bytes, "Bytes of a weight", "2"},
                              {"--kv-bytes", Reads::bytes, "Bytes of a cached element", "2"},
                              {"--memory", Reads::bytes, "Memory of one accelerator"},
                              {"--reserve", Reads::share, "Share of the memory that is kept free", "10%"}}) + machine_options,
                  .compute = compute,
                  .examples = "  napkin serve --rate 20/s --output 500 --step-time 25ms --prefill-time 0.5s --capacity 161 --gpus 8\n"
                              "  napkin serve llama3-70b --hw h100 --gpus 8 --rate 20/s --prompt 4k --output 512 --token-limit 25ms --first-token-limit 1s\n"
                              "  napkin serve --acceptance 80%,85%,90% --draft 1\n"
                              "  napkin serve --step-limit 30ms --decode-time 8.47ms --params 70.6B --gpus 8",
                  .positional = "--model"});
}

}  // namespace napkin::cli
