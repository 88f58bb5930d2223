// napkin moe: expert parallelism by rule of thumb.
#include "cli/calculator.hpp"
#include "model/kernel/roofline.hpp"
#include "model/serving/kv_cache.hpp"
#include "model/step/experts.hpp"
#include "model/transformer/parameters.hpp"

namespace napkin::cli {
namespace {

void exchange(const Given& g, Answer& a) {
  const auto tokens = g.number("--tokens", "tokens"), hidden = g.shape("--hidden", "h");
  ScalarT<T> destinations(0);
  if (g.typed("--destinations")) {
    destinations = g.number("--destinations", "destinations");
  } else {
    const auto places = g.number("--places", "places"), k = g.shape("--top-k", "k");
    const auto distinct = expected_places(places, k);
    const auto others = (places - 1) / places;
    a.add("distinct_places", "distinct places of a token's experts", distinct);
    a.add("remote_places", "... other than its own", let("remote", distinct * others));
    a.add("remote_experts", "experts of a token elsewhere, counted each", let("remote_experts", k * others));
    destinations = g.typed("--each-expert") ? let("destinations", k * others) : let("destinations", distinct * others);
  }
  const auto e = token_exchange(tokens, destinations, hidden, g.bytes("--dispatch-bytes", "b_d"), g.bytes("--combine-bytes", "b_c"), g.typed("--link") ? g.link() : g.nic());
  a.add("bytes_per_token", "sent for a token: dispatch and combine", e.per_token);
  a.add("dispatch_s", "dispatch", e.dispatch);
  a.add("combine_s", "combine", e.combine);
  a.add("exchange_s", "both, a layer, forward", e.time);
  if (g.has_shape_of("--layers")) {
    const auto layers = g.shape("--layers", "L"), batches = g.number("--interleaved", "micro_batches");
    a.add("layer_s", "... of the micro-batches that take turns", let("T_layer", batches * e.time));
    const auto all = let("T_token", layers * batches * e.time);
    a.add("model_s", "all layers: a step of these tokens when it is the bound", all);
    a.add("tokens_per_s", "tokens/s of a sequence at that bound", let("tokens_per_s", 1 / all));
  }
  if (g.has_shape_of("--expert-ffn") && g.has_shape_of("--top-k")) {
    const auto shared = g.has_shape_of("--shared-experts") ? g.shape("--shared-experts", "shared") : ScalarT<T>(0);
    const auto rate = g.typed("--rate") ? g.flop_rate("--rate", "rate") : let("rate", g.peak() * g.number("--efficiency", "efficiency"));
    const auto work = expert_time(tokens, let("experts", g.shape("--top-k", "k") + shared), hidden, g.shape("--expert-ffn", "f"), rate);
    a.add("experts_s", "the experts' arithmetic, forward", work);
    a.add("exchange_over_experts", "exchange over arithmetic", let("ratio", e.time / work), Show::factor);
    a.label("hidden", "hidden behind the experts alone", e.time.si() <= work.si() ? "yes" : "no");
  }
}

void compute(const Given& g, Answer& a) {
  if (g.typed("--tokens") && g.has_shape_of("--hidden")) exchange(g, a);
  if (g.typed("--hottest")) {
    const auto hottest = g.number("--hottest", "hottest");
    if (hottest.si() < 1) throw InputError("--hottest is the busiest expert over the mean: at least 1");
    a.add("imbalance_slowdown", "expert phase slower by", hottest, Show::factor);
    a.add("dropped_share", "tokens dropped at the capacity factor", dropped_share(hottest, g.number("--capacity", "capacity")), Show::percent);
  }
  if (g.has_shape_of("--experts") && g.has_shape_of("--top-k")) {
    const auto experts = g.shape("--experts", "E"), k = g.shape("--top-k", "k");
    const auto at = ridge(g.peak(), g.memory_bandwidth());
    a.add("critical_batch", "tokens above which the experts are compute-bound: E/k x the dense one", let("B_crit", critical_rows(at, g.bytes("--weight-bytes", "b_w")) * experts / k));
    if (g.typed("--batch")) {
      const auto touched = experts_touched(experts, k, g.number("--batch", "B"));
      a.add("experts_touched", "experts a batch touches", touched);
      a.add("tokens_per_expert", "tokens of an expert, mean", let("tokens_each", g.number("--batch", "B") * k / experts));
    }
  }
  if (g.has_parameters()) {
    const auto p = g.parameters();
    const auto bytes = g.bytes("--weight-bytes", "b_w");
    const auto all = let("M", p * bytes);
    const auto usable = let("usable", g.memory() * (1 - g.number("--reserve", "reserve")));
    const auto exact = let("n_exact", all / usable);
    a.add("weight_bytes", "weights: read when every expert is hit", all, Show::gib);
    a.add("active_bytes", "weights of one token: read at batch 1", let("M_active", g.active_parameters() * bytes), Show::gib);
    a.add("least_gpus", "accelerators that hold the weights", let("n", ceil(exact)));
    a.add("least_power_of_two", "... as a power of two", power_of_two_above(exact));
    if (g.typed("--gpus")) {
      const auto n = g.number("--gpus", "n_given");
      a.add("weights_time_s", "reading all weights on --gpus", let("T_weights", all / (n * g.memory_bandwidth())));
      a.add("weight_bytes_per_gpu", "weights of one", let("M_each", all / n), Show::gib);
      a.add("free_bytes_per_gpu", "free memory of one", let("free", usable - all / n), Show::gib);
    }
  }
  if (g.has_model()) {
    const auto n = count_parameters(g.scope(), g.architecture());
    if (n.routed.si() > 0) {
      a.add("expert_params", "parameters of routed and shared experts", let("P_experts", n.routed + n.shared));
      a.add("dense_ffn_params", "... of dense feed-forwards", n.dense_ffn);
      a.add("active_expert_params", "... of the experts of one token", let("P_active_experts", n.routed_active + n.shared));
    }
  }
  a.conventions.push_back("uniform routing; a token goes once to each place; forward only (backward repeats both exchanges); GB = 1e9 B");
  a.neglected.push_back("latency, permuting tokens, forwarding inside the node, scales of fp8: napkin collective --top-k has the tiers");
  a.follow_up = "hidden or not: what would two micro-batches in turn hide it behind?";
}

}  // namespace

void add_moe(CLI::App& app, Session& session) {
  add_calculator(app, session,
                 {.name = "moe",
                  .description = "Mixture of experts: all-to-all time, hidden or not, imbalance, drops, experts touched, weights to hold",
                  .parameters = OptionList{
                      {"--model", Reads::model, "Model, or its sizes:"},
                      {"--hidden", Reads::count, "Model width (h)"},
                      {"--experts", Reads::count, "Routed experts (E)"},
                      {"--top-k", Reads::count, "Experts of a token (k)"},
                      {"--expert-ffn", Reads::count, "Width of an expert (f)"},
                      {"--tokens", Reads::tokens, "Exchange: tokens of one accelerator"},
                      {"--places", Reads::count, "Exchange: nodes (or accelerators) the experts are spread over", "8"},
                      {"--destinations", Reads::number, "... or other places that a token goes to (node-limited)"},
                      {"--dispatch-bytes", Reads::bytes, "Bytes of an element out", "1"},
                      {"--combine-bytes", Reads::bytes, "Bytes of an element back", "2"},
                      {"--link", Reads::bandwidth, "Bandwidth of one accelerator (default: its NIC)"},
                      {"--interleaved", Reads::count, "Micro-batches that take turns", "2"},
                      {"--rate", Reads::flop_rate, "What expert kernels reach (default: --efficiency of the peak)"},
                      {"--efficiency", Reads::share, "Share of the peak", "0.4"},
                      {"--hottest", Reads::number, "Imbalance: load of the hottest expert over the mean"},
                      {"--capacity", Reads::number, "Imbalance: capacity factor", "1"},
                      {"--batch", Reads::count, "Tokens of a decode step, all sequences"},
                      {"--gpus", Reads::count, "Accelerators that hold the weights"},
                      {"--weight-bytes", Reads::bytes, "Bytes of a weight", "1"}} + machine_options +
                      seldom({
                      {"--params", Reads::count, "Parameters, all"},
                      {"--active", Reads::count, "Parameters of one token"},
                      {"--layers", Reads::count, "Layers with experts"},
                      {"--shared-experts", Reads::count, "Shared experts", nullptr, true},
                      {"--each-expert", Reads::flag, "... a copy for each expert, none shared"},
                      {"--nic", Reads::bandwidth, "The same"},
                      {"--memory", Reads::bytes, "Memory of one accelerator"},
                      {"--reserve", Reads::share, "Share of it kept free", "0"}}),
                  .compute = compute,
                  .examples = "  napkin moe deepseek-v3 --tokens 4k --destinations 4\n"
                              "  napkin moe --hidden 7168 --top-k 8 --places 8 --tokens 4k --link 50GB/s\n"
                              "  napkin moe --hottest 1.3 --capacity 1",
                  .positional = "--model"});
}

}  // namespace napkin::cli
