// napkin decode: one decode step, and what it means for users and for the bill.
#include "cli/cache_shape.hpp"
#include "model/serving/decode.hpp"
#include "model/serving/kv_cache.hpp"
#include "model/serving/traffic.hpp"
#include "model/step/experts.hpp"
#include "model/transformer/parameters.hpp"

namespace napkin::cli {
namespace {

// Of a mixture, a step reads the experts that its tokens go to (all of them from some dozens of sequences on).
BytesT<T> weights_read(const Given& g, BytesT<T> weights, ScalarT<T> batch) {
  if (!g.has_model() || g.typed("--params") || g.typed("--weights-bytes")) return weights;
  const auto p = count_parameters(g.scope(), g.architecture());
  if (!(p.routed.si() > 0)) return weights;
  const auto experts = g.shape("--experts", "E");
  const auto idle = let("idle", 1 - experts_touched(experts, g.shape("--top-k", "k"), batch) / experts);
  return let("weights read", weights - p.routed * idle * g.bytes("--weight-bytes", "b_w"));
}

void compute(const Given& g, Answer& a) {
  const auto n = g.number("--gpus", "n");
  const auto batch = g.number("--batch", "B");
  const auto outputs = g.number("--output", "outputs");
  if (g.typed("--step-time")) {
    const auto step = g.seconds("--step-time", "T_step");
    const auto rate = requests_per_second(batch, step, outputs);
    a.add("tokens_per_s", "tokens/s", let("tokens_per_s", batch / step));
    a.add("tokens_per_s_per_gpu", "tokens/s of one accelerator", let("tokens_per_s_each", batch / step / n));
    a.add("answer_time_s", "time of an answer", let("T_answer", outputs * step));
    a.add("requests_per_s", "answers/s", rate);
    a.add("requests_per_s_per_gpu", "answers/s of one accelerator", let("requests_each", rate / n));
    a.conventions.push_back("one token of every sequence a step, at the step time given; dense peak does not enter");
    a.neglected.push_back("prefill, batches that are not full");
    a.follow_up = "how many prefill servers feed it? (napkin serve)";
    return;
  }
  const auto bandwidth = g.memory_bandwidth();
  const auto rate = let("rate", g.peak() * g.number("--efficiency", "efficiency"));
  const auto full = let("T_full", g.memory() / bandwidth);
  const bool weighed = g.typed("--weights-bytes"), counted = g.has_parameters();
  if (weighed || counted) {
    const auto weights = weighed ? g.bytes("--weights-bytes", "weights")
                                 : let("weights", g.parameters() * g.bytes("--weight-bytes", "b_w"));
    const auto active = counted ? g.active_parameters() : ScalarT<T>(0);
    BytesT<T> sequence{};
    if (g.typed("--sequence-bytes")) {
      sequence = g.bytes("--sequence-bytes", "kv_sequence");
    } else if (g.typed("--token-bytes")) {
      sequence = let("kv_sequence", g.bytes("--token-bytes", "kv_token") * g.number("--context", "S"));
    } else if (has_cache_shape(g)) {
      sequence = kv_bytes_of_sequence(cache_layers(g), g.bytes("--kv-bytes", "b_kv"), g.number("--context", "S"));
    } else {
      a.neglected.push_back("the caches: give --model, or --layers --kv-heads --head-dim (or --sequence-bytes)");
    }
    const auto read = weights_read(g, weights, batch);
    const auto s = decode_step(read, let("caches", batch * sequence), active, batch, n, bandwidth, rate);
    a.add("weight_bytes", "weights", weights, Show::gib);
    if (read.si() != weights.si()) a.add("weight_bytes_read", "... read in a step: the experts that a batch touches", read, Show::gib);
    a.add("weight_bytes_per_gpu", "weights on one accelerator", let("weights_each", weights / n), Show::gib);
    a.add("cache_bytes", "caches", let("caches", batch * sequence), Show::gib);
    a.add("weights_time_s", "reading the weights", s.weights);
    a.add("cache_time_s", "reading the caches", s.cache);
    if (counted) {
      a.add("flops_per_token", "FLOPs of a token", let("F_token", 2 * active * flop));
      a.add("math_time_s", "arithmetic of the linears", s.math);
      a.add("critical_batch", "batch above which the linears are compute-bound",
            weighed ? critical_batch(rate, bandwidth, g.bytes("--weight-bytes", "b_w"))
                    : let("B_crit", critical_batch(rate, bandwidth, g.bytes("--weight-bytes", "b_w")) * (g.parameters() / active)));
    }
    a.add("step_time_s", "step: time per output token", s.time);
    a.label("bound", "bound by", s.cache.si() > std::max(s.weights.si(), s.math.si()) ? "reading caches"
                                 : s.weights.si() >= s.math.si()                      ? "reading weights"
                                                                                      : "arithmetic");
    a.add("tokens_per_s", "tokens/s", s.tokens_per_s);
    a.add("tokens_per_s_per_gpu", "tokens/s of one accelerator", s.per_accelerator);
    a.add("answer_time_s", "time of an answer", let("T_answer", outputs * s.time));
    const auto requests = requests_per_second(batch, s.time, outputs);
    a.add("requests_per_s", "answers/s", requests);
    a.add("requests_per_s_per_gpu", "answers/s of one accelerator", let("requests_each", requests / n));
    if (g.typed("--price")) {
      const auto price = g.number("--price", "price");
      a.add("usd_per_million_tokens", "price of a million output tokens",
            let("usd_per_M", price * n * 1e6 / (s.tokens_per_s * SecondsT<T>(3600 * second))), Show::dollars);
    }
    const auto used = let("held", (weights + batch * sequence) / (n * g.memory()));
    a.add("memory_used_share", "of the memory, weights and caches take", used, Show::percent);
    if (used.si() > 1) {
      a.label("fits", "fits", "no");
      a.feasible = false;
    }
  }
  a.add("memory_full_step_s", "step when the memory is full and all of it is read", full);
  a.add("memory_full_answer_s", "... an answer", let("T_full_answer", outputs * full));
  a.conventions.push_back("step = caches + max(weights, arithmetic), each over all accelerators at the datasheet bandwidth; dense peak");
  a.neglected.push_back("communication, kernel launches, sampling; attention arithmetic; bandwidth below the datasheet (60-90 % is reached)");
  a.follow_up = "which batch keeps a step under 50 ms, and what limits it: bandwidth or memory?";
}

}  // namespace

void add_decode(CLI::App& app, Session& session) {
  add_calculator(app, session,
                 {.name = "decode",
                  .description = "Decode step: time per token, tokens/s, what bounds it, batch sweep, price",
                  .parameters = model_options + seldom(OptionList(cache_options.begin(), cache_options.begin() + 3)) +
                                OptionList(cache_options.begin() + 3, cache_options.end()) + machine_options + OptionList{
                      {"--active", Reads::count, "Parameters a token uses, when sparse"},
                      {"--weights-bytes", Reads::bytes, "Bytes read for the weights, when known: 26 GB"},
                      {"--weight-bytes", Reads::bytes, "Bytes of a weight", "2"},
                      {"--context", Reads::tokens, "Tokens each sequence has in its cache", "4k"},
                      {"--sequence-bytes", Reads::bytes, "Cache of a sequence, when known"},
                      {"--token-bytes", Reads::bytes, "Cache of a token, when known"},
                      {"--batch", Reads::count, "Sequences decoded together; a list sweeps", "1"},
                      {"--gpus", Reads::count, "Accelerators that share weights and caches", "1"},
                      {"--memory", Reads::bytes, "Memory of one accelerator"},
                      {"--efficiency", Reads::share, "Share of the peak that kernels reach", "1"},
                      {"--output", Reads::tokens, "Tokens of an answer", "512"},
                      {"--step-time", Reads::seconds, "Step time, when known: answers/s follow"},
                      {"--price", Reads::number, "US dollars an accelerator-hour"}},
                  .compute = compute,
                  .examples = "  napkin decode llama3-70b --gpus 8 --batch 1,8,64 --context 4k\n"
                              "  napkin decode --params 70B --weight-bytes 1 --gpus 16 --hw tpu-v5e --batch 32 --sequence-bytes 1.3GB",
                  .positional = "--model"});
}

}  // namespace napkin::cli
