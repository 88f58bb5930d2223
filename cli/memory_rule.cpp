// napkin memory: training memory by rule of thumb; of one layout, memory_layout.cpp answers.
#include <fmt/format.h>

#include "cli/memory.hpp"
#include "model/memory/budget.hpp"
#include "model/transformer/parameters.hpp"

namespace napkin::cli {
namespace {

TrainingRecipe recipe_of(const Given& g) {
  const std::string name = g.word("--recipe");
  if (const auto known = recipe_named(name)) return *known;
  // "2+2+12": weights, gradients, optimizer.
  double parts[3] = {};
  std::size_t from = 0, n = 0;
  bool sum = !name.empty() && name.find_first_not_of("0123456789.+") == name.npos;
  while (sum && from <= name.size() && n < 3) {
    const auto to = std::min(name.find('+', from), name.size());
    if (to == from) sum = false;
    else parts[n++] = std::atof(name.substr(from, to - from).c_str());
    from = to + 1;
  }
  if (sum && n == 3 && from > name.size()) return {"given", "given", "--recipe", parts[0], parts[1], parts[2], 0};
  std::string known;
  for (const auto& r : training_recipes()) known += fmt::format("{} ({:g}), ", r.name, r.total());
  throw InputError(fmt::format("--recipe: \"{}\" is not known; write {}or weights+gradients+optimizer bytes, such as 2+2+12", name, known));
}

ActivationRule rule_of(const std::string& word) {
  if (word == "none") return ActivationRule::none;
  if (word == "selective" || word == "flash") return ActivationRule::selective;
  if (word == "full") return ActivationRule::full;
  throw InputError("--recompute: \"" + word + "\"; write none, selective (or flash: scores never stored) or full");
}

void compute(const Given& g, Answer& a) {
  a.conventions.push_back("GB = 1e9 B, GiB = 2^30 B; activations in 16-bit after Korthikanti et al.; recompute none keeps the scores of unfused attention, selective is what fused attention (flash) keeps");
  a.neglected.push_back("gathered layers of ZeRO-3 and buckets (--other), allocator slack, context and communication buffers (2-5 GiB): --batch asks for one layout, which counts them");
  a.follow_up = "does it fit? give --hw or --memory, and a model";
  const auto recipe = recipe_of(g);
  const int zero = static_cast<int>(g.whole("--zero", 0));
  if (zero > 3) throw InputError("--zero: stages are 0, 1, 2 and 3");
  const auto tp = g.number("--tp", "tp"), pp = g.number("--pp", "pp"), dp = replicas(g, tp, pp);
  const bool machine = g.typed("--hw") || g.typed("--memory");
  const auto memory = g.memory();
  const auto usable = let("usable", memory * (1 - g.number("--reserve", "reserve")));
  a.add("bytes_per_param", "recipe: bytes a parameter", g.scope().input("b", Bytes::si(recipe.total()), recipe.source));
  const auto each = bytes_per_parameter(g.scope(), recipe, dp, zero);
  a.add("bytes_per_param_per_rank", "... on one rank", each);
  if (machine) a.add("largest_model_params", "largest model whose states fit", let("P_max", usable / each * tp * pp));

  // 1. States.
  BytesT<T> held{};
  if (g.has_parameters()) {
    const auto p = g.parameters();
    a.add("params", "parameters", p);
    a.add("states_bytes_all", "states of the model, once", let("M_all", p * g.scope().input("b", Bytes::si(recipe.total()), recipe.source)), Show::gib);
    const auto mine = let("P_rank", p / (tp * pp));
    const auto s = state_budget(g.scope(), recipe, mine, dp, zero);
    a.add("params_per_rank", "parameters of a rank", mine);
    a.add("weights_bytes", "weights", s.weights, Show::gib);
    a.add("gradients_bytes", "gradients", s.gradients, Show::gib);
    a.add("optimizer_bytes", "optimizer", s.optimizer, Show::gib);
    a.add("states_bytes", "states of a rank", s.total, Show::gib);
    held = s.total;
  }
  const auto other = g.typed("--other") ? g.bytes("--other", "other") : BytesT<T>{};
  // 2. Activations.
  const auto layers = g.has_shape_of("--layers") ? g.shape("--layers", "L") : ScalarT<T>(0);
  BytesT<T> activations{}, per_sequence{};
  if (layers.si() > 0 && (g.has_shape_of("--hidden") || g.typed("--saved-width"))) {
    const auto sequence = g.number("--seq", "s");
    const auto one = let("tokens", sequence * g.number("--micro-batch", "b"));
    const auto tokens = g.typed("--tokens") ? g.number("--tokens", "tokens")
                        : g.typed("--global-tokens") ? let("tokens", g.number("--global-tokens", "tokens_global") / dp)
                                                     : one;
    const auto m = g.typed("--micro-batches") ? g.number("--micro-batches", "m") : pp;
    const auto held_layers = layers_in_flight(layers, pp, m, g.number("--chunks", "v"));
    if (g.typed("--saved-width")) {
      activations = let("M_act", tokens * g.number("--saved-width", "width") * g.bytes("--element", "b_e") * layers, "austin2025scaling");
    } else {
      const auto rule = rule_of(g.word("--recompute"));
      const auto heads = rule == ActivationRule::none ? g.shape("--heads", "a") : ScalarT<T>(1);
      const bool sp = g.typed("--sp") || tp.si() == 1;
      const auto layer = layer_activations(rule, tokens, sequence, g.shape("--hidden", "h"), heads, tp, sp);
      a.add("layer_activations_bytes", "activations of a layer", layer, Show::gib);
      activations = let("M_act", layer * held_layers, "korthikanti2022");
      if (rule == ActivationRule::full) {
        const auto working = layer_activations(ActivationRule::selective, tokens, sequence, g.shape("--hidden", "h"), heads, tp, sp);
        a.add("layer_inputs_bytes", "inputs kept of every layer", activations, Show::gib);
        activations = let("M_act_working", activations + working);
        a.add("working_layer_bytes", "... the layer being recomputed", working, Show::gib);
      }
    }
    a.add("layers_held", "layers' worth of micro-batches that the first stage holds", held_layers);
    a.add("in_flight_factor", "... over its own layers of one micro-batch", let("in_flight", held_layers / (layers / pp)), Show::factor);
    if (g.typed("--chunks"))
      a.add("interleaving_factor", "... that interleaving adds to the plain schedule", let("interleaving", held_layers / layers_in_flight(layers, pp, m, ScalarT<T>(1))), Show::factor);
    a.add("activations_bytes", "activations, first stage", activations, Show::gib);
    per_sequence = let("per_sequence", activations * sequence / tokens);
    if (g.has_shape_of("--vocab") && g.shape("--vocab", "V").si() > 1) {
      const auto logits = let("M_logits", tokens * g.shape("--vocab", "V") * g.bytes("--logit-bytes", "b_logit"));
      a.add("logits_bytes", "logits (last stage)", logits, Show::gib);
      if (g.typed("--count-logits") || pp.si() == 1) per_sequence = let("per_sequence", per_sequence + logits * sequence / tokens);
    }
    a.add("bytes_per_sequence", "one more sequence in the micro-batch", per_sequence, Show::gib);
    if (g.typed("--global-tokens")) a.add("activations_bytes_all", "activations over all ranks", let("M_act_all", activations * dp), Show::gib);
  } else if (g.typed("--activations")) {
    activations = g.bytes("--activations", "M_act");
  } else if (g.typed("--vocab")) {  // the head alone
    const auto tokens = g.typed("--tokens") ? g.number("--tokens", "tokens") : let("tokens", g.number("--seq", "s") * g.number("--micro-batch", "b"));
    activations = let("M_logits", tokens * g.number("--vocab", "V") * g.bytes("--logit-bytes", "b_logit") / tp);
    a.add("logits_bytes", "logits, one copy", activations, Show::gib);
  }
  // 3. Together.
  const auto total = let("M", held + activations + other);
  if (!(total.si() > 0)) return;
  a.add("total_bytes", "states, activations, other", total, Show::gib);
  if (!machine) {
    a.follow_up = "does it fit? give --hw or --memory";
  } else {
    a.add("memory_bytes", "memory of an accelerator", usable, Show::gib);
    a.add("memory_share", "... taken", let("share", total / usable), Show::percent);
    a.label("fits", "fits", total.si() <= usable.si() ? "yes" : "no");
    if (g.has_parameters()) {
      const auto states = let("M_all", g.parameters() * g.scope().input("b", Bytes::si(recipe.total()), recipe.source));
      const auto fewest = fewest_ranks(states, usable, let("rest", activations + other));
      if (fewest.si() > 0) {
        a.add("fewest_gpus", "fewest accelerators, states fully sharded (ZeRO-3)", fewest);
        a.add("bytes_at_fewest", "... a rank then holds", let("M_fewest", states / fewest + activations + other), Show::gib);
      } else {
        a.label("fewest_gpus", "fewest accelerators", "none: what is not sharded fills one already");
      }
    }
    if (per_sequence.si() > 0) {
      const auto room = let("room", usable - held - other);
      a.add("largest_micro_batch", "largest micro-batch, sequences", let("b_max", floor(max(room, BytesT<T>{}) / per_sequence)));
    }
    a.follow_up = "what is the cheapest change that makes it fit: ZeRO, recomputing, or a pipeline stage more?";
  }
}

}  // namespace

void add_memory(CLI::App& app, Session& session) {
  add_calculator(app, session,
                 {.name = "memory",
                  .description = "Training memory: recipes, ZeRO, activations, logits; largest model, fewest GPUs, largest micro-batch; "
                                 "or one layout by term and stage",
                  .parameters = OptionList{
                      {"--model", Reads::model, "Preset, size (70B), config.json (or a run record), or its shape (--help-all)"},
                      {"--params", Reads::count, "Parameters: 70B"},
                      {"--hw", Reads::hardware, "Machine", "h100"},
                      {"--memory", Reads::bytes, "Memory of one accelerator, when no machine says"},
                      {"--gpus", Reads::count, "Accelerators; or --dp"},
                      {"--dp", Reads::count, "Ranks that states are sharded over", "1"},
                      {"--tp", Reads::count, "Tensor parallelism", "1"},
                      {"--sp", Reads::flag, "Sequence parallelism beside it"},
                      {"--pp", Reads::count, "Pipeline stages", "1"},
                      {"--zero", Reads::count, "ZeRO stage 0-3; 0,1,2,3 compares", "0", true},
                      {"--seq", Reads::tokens, "Sequence length", "4k"},
                      {"--micro-batch", Reads::count, "Sequences of a micro-batch", "1"},
                      {"--recompute", Reads::word, "none, selective (= flash), full", "none"}} +
                      OptionList{
                      {"--recipe", Reads::word, "bf16 (16 B), bf16-fp32-grads (18), adam8bit, deepseek-v3 ... or W+G+O: 2+2+12", "bf16"},
                      {"--activations", Reads::bytes, "Activations of a rank, when known"}} +
                      layout_options() +
                      seldom(OptionList(model_options.begin() + 2, model_options.end()) + OptionList{
                      {"--other", Reads::bytes, "Gathered layers, buffers"},
                      {"--reserve", Reads::share, "Share of the memory that is kept free", "0"},
                      {"--tokens", Reads::tokens, "Tokens of a micro-batch on a rank"},
                      {"--count-logits", Reads::flag, "Count logits in the largest micro-batch"},
                      {"--ungated", Reads::flag, "The feed-forward has no gate"},
                      {"--tied", Reads::flag, "Embedding and head are one tensor"},
                      {"--chunks", Reads::count, "Chunks of a stage (interleaved)", "1"},
                      {"--micro-batches", Reads::count, "Micro-batches of a step (default: fills the pipeline)"},
                      {"--global-tokens", Reads::tokens, "Tokens over all --dp ranks"},
                      {"--saved-width", Reads::number, "Elements kept a token and layer, instead of the formula"},
                      {"--element", Reads::bytes, "... their bytes", "2"},
                      {"--logit-bytes", Reads::bytes, "Bytes of a logit", "4"}}),
                  .compute = compute,
                  .examples = "  napkin memory --params 7.5B --zero 0,1,2,3 --dp 64 --memory 32GB\n"
                              "  napkin memory gpt3-175b --tp 8 --pp 8 --sp --recompute selective --seq 2k\n"
                              "  napkin memory --params 7B --recipe bf16,bf16-fp32-grads,adam8bit\n"
                              "  napkin memory llama3-8b --hw h100 --gpus 8 --zero 3 --seq 8k --batch 8",
                  .aliases = {"budget"},
                  .positional = "--model",
                  .other_engine = memory_of_layout});
}

}  // namespace napkin::cli
