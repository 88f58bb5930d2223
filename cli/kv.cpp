// napkin kv: the key-value cache of a sequence, of a batch, and how many fit.
#include "cli/cache_shape.hpp"
#include "model/serving/decode.hpp"
#include "model/serving/kv_cache.hpp"

namespace napkin::cli {
namespace {

void compute(const Given& g, Answer& a) {
  if (g.typed("--page")) {
    const auto w = paging_waste(g.number("--page", "page"), g.number("--mean", "mean"), g.number("--seq", "longest"));
    a.add("paged_waste_tokens", "wasted by paging, tokens a sequence", w.tokens);
    a.add("paged_waste_share", "wasted by paging, share", w.share, Show::percent);
    a.add("reserved_waste_share", "wasted by reserving the longest, share", w.reserved, Show::percent);
    a.conventions.push_back("waste in tokens of a cache, half a page a sequence in the mean; GiB = 2^30 B");
    a.neglected.push_back("block tables, prefix sharing, the page being filled in other layers' pools");
    a.follow_up = "what does prefix sharing save when half of each prompt is the same?";
    return;
  }
  const auto element = g.bytes("--kv-bytes", "b_kv");
  BytesT<T> sequence{};
  const bool shaped = !g.typed("--sequence-bytes") && has_cache_shape(g);
  if (shaped) {
    const auto layers = cache_layers(g);
    const auto tokens = g.number("--seq", "S");
    const auto token = kv_bytes_per_token(layers, element);
    a.add("kv_bytes_per_token", "cache of a token", token, Show::gib);
    const auto mine = kv_bytes_per_token_of_rank(layers, element, g.number("--tp", "tp"));
    if (g.typed("--tp")) a.add("kv_bytes_per_token_per_gpu", "... on one tensor-parallel rank", mine, Show::gib);
    if (g.typed("--available")) a.add("tokens_that_fit", "tokens whose cache fits in --available of a rank", let("tokens", floor(g.bytes("--available", "available") / mine)));
    sequence = kv_bytes_of_sequence(layers, element, tokens);
    a.add("kv_bytes_per_sequence", "cache of a sequence", sequence, Show::gib);
    bool windows = false;
    std::vector<KvLayers<T>> global = layers;
    for (auto& l : global) {
      windows = windows || l.window > 0;
      l.window = 0;
    }
    if (windows) {
      const auto all = kv_bytes_of_sequence(global, element, tokens);
      a.add("all_global_bytes_per_sequence", "the same without windows", all, Show::gib);
      a.add("over_all_global", "windows keep", let("over_all_global", sequence / all), Show::percent);
    }
  } else if (g.typed("--sequence-bytes")) {
    sequence = g.bytes("--sequence-bytes", "kv_sequence");
    a.add("kv_bytes_per_sequence", "cache of a sequence", sequence, Show::gib);
  }
  const bool sized = sequence.si() > 0;
  BytesT<T> held{};
  if (sized) {
    const auto batch = g.number("--batch", "B");
    held = let("kv_total", batch * sequence);
    a.add("kv_bytes", "cache of the batch", held, Show::gib);
    if (shaped && g.typed("--tp")) {
      const auto layers = cache_layers(g);
      a.add("kv_bytes_per_gpu", "... on one tensor-parallel rank",
            let("kv_each", held * (kv_bytes_per_token_of_rank(layers, element, g.number("--tp", "tp")) / kv_bytes_per_token(layers, element))), Show::gib);
    }
  }
  if (g.has_parameters()) {
    const auto weights = let("weights", g.parameters() * g.bytes("--weight-bytes", "b_w"));
    a.add("weight_bytes", "weights", weights, Show::gib);
    const auto total = let("total", weights + held);
    a.add("total_bytes", "weights and cache", total, Show::gib);
    a.add("rule_of_thumb_bytes", "weights and 20 % for the rest, by rule of thumb", let("rule_of_thumb", 1.2 * weights), Show::gib);
    if (sized) a.add("break_even_batch", "sequences whose cache weighs as much as the weights", let("B_even", weights / sequence));
    const auto memory = g.memory();
    const auto usable = let("usable", memory * (1 - g.number("--reserve", "reserve")));
    const auto needed = let("n_exact", total / usable);
    a.add("weights_need_gpus", "accelerators that hold the weights, not rounded", let("n_weights", weights / usable));
    a.add("total_need_gpus", "accelerators that hold weights and cache, not rounded", needed);
    a.add("least_gpus", "... rounded up", let("n_ceil", ceil(needed)));
    const auto slice = power_of_two_above(needed);
    a.add("least_power_of_two", "... as a power of two", slice);
    const auto least = power_of_two_above(let("n_weights", weights / usable));
    a.add("weights_power_of_two", "a power of two that holds the weights", least);
    const auto gpus = g.typed("--gpus") ? g.number("--gpus", "n") : choose("the least power of two that holds the weights", least);
    if ((gpus * usable).si() < weights.si()) {
      a.label("verdict", "verdict", "the weights alone do not fit");
      a.feasible = false;
    } else {
      const auto left = let("free", gpus * usable - weights);
      a.add("gpus", "accelerators", let("n", gpus));
      a.add("memory_bytes", "their memory", let("M_all", gpus * usable), Show::gib);
      a.add("free_bytes", "left for caches on them", left, Show::gib);
      a.add("free_bytes_per_gpu", "... on each", let("free_each", left / gpus), Show::gib);
      if (sized) {
        a.add("sequences_exact", "sequences that fit, not rounded", let("B_exact", left / sequence));
        a.add("max_batch", "sequences that fit", let("B_max", floor(left / sequence)));
      }
    }
  }
  a.conventions.push_back("GB = 1e9 B, GiB = 2^30 B; keys and values both counted; caches spread evenly over the accelerators");
  a.neglected.push_back("activations, the last page of a sequence, copies where key-value heads are fewer than TP ranks");
  a.follow_up = "at which batch does reading the cache take longer than reading the weights? (napkin decode)";
}

}  // namespace

void add_kv(CLI::App& app, Session& session) {
  add_calculator(app, session,
                 {.name = "kv",
                  .description = "KV cache: bytes a token and a sequence, what fits, break-even batch, windows, paging",
                  .parameters = model_options + cache_options + OptionList{
                      {"--weight-bytes", Reads::bytes, "Bytes of a weight", "2"},
                      {"--seq", Reads::tokens, "Tokens of a sequence", "4k"},
                      {"--batch", Reads::count, "Sequences", "1"},
                      {"--sequence-bytes", Reads::bytes, "Cache of a sequence, when it is known"},
                      {"--tp", Reads::count, "Tensor-parallel ranks", "1"},
                      {"--available", Reads::bytes, "Memory of a rank that is left for caches: 8.11 GiB"},
                      {"--gpus", Reads::count, "Accelerators that share weights and caches"},
                      {"--hw", Reads::hardware, "Machine", "h100"},
                      {"--memory", Reads::bytes, "Memory of one accelerator"},
                      {"--reserve", Reads::share, "Share of it that is kept free", "0"},
                      {"--page", Reads::count, "Paging: tokens of a page (with --mean, and --seq as the longest)"},
                      {"--mean", Reads::number, "Paging: mean length of a sequence"}},
                  .compute = compute,
                  .examples = "  napkin kv llama3-70b --seq 8k --gpus 8 --hw h100\n"
                              "  napkin kv --model deepseek-v3,qwen2.5-72b,llama3.1-405b\n"
                              "  napkin kv --layers 26 --global-layers 4 --window 1024 --kv-heads 4 --head-dim 256 --seq 32k",
                  .positional = "--model"});
}

}  // namespace napkin::cli
