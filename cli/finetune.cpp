// napkin finetune: full, LoRA and QLoRA side by side.
#include <fmt/format.h>

#include <algorithm>

#include "cli/calculator.hpp"
#include "model/memory/adapters.hpp"
#include "model/memory/budget.hpp"
#include "model/memory/number_format.hpp"

namespace napkin::cli {
namespace {

std::vector<LinearShape> targets_of(const Given& g, std::vector<LinearShape> all) {
  const std::string words = g.word("--targets");
  if (words == "all") return all;
  const std::string wanted = words == "attention" ? "q+k+v+o" : words == "qkv" ? "q+k+v" : words == "mlp" ? "gate+up+down" : words;
  std::vector<LinearShape> out;
  std::size_t from = 0;
  while (from <= wanted.size()) {
    const auto to = std::min(wanted.find('+', from), wanted.size());
    const std::string name = wanted.substr(from, to - from);
    const auto at = std::find_if(all.begin(), all.end(), [&](const auto& l) { return l.name == name; });
    if (at == all.end())
      throw InputError(fmt::format("--targets: \"{}\" is not a linear of the layer; write all, attention, mlp, or some of q+k+v+o+gate+up+down", name));
    out.push_back(*at);
    from = to + 1;
  }
  return out;
}

void compute(const Given& g, Answer& a) {
  const auto hidden = g.shape("--hidden", "h"), layers = g.shape("--layers", "L");
  const double heads = g.has_shape_of("--heads") ? g.shape("--heads", "N").si() : 1;
  const double head_dim = g.has_shape_of("--head-dim") ? g.shape("--head-dim", "H").si() : hidden.si() / heads;
  const double kv = g.has_shape_of("--kv-heads") ? g.shape("--kv-heads", "K").si() : heads;
  const double ffn = g.has_shape_of("--ffn") ? g.shape("--ffn", "F").si() : 0;
  const auto targets = targets_of(g, layer_linears(hidden.si(), heads, kv, head_dim, ffn, !g.typed("--ungated")));
  const auto adapter = adapter_parameters(g.scope(), targets, g.number("--rank", "r"), layers);
  a.add("trainable_params", "LoRA: trainable parameters", adapter);
  a.add("adapter_bytes", "LoRA: checkpoint of the adapter, 16-bit", let("M_adapter", adapter * (2 * byte)), Show::gib);
  if (g.has_parameters()) {
    const auto p = g.parameters();
    a.add("trainable_share", "... of the model", let("share", adapter / p), Show::percent);
    const auto full_checkpoint = let("M_full", p * (2 * byte));
    a.add("full_checkpoint_bytes", "checkpoint of the whole model, 16-bit", full_checkpoint, Show::gib);
    a.add("checkpoint_reduction", "... over the adapter's", let("reduction", full_checkpoint / (adapter * (2 * byte))), Show::factor);
    const auto ranks = g.number("--gpus", "n");
    const auto per = [&](BytesT<T> whole) { return let("each", whole / ranks); };
    const auto recipe = recipe_named(g.word("--recipe"));
    if (!recipe) throw InputError(fmt::format("--recipe: \"{}\" is not known; napkin memory --help lists some", g.word("--recipe")));
    const auto cost = g.scope().input("b", Bytes::si(recipe->total()), recipe->source);
    const auto full = let("M_full_states", p * cost);
    const auto trained = let("M_trained", adapter * cost);
    const auto lora = let("M_lora", p * (2 * byte) + trained);
    const auto format = quant_format_named(g.word("--base"));
    if (!format) throw InputError(fmt::format("--base: \"{}\" is not a format; napkin quant --help names them", g.word("--base")));
    const auto base = let("M_base", p * bits_per_element(g.scope(), *format) * (byte / 8));
    const auto qlora = let("M_qlora", base + trained);
    a.add("full_states_bytes", "full: weights, gradients, optimizer", full, Show::gib);
    a.add("lora_states_bytes", "LoRA: frozen 16-bit base and trained adapter", lora, Show::gib);
    a.add("qlora_base_bytes", "QLoRA: quantised base", base, Show::gib);
    a.add("qlora_states_bytes", "QLoRA: base and trained adapter", qlora, Show::gib);
    a.add("adapter_states_bytes", "... of these, the adapter's", trained, Show::gib);
    if (ranks.si() > 1) {
      a.add("full_states_bytes_per_gpu", "full, sharded (ZeRO-3), on one", per(full), Show::gib);
      a.add("lora_states_bytes_per_gpu", "LoRA, sharded, on one", per(lora), Show::gib);
      a.add("qlora_states_bytes_per_gpu", "QLoRA, sharded, on one", per(qlora), Show::gib);
    }
    if (g.typed("--tokens")) {
      const auto tokens = g.number("--tokens", "tokens");
      a.add("full_flops", "full: FLOPs, 6PT", let("F_full", 6 * p * tokens * flop));
      a.add("lora_flops", "LoRA: FLOPs, 4PT (no weight gradients of the base)", let("F_lora", 4 * p * tokens * flop));
    }
  }
  a.conventions.push_back("r·(d_in + d_out) parameters a linear; the adapter trains with --recipe; GB = 1e9 B");
  a.neglected.push_back("activations: adapters do not shrink them, gradients still pass through the frozen base (napkin memory); paged optimizers");
  a.follow_up = "then why does LoRA save so little time? (4PT against 6PT)";
}

}  // namespace

void add_finetune(CLI::App& app, Session& session) {
  add_calculator(app, session,
                 {.name = "finetune",
                  .description = "Fine-tuning: full, LoRA, QLoRA: trainable parameters, states, checkpoints, FLOPs",
                  .parameters = shape_options + OptionList{
                      {"--ungated", Reads::flag, "The feed-forward has no gate"},
                      {"--rank", Reads::count, "Rank of the adapters (r); a list compares", "16"},
                      {"--targets", Reads::word, "all, attention, mlp, or q+v ...", "all"},
                      {"--recipe", Reads::word, "What a trained parameter costs: bf16 (16 B), adam8bit ...", "bf16"},
                      {"--base", Reads::word, "QLoRA: format of the frozen base", "nf4-double"},
                      {"--gpus", Reads::count, "Accelerators the states are sharded over", "1"},
                      {"--tokens", Reads::count, "Training tokens, for FLOPs"}},
                  .compute = compute,
                  .examples = "  napkin finetune llama2-7b --rank 8,16,64\n"
                              "  napkin finetune --layers 96 --hidden 12288 --params 175B --rank 1,4,8 --targets q+v",
                  .positional = "--model"});
}

}  // namespace napkin::cli
