// napkin overlap: what a backward pass can hide of the gradients, what ZeRO-3 needs, what offloading costs.
#include "cli/calculator.hpp"
#include "model/step/overlap.hpp"

namespace napkin::cli {
namespace {

void compute(const Given& g, Answer& a) {
  const auto gradient = g.bytes("--grad-bytes", "b_g"), weight = g.bytes("--weight-bytes", "b_w");
  if (g.typed("--host-link")) {
    const auto o = optimizer_offload(g.parameters(), weight, gradient, g.bytes("--adam-bytes", "b_adam"), g.bandwidth("--host-link", "B_host"), g.bandwidth("--host-memory", "W_host"));
    a.add("down_s", "gradients down", o.down);
    a.add("up_s", "weights up", o.up);
    a.add("adam_s", "Adam on the host", o.adam);
    a.add("offload_s", "all, one after the other", let("T", o.down + o.adam + o.up));
    a.conventions.push_back("2 FLOPs a parameter and token; one direction of the link to the host; one after the other");
    a.neglected.push_back("overlap with the backward pass (delayed update hides part of it)");
    a.follow_up = "how large a batch hides it?";
    return;
  }
  const auto rate = g.typed("--rate") ? g.flop_rate("--rate", "rate") : let("rate", g.peak() * g.number("--efficiency", "efficiency"));
  const auto bandwidth = g.typed("--link") ? g.link() : g.nic();
  if (g.typed("--message")) {
    const auto message = g.bytes("--message", "V");
    a.add("message_s", "moving the message", let("T_message", message / bandwidth));
  }
  const auto replicas = g.number("--dp", "d");
  const auto h = hiding_tokens(replicas, weight, gradient, rate, bandwidth);
  if (g.typed("--tokens")) {
    const auto tokens = g.number("--tokens", "c");
    const bool sized = g.has_parameters();
    const auto p = sized ? g.parameters() : ScalarT<T>(1);
    const bool recompute = g.typed("--recompute");
    const auto k = g.number("--accumulate", "k");
    const auto w = data_parallel_work(p, tokens, replicas, k, weight, gradient, recompute, rate, bandwidth);
    a.add("comm_over_compute", "gradients' all-reduce over one backward", w.ratio, Show::factor);
    if (sized) {
      a.add("flops_per_gpu", "FLOPs of an accelerator and micro-batch", let("F", (w.forward + w.backward) * rate));
      a.add("compute_s", "forward and backward of a micro-batch", let("T_compute", w.forward + w.backward));
      a.add("forward_s", "forward", w.forward);
      a.add("backward_s", "backward", w.backward);
      a.add("all_reduce_s", "all-reduce of the gradients", w.all_reduce);
      a.add("all_reduce_bytes", "bytes sent a step: data parallelism, ZeRO-1", w.all_reduce_sent, Show::gib);
      a.add("zero3_bytes", "bytes sent a step: ZeRO-3", w.zero3_sent, Show::gib);
      a.add("zero3_s", "... time of them", let("T_zero3", w.zero3_sent / bandwidth));
      a.add("reduce_scatter_s", "reduce-scatter once a step", w.reduce_scatter);
      a.add("reduce_scatter_each_s", "reduce-scatter after every micro-batch", w.reduce_scatter_each);
      a.add("exposed_s", "exposed: only the last backward hides it", w.exposed);
      a.add("exposed_per_micro_batch_s", "... a micro-batch", w.exposed_micro);
    }
    a.add("loss", "share of the step lost", w.loss, Show::percent);
    a.label("hidden", "hidden", w.exposed.si() > 0 ? "no" : "yes");
  }
  a.add("hide_all_reduce_tokens", "tokens on each that hide the gradients (any model size)", h.all_reduce);
  a.add("hide_gather_tokens", "ZeRO-3: ... the next layer's weights behind a forward", h.gather_forward);
  a.add("hide_backward_tokens", "ZeRO-3: ... gather and reduce-scatter behind a backward", h.backward);
  a.add("hide_backward_recompute_tokens", "ZeRO-3: ... behind a backward that recomputes", h.backward_recompute);
  a.add("hide_step_recompute_tokens", "ZeRO-3: ... a whole step with recomputing, many replicas", h.step_recompute);
  a.conventions.push_back("2 FLOPs a parameter and token forward, 4 backward (6 recomputing); one direction of a link; ring volume (d-1)/d");
  a.neglected.push_back("latency, SMs that communication takes, buckets (the first ready late, the last exposed), contention");
  a.follow_up = "accumulating over k micro-batches: does it hide more? (no: only the last backward can)";
}

}  // namespace

void add_overlap(CLI::App& app, Session& session) {
  add_calculator(app, session,
                 {.name = "overlap",
                  .description = "Hiding gradients and ZeRO-3 gathers behind compute: ratio, exposed time, tokens that hide; offload",
                  .parameters = OptionList{
                      {"--model", Reads::model, "Parameters of this model, or:"},
                      {"--params", Reads::count, "Parameters of a rank (they drop out of the ratio)"},
                      {"--tokens", Reads::tokens, "Tokens of a micro-batch on one rank"},
                      {"--dp", Reads::count, "Replicas", "1000000"},
                      {"--accumulate", Reads::count, "Micro-batches of a step", "1"},
                      {"--grad-bytes", Reads::bytes, "Bytes of a gradient on the wire", "2"},
                      {"--weight-bytes", Reads::bytes, "Bytes of a weight on the wire", "2"},
                      {"--recompute", Reads::flag, "The backward recomputes the forward"},
                      {"--link", Reads::bandwidth, "Bandwidth of one rank (default: the machine's NIC)"},
                      {"--nic", Reads::bandwidth, "The same"},
                      {"--efficiency", Reads::share, "Share of the peak that kernels reach", "1"},
                      {"--rate", Reads::flop_rate, "... or the rate they reach"},
                      {"--message", Reads::bytes, "Time of a message of this size"},
                      {"--host-link", Reads::bandwidth, "Offloading: to the host, one direction"},
                      {"--host-memory", Reads::bandwidth, "Offloading: what Adam reaches on the host", "100 GB/s"},
                      {"--adam-bytes", Reads::bytes, "Offloading: traffic of Adam a parameter", "28"}} + machine_options,
                  .compute = compute,
                  .examples = "  napkin overlap --params 7B --tokens 4k --dp 256 --link 400GB/s,50GB/s --efficiency 50%\n"
                              "  napkin overlap --params 7B --host-link 55GB/s"});
}

}  // namespace napkin::cli
