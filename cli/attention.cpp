// napkin attention: what bounds an attention kernel, what a measured rate says, and sequences over many accelerators.
#include "cli/calculator.hpp"
#include "model/kernel/attention_bounds.hpp"
#include "model/kernel/kernel.hpp"

namespace napkin::cli {
namespace {

void parallel(const Given& g, Answer& a, ScalarT<T> sequence, bool causal, ScalarT<T> group) {
  const auto element = g.bytes("--element", "b");
  const auto rate = let("rate", g.peak() * g.number("--efficiency", "efficiency"));
  const auto link = g.link();
  const auto ranks = g.number("--cp", "n");
  const auto c = least_ring_block(rate, link, group, causal, element);
  a.add("ring_block_tokens", "ring: least tokens on each accelerator that hide a hop", c);
  a.add("ring_sequence_tokens", "... of the whole sequence", let("S_min", c * ranks));
  if (!g.has_shape_of("--heads") || !g.has_shape_of("--head-dim")) return;
  const auto p = context_parallel(sequence, ranks, g.shape("--heads", "N"), g.shape("--kv-heads", "K"), g.shape("--head-dim", "H"), element, causal, rate, link);
  a.add("ring_bytes", "ring: bytes sent by one accelerator", p.ring, Show::gib);
  a.add("ring_hop_s", "ring: moving one block", p.hop);
  a.add("ring_block_s", "ring: computing against one block", p.block);
  a.add("ring_exposed_s", "ring: exposed", p.exposed);
  a.add("ring_time_s", "ring: attention forward", p.ring_time);
  a.add("all_gather_bytes", "all-gather of keys and values: bytes", p.all_gather, Show::gib);
  a.add("all_gather_time_s", "all-gather of keys and values: time", p.all_gather_time);
  a.add("ulysses_bytes", "Ulysses (all-to-all): bytes", p.ulysses, Show::gib);
  a.add("ulysses_time_s", "Ulysses: time", p.ulysses_time);
  if (group.si() > 1 || g.has_shape_of("--kv-heads")) a.add("ulysses_most_ranks", "Ulysses: most ranks without copying key-value heads", let("ranks", g.shape("--heads", "N") / group));
  a.add("megatron_sp_bytes", "Megatron sequence parallelism: bytes", p.megatron_sp, Show::gib);
  a.add("megatron_over_ulysses", "... over Ulysses", let("ratio", p.megatron_sp / p.ulysses), Show::factor);
  if (causal) a.add("contiguous_slowdown", "causal without zig-zag: slowest rank over the mean", p.contiguous_slowdown, Show::factor);
}

void compute(const Given& g, Answer& a) {
  const bool decode = g.typed("--decode"), causal = g.typed("--causal");
  const auto keys = g.number("--seq", "S");
  const auto queries = decode ? ScalarT<T>(1) : g.typed("--queries") ? g.number("--queries", "T") : keys;
  const auto element = g.bytes("--element", "b");
  const auto group = g.typed("--group") ? g.number("--group", "G")
                     : g.has_shape_of("--heads") ? let("G", g.shape("--heads", "N") / g.shape("--kv-heads", "K"))
                                                 : ScalarT<T>(1);
  if (g.typed("--cp")) {
    parallel(g, a, keys, causal, group);
    a.conventions.push_back("4·T·S·N·H FLOPs forward without a mask, half of them causal and balanced; dense peak times --efficiency; one direction of a link");
    a.neglected.push_back("latency of a hop, skew between ranks, kernels too short for their blocks");
    a.follow_up = "which of ring and Ulysses when there are fewer key-value heads than ranks?";
    return;
  }
  const auto peak = g.peak();
  const auto bandwidth = g.memory_bandwidth();
  const auto at = ridge(peak, bandwidth);
  const bool shaped = g.has_shape_of("--heads") && g.has_shape_of("--head-dim");

  // 1. Work and bytes.
  if (shaped) {
    const auto heads = g.shape("--heads", "N"), head_dim = g.shape("--head-dim", "H"), batch = g.number("--batch", "B");
    AttentionShape<T> s{batch, queries, keys, heads, let("K", heads / group), head_dim, head_dim, false, 0};
    const auto full = attention_flops(s);
    a.add("flops_forward", "FLOPs forward, all scores", full);
    a.add("flops_forward_causal", "FLOPs forward, causal half", let("F_causal", full / 2, "dao2023flashattention2"));
    a.add("flops_backward", "FLOPs backward: 2.5 x", let("F_backward", 2.5 * full, "dao2023flashattention2"));
    a.add("flops_rematerialise", "FLOPs that recomputing the scores and values adds", let("F_remat", full));
    const auto bytes = unfused_bytes(batch, heads, queries, keys, head_dim, element);
    a.add("unfused_bytes", "unfused: bytes with the scores materialised", bytes, Show::gib);
    a.add("unfused_memory_time_s", "unfused: memory traffic", let("T_unfused", bytes / bandwidth));
    a.add("math_time_s", "arithmetic at the peak", let("T_math", full / peak));
    a.add("unfused_flops_per_byte", "unfused: intensity", let("I_unfused", full / bytes));
  }
  // 2. Roofline of the fused kernel.
  const auto intensity = fused_intensity(queries, keys, group, element);
  a.add("flops_per_byte", "intensity, fused", intensity);
  a.add("decode_flops_per_byte", "intensity of one query on a long context", decode_intensity(group, element));
  a.add("ridge_flops_per_byte", "ridge of the machine", at);
  a.label("bound", "memory or arithmetic", intensity.si() < at.si() ? "memory-bound" : "not memory-bound");
  const auto attainable = let("attainable", min(peak, intensity * bandwidth), "williams2009roofline");
  a.add("attainable_flops_per_s", "attainable", attainable);
  a.add("attainable_share", "... of the peak", let("share", attainable / peak), Show::percent);
  a.add("prefill_compute_bound_tokens", "prefill is compute-bound above", compute_bound_length(at, group, element));
  if (g.typed("--sram") && g.has_shape_of("--head-dim")) {
    const auto f = flash_blocks(g.bytes("--sram", "M_chip"), g.shape("--head-dim", "d"), keys, element);
    a.add("block_columns", "FlashAttention-1: keys of a block", f.columns);
    a.add("block_rows", "... queries of a block", f.rows);
    a.add("query_passes", "... times the queries are read", f.passes);
    a.add("flash_bytes_per_head", "... bytes of one head", f.traffic, Show::gib);
  }
  // 3. The exponential beside the products.
  if (g.has_shape_of("--head-dim") && (g.typed("--sfu") || g.hardware().accelerator.clock)) {
    const auto sfu = g.typed("--sfu") ? g.rate("--sfu", "E")
                                      : let("E", g.scope().read("units", g.hardware().accelerator.units) *
                                                     g.scope().read("clock", *g.hardware().accelerator.clock) *
                                                     g.scope().input("exp_per_clock", 16, "special-function units of a multiprocessor, assumed"));
    const auto s = score_bound(g.shape("--head-dim", "H"), peak, sfu);
    a.add("flops_per_exp", "FLOPs of the products per exponential", s.flops);
    a.add("throughput_ratio", "tensor FLOP/s over exponentials/s", s.throughput);
    a.add("score_math_s", "a score: products", s.math);
    a.add("score_exp_s", "a score: exponential", s.exponential);
    a.add("exp_over_math", "exponential over products", s.exponential_share, Show::percent);
    a.add("serial_ceiling", "ceiling when they never overlap", s.serial_ceiling, Show::percent);
    a.add("overlap_ceiling", "ceiling when they overlap fully", s.overlap_ceiling, Show::percent);
    if (g.typed("--measured")) {
      const auto reached = g.number("--measured", "measured");
      const auto observed = let("t_observed", s.math / reached);
      a.add("score_observed_s", "a score, as measured", observed);
      a.add("score_unexplained_s", "... beyond products and exponential in turn", let("t_unexplained", observed - (s.math + s.exponential)));
      const double m = reached.si(), memory = (attainable / peak).si();
      a.label("diagnosis", "diagnosis",
              m > memory ? "above the memory roofline: check the measurement, or 40 % meant bandwidth"
              : intensity.si() < at.si() ? "bound by memory bandwidth"
              : m < s.serial_ceiling.si()
                  ? "not memory: issue, latency and special functions (work besides the products, and stalls); products and softmax overlap little"
                  : "products and softmax overlap partly; near the ceiling of the exponential units");
    }
  }
  a.conventions.push_back("4·T·S·N·H FLOPs forward without a mask; backward 2.5 x (scores recomputed); dense peak");
  a.neglected.push_back("the mask's saving in intensities; softmax arithmetic besides the exponential; L2 reuse between heads");
  a.follow_up = "why does fp8 help less than twofold here?";
}

}  // namespace

void add_attention(CLI::App& app, Session& session) {
  add_calculator(app, session,
                 {.name = "attention",
                  .description = "Attention: FLOPs, intensity, memory and exponential ceilings, measured % of peak explained; ring, Ulysses (--cp)",
                  .parameters = OptionList{
                      {"--model", Reads::model, "Heads of this model, or:"},
                      {"--hidden", Reads::count, "Model width, when it gives the width of a head"},
                      {"--heads", Reads::count, "Query heads (N)"},
                      {"--kv-heads", Reads::count, "Key-value heads (K)"},
                      {"--group", Reads::number, "Query heads of a key-value head (G)"},
                      {"--head-dim", Reads::count, "Width of a head (H)"},
                      {"--layers", Reads::count, "Layers (unused by one kernel)"},
                      {"--batch", Reads::count, "Sequences", "1"},
                      {"--seq", Reads::tokens, "Tokens attended to (S)", "8k"},
                      {"--queries", Reads::tokens, "Queries (T); default: as many"},
                      {"--decode", Reads::flag, "One query a sequence"},
                      {"--causal", Reads::flag, "With --cp: causal and balanced (zig-zag)"},
                      {"--element", Reads::bytes, "Bytes of an element", "2"},
                      {"--sfu", Reads::rate, "Exponentials a second: 3.9e12"},
                      {"--sram", Reads::bytes, "Memory on the chip, for FlashAttention's blocks: 192 KiB"},
                      {"--measured", Reads::share, "Share of the peak that was measured"},
                      {"--cp", Reads::count, "Accelerators that share the sequence"},
                      {"--link", Reads::bandwidth, "Their bandwidth, one direction"},
                      {"--efficiency", Reads::share, "With --cp: share of the peak kernels reach", "1"}} + machine_options,
                  .compute = compute,
                  .examples = "  napkin attention --seq 16k --head-dim 128 --measured 40%\n"
                              "  napkin attention llama3-70b --decode --seq 8k\n"
                              "  napkin attention --cp 64 --link 50GB/s --group 4 --causal --efficiency 60%",
                  .positional = "--model"});
}

}  // namespace napkin::cli
