// napkin limits: below how many tokens each kind of parallelism waits for its network.
#include "cli/calculator.hpp"
#include "model/step/limits.hpp"

namespace napkin::cli {
namespace {

// Accelerators that share the fast network: a switch's domain; of a torus the slice, or all of it.
ScalarT<T> domain_of(const Given& g) {
  if (g.typed("--domain")) return g.number("--domain", "domain");
  const Network& network = g.hardware().network;
  if (network.tiers.empty()) return g.scope().input("domain", network.node_size, "accelerators of a node");
  const Tier& fast = network.tiers.front();
  if (fast.topology == Tier::Topology::torus && g.typed("--gpus")) return g.number("--gpus", "domain");
  double size = static_cast<double>(fast.size);
  if (!fast.dims.empty() && size == 0) {
    size = 1;
    for (const int d : fast.dims) size *= d;
  }
  return g.scope().input("domain", size > 0 ? size : network.node_size, "accelerators of one " + fast.name + " domain");
}

void decode_limits(const Given& g, Answer& a) {
  const auto ffn = g.shape("--ffn", "F"), batch = g.number("--decode-batch", "B");
  const auto link = g.link();
  const auto limit = g.typed("--beta") ? let("Y_decode", ffn / (batch * g.number("--beta", "beta")), "austin2025scaling")
                                       : decode_tensor_limit(ffn, batch, g.memory_bandwidth(), link);
  a.add("decode_tp_limit", "decode: tensor parallelism that activations on the wire allow", limit);
  if (!g.has_shape_of("--hidden") || !g.typed("--tp")) return;
  const auto p = decode_projection(batch, g.shape("--hidden", "D"), ffn, g.number("--tp", "Y"), g.bytes("--element", "b"), link, g.memory_bandwidth(), g.peak());
  a.add("projection_wire_s", "one projection: wire", p.wire);
  a.add("projection_memory_s", "one projection: weights from memory", p.memory);
  a.add("projection_math_s", "one projection: arithmetic", p.math);
}

void compute(const Given& g, Answer& a) {
  a.conventions.push_back("tokens on each accelerator, one direction of a link at full bandwidth, 16-bit on the wire; dense peak times --efficiency");
  a.neglected.push_back("latency, attention (only linears compute), optimizer, overlap that is not perfect: below the limit, a step is as slow as its network");
  a.follow_up = "what moves the limit more: a faster link or slower kernels?";
  const auto axes = g.number("--axes", "axes");
  const auto rate = let("rate", g.peak() * g.number("--efficiency", "efficiency"));
  if (g.typed("--decode-batch")) return decode_limits(g, a);
  if (g.typed("--width-ratio")) {
    const auto w = weight_stationary(g.number("--gpus", "N"), g.number("--width-ratio", "f"), g.number("--axes", "axes"));
    a.add("x", "two-dimensional weight-stationary: X", w.x);
    a.add("yz", "... YZ", w.yz);
    a.add("coefficient", "it moves coefficient/sqrt(N) x BD/W", w.coefficient);
    a.add("fewest_gpus", "accelerators above which it beats one dimension over all axes", w.fewest);
    return;
  }
  // 1. What the wire asks for.
  const auto alpha = g.typed("--alpha") ? let("alpha", g.number("--alpha", "alpha") / axes * (1 * flop / byte))
                                        : wire_intensity(rate, g.link(), axes);
  const auto one_axis = g.typed("--alpha") ? let("alpha_axis", g.number("--alpha", "alpha") * (1 * flop / byte))
                                           : wire_intensity(rate, g.link(), ScalarT<T>(1));
  const auto sparsity = g.typed("--experts") ? let("E/k", g.number("--experts", "E") / g.number("--top-k", "k")) : ScalarT<T>(1);
  const auto one = ScalarT<T>(1);
  a.add("flops_per_byte", "peak over wire, one axis", one_axis);
  const auto dp = data_parallel_tokens(alpha, one, one, sparsity);
  a.add("dp_tokens_per_gpu", "DP, FSDP: least tokens on each", dp);
  // 2. Out of the domain: NVLink switch, node, slice.
  const bool machine = !g.typed("--alpha") || g.typed("--egress") || g.typed("--nic");
  const bool outside = machine && (g.typed("--egress") || g.typed("--nic") || g.hardware().network.tiers.size() > 1);
  std::optional<IntensityT<T>> beyond;
  if (g.typed("--alpha-beyond")) {
    beyond = let("alpha_beyond", g.number("--alpha-beyond", "alpha_beyond") * (1 * flop / byte));
  } else if (outside) {
    const auto domain = domain_of(g);
    a.add("domain_gpus", "accelerators of a domain (what the fast links join)", domain);
    const auto egress = g.typed("--egress") ? g.bandwidth("--egress", "W_egress") : let("W_egress", g.nic() * domain);
    beyond = wire_intensity(rate, egress, one);
    a.add("egress_bytes_per_s", "out of a domain", egress);
    a.add("dcn_tokens", "DP between slices: least tokens of a slice's share, for each of its accelerators' links", let("tokens_dcn", rate / (egress / domain) / (1 * flop / byte)));
  }
  if (beyond) {
    const auto x = g.typed("--domains") ? g.number("--domains", "X") : one;
    const auto mp = g.typed("--model-parallel")
                        ? let("mp", max(g.number("--model-parallel", "mp") / domain_of(g), 1))
                        : one;
    a.add("dp_tokens_per_gpu_beyond", "DP, FSDP beyond the domain: least tokens on each", data_parallel_tokens(*beyond, x, mp, sparsity));
  }
  // 3. Tensor parallelism.
  if (g.has_shape_of("--ffn")) {
    const auto ffn = g.shape("--ffn", "F");
    a.add("tp_limit", "TP inside: most ways", tensor_parallel_limit(alpha, ffn));
    if (beyond) {
      a.add("tp_limit_beyond", "TP beyond the domain: most ways", tensor_parallel_limit(*beyond, ffn));
      a.add("tp_limit_two_domains", "... over exactly two domains", tensor_parallel_limit_two_domains(*beyond, ffn, domain_of(g)));
    }
    // 4. FSDP and TP together.
    const auto mixed = mixed_tokens(one_axis, ffn);
    a.add("mixed_tokens_per_gpu", "FSDP with TP, best split: least tokens on each", mixed);
    if (g.typed("--gpus")) a.add("mixed_batch_tokens", "... for all accelerators", let("B_mixed", mixed * g.number("--gpus", "N")));
    if (g.typed("--batch")) a.add("mixed_max_gpus", "... most accelerators for the batch", let("N_mixed", g.number("--batch", "B") / mixed));
    if (g.typed("--gpus") && g.typed("--batch"))
      a.add("mixed_data_ways", "... its FSDP ways", mixed_data_ways(g.number("--batch", "B"), g.number("--gpus", "N"), ffn, g.number("--axes-ratio", "M_X/M_Y")));
  }
  if (g.typed("--tp")) {
    a.add("ffn_for_tp", "feed-forward width that fills this TP", width_for(alpha, g.number("--tp", "Y")));
    if (beyond) a.add("ffn_for_tp_beyond", "... beyond the domain", width_for(*beyond, g.number("--tp", "Y")));
  }
  // 5. This batch on these accelerators.
  if (g.typed("--gpus")) {
    const auto n = g.number("--gpus", "N");
    a.add("dp_batch_tokens", "DP, FSDP: least batch", let("B_dp", dp * n));
    if (beyond) a.add("dp_batch_tokens_beyond", "... beyond the domain", let("B_beyond", data_parallel_tokens(*beyond, one, one, sparsity) * n));
  }
  if (!g.typed("--batch")) {
    // no batch: thresholds only
  } else {
    const auto batch = g.number("--batch", "B");
    a.add("dp_max_gpus", "DP, FSDP: most accelerators", let("N_dp", batch / dp));
    if (g.typed("--seq")) {
      const auto sequences = let("sequences", batch / g.number("--seq", "s"));
      a.add("dp_max_ways", "pure DP without splitting sequences: most ways", sequences);
      if (g.typed("--gpus")) a.add("dp_max_share", "... share of the accelerators", let("share", sequences / g.number("--gpus", "N")), Show::percent);
    }
    if (g.typed("--gpus")) {
      const auto slices = g.number("--slices", "slices");
      const auto tokens = let("tokens", batch / (slices * g.number("--gpus", "N")));
      a.add("tokens_per_gpu", "tokens on each", tokens);
      a.add("tokens_per_slice", "tokens of a slice", let("tokens_slice", batch / slices));
      a.label("fsdp_verdict", "FSDP", tokens.si() >= dp.si() ? "compute-bound" : "communication-bound");
      if (g.has_shape_of("--ffn"))
        a.label("mixed_verdict", "FSDP with TP", tokens.si() >= mixed_tokens(one_axis, g.shape("--ffn", "F")).si() ? "compute-bound" : "communication-bound");
    }
  }
}

}  // namespace

void add_limits(CLI::App& app, Session& session) {
  add_calculator(app, session,
                 {.name = "limits",
                  .description = "When DP, FSDP, TP and their mix become communication-bound: least tokens per GPU, most ways",
                  .parameters = OptionList{
                      {"--model", Reads::model, "Widths of this model, or --ffn and --hidden"},
                      {"--ffn", Reads::count, "Feed-forward width (F)"},
                      {"--hidden", Reads::count, "Model width (D)"},
                      {"--alpha", Reads::number, "Peak over link, FLOP/B, when known (instead of --hw, --link)"},
                      {"--link", Reads::bandwidth, "Link of one accelerator (of one mesh axis, both ways on a TPU)"},
                      {"--axes", Reads::count, "Mesh axes that work together", "1"},
                      {"--nic", Reads::bandwidth, "Out of the domain, one accelerator"},
                      {"--egress", Reads::bandwidth, "Out of a domain, all its accelerators"},
                      {"--domain", Reads::count, "Accelerators that the fast links join (default: NVLink domain, slice)"},
                      {"--gpus", Reads::count, "Accelerators (of a slice)"},
                      {"--slices", Reads::count, "Slices, with DP between them", "1"},
                      {"--batch", Reads::tokens, "Tokens of a step"},
                      {"--seq", Reads::tokens, "Tokens of a sequence"},
                      {"--experts", Reads::count, "Experts E (with --top-k)"},
                      {"--top-k", Reads::count, "Experts of a token"},
                      {"--tp", Reads::count, "Tensor parallelism to fill, or of a decode projection"},
                      {"--decode-batch", Reads::count, "Decode: sequences of a step"},
                      {"--efficiency", Reads::share, "Share of the peak that kernels reach", "1"}} + machine_options +
                      seldom({
                      {"--alpha-beyond", Reads::number, "... out of the domain"},
                      {"--axes-ratio", Reads::number, "FSDP axes over TP axes in the mix", "2"},
                      {"--domains", Reads::count, "DP over exactly so many domains"},
                      {"--model-parallel", Reads::count, "Ways of TP and PP that share the domain's egress"},
                      {"--beta", Reads::number, "Decode: memory over link bandwidth, when known"},
                      {"--width-ratio", Reads::number, "2-D weight-stationary decode: F/D"},
                      {"--element", Reads::bytes, "Bytes on the wire and of a weight", "2"}}),
                  .compute = compute,
                  .examples = "  napkin limits --hw h100 --ffn 28672\n"
                              "  napkin limits --alpha 2550 --axes 3 --ffn 28672 --batch 4194304 --gpus 8960 --slices 4\n"
                              "  napkin limits --hw tpu-v5e --decode-batch 64 --hidden 8192 --ffn 28672 --tp 32 --link 90GB/s"});
}

}  // namespace napkin::cli
