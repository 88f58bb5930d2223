// Launch configurations: written, read back, and what is refused.
#include <doctest/doctest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "model/frameworks/profile_input.hpp"
#include "model/launch/launch_input.hpp"
#include "model/launch/target_input.hpp"
#include "model/launch/write.hpp"
#include "model/run/run_input.hpp"
#include "model/transformer/model_input.hpp"

using namespace napkin;
using namespace napkin::launch;

namespace {

// A job and a layout drawn at random; most are refused by a rule.
class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}

  int pick(std::initializer_list<int> from) { return *(from.begin() + static_cast<std::ptrdiff_t>(random_() % from.size())); }
  bool one_in(unsigned n) { return random_() % n == 0; }
  const std::string& name(const std::vector<std::string>& from) { return from[random_() % from.size()]; }

  std::string record(const std::string& framework, const std::vector<std::string>& precisions, bool wide) {
    const std::vector<std::string> models = preset_names();
    const int tp = pick({1, 1, 2, 4, 8}), cp = pick({1, 1, 1, 2, 4}), pp = pick({1, 1, 2, 4, 8}), dp = pick({1, 2, 4, 8, 16, 32});
    const int vpp = pp > 1 ? pick({1, 1, 2, 4, 5}) : 1, mb = pick({1, 1, 2, 4}), m = pick({1, 2, 4, 8, 16, 24, 32});
    std::string s = R"({"framework": ")" + framework + R"(", "hardware": "b200", "gpus": )" + std::to_string(tp * cp * pp * dp) +
                    R"(, "precision": ")" + name(precisions) + R"(", "seq_len": )" + std::to_string(pick({2048, 4096, 8192})) +
                    R"(, "global_batch": )" + std::to_string(dp * mb * m) + R"(, "micro_batch": )" + std::to_string(mb) +
                    R"(, "model": ")" + name(models) + R"(", "grad_accumulation_fp32": )" + (one_in(2) ? "true" : "false");
    const int recompute = pick({0, 0, 1, 1, 2});
    s += std::string(R"(, "recompute": ")") + (recompute == 0 ? "none" : recompute == 1 ? "selective" : "full") + '"';
    if (wide && recompute == 1) s += one_in(2) ? R"(, "recompute_modules": ["core_attn", "mlp"])" : R"(, "recompute_modules": ["layernorm"])";
    s += R"(, "layout": {"tp": )" + std::to_string(tp) + R"(, "sp": )" + (tp > 1 && !one_in(3) ? "true" : "false") + R"(, "cp": )" +
         std::to_string(cp) + R"(, "pp": )" + std::to_string(pp) + R"(, "vpp": )" + std::to_string(vpp) + R"(, "dp": )" +
         std::to_string(dp) + R"(, "zero": )" + std::to_string(dp * cp > 1 ? pick({0, 1, 1, 2, 3}) : 0);
    if (one_in(2)) s += R"(, "ep": )" + std::to_string(pick({1, 2, 4, 8})) + R"(, "etp": )" + std::to_string(one_in(3) ? tp : 1);
    if (wide && dp % 2 == 0 && dp * cp > 2 && one_in(4)) s += R"(, "zero_group": )" + std::to_string(dp * cp / 2);
    if (one_in(6) && pp > 1) s += R"(, "schedule": "gpipe")";
    if (wide && one_in(8) && tp > 1) s += R"(, "exposed": ["tp"])";
    else if (wide && one_in(8) && dp > 1) s += R"(, "exposed": ["dp"])";
    if (wide && one_in(8) && pp > 1) s += R"(, "order": "tp-cp-pp-dp")";
    if (wide && one_in(8) && cp > 1) s += R"(, "cp_exchange": "all-gather")";
    s += '}';
    if (wide && recompute == 2 && one_in(2)) s += R"(, "recompute_layers": 1)";
    if (wide && one_in(8)) s += R"(, "optimizer_offload": true)";
    if (wide && one_in(8) && recompute == 0 && pp == 1) s += R"(, "activation_offload_layers": 2)";
    return s + '}';
  }

 private:
  std::mt19937 random_;
};

std::optional<Run> resolved(const std::string& record) {
  try {
    return resolve(read_run_record(Document::parse(record, "record").root()));
  } catch (const InputError&) {
    return {};
  }
}

// The run that a configuration becomes on the hardware it was written for.
Run read_back(const std::string& text, const Target& target, const Run& run) {
  const LaunchText read = read_launch(text, "file", target, {.gpus = run.job.gpus, .layers = 0});
  CAPTURE(read.record);
  CHECK(read.reading.unread == std::vector<std::string>{});
  RunRequest request = read_run_record(Document::parse(read.record, "back").root());
  request.hardware = "b200";
  if (!request.gpus) request.gpus = run.job.gpus;
  return resolve(request);
}

bool same_model(const Architecture& a, const Architecture& b) {
  const auto kinds = [](const Architecture& m) {
    std::vector<LayerKind> all;
    for (std::size_t i = 0; i < m.depth(); ++i) {
      all.push_back(m.layer(i));
      all.back().name.clear();
      // One width of shared experts may be said as several.
      if (auto& moe = all.back().ffn.moe) moe->shared_experts = 0;
    }
    return all;
  };
  return a.hidden == b.hidden && a.vocab == b.vocab && a.tied_embeddings == b.tied_embeddings && a.norm == b.norm &&
         a.position == b.position && a.mtp_layers == b.mtp_layers && a.dropout == b.dropout && kinds(a) == kinds(b);
}

struct Trip {
  int expressible = 0, refused = 0, same_layout = 0, with_experts = 0, uneven = 0;
};

// Random runs of a target: whatever it can be told it gives back.
Trip round_trips(const std::string& name, int tries, unsigned seed, const std::vector<std::string>& precisions, bool shape) {
  const Target target = read_target(name);
  Draw draw(seed);
  Trip trip;
  for (int i = 0; i < tries; ++i) {
    const std::string record = draw.record(target.profile, precisions, true);
    const auto run = resolved(record);
    if (!run) continue;
    const Facts facts = facts_of(*run);
    const Emission e = emit(facts, target);
    if (!e.expressible()) {
      ++trip.refused;
      continue;
    }
    ++trip.expressible;
    const std::string text = file_text(e, target, 0, facts);
    CAPTURE(record);
    CAPTURE(text);
    Run back;
    if (shape) {
      back = read_back(text, target, *run);
      CHECK(same_model(*run->model, *back.model));
    } else {
      const LaunchText read = read_launch(text, "file", target, {.gpus = run->job.gpus, .layers = static_cast<std::int64_t>(run->model->depth())});
      std::string json = read.record;
      if (json.find("\"model\":") == std::string::npos) json.insert(1, R"("model": ")" + run->model->name + "\",");
      RunRequest request = read_run_record(Document::parse(json, "back").root());
      request.hardware = "b200";
      if (!request.sequence) request.sequence = run->job.sequence;
      back = resolve(request);
    }
    CHECK(back.job.sequence == run->job.sequence);
    CHECK(back.job.batch == run->job.batch);
    CHECK(back.job.gpus == run->job.gpus);
    Layout want = run->layout;
    // All replicas is what a group of that many is.
    if (want.zero == 0 || want.zero_group == want.dp * want.cp) want.zero_group = 0;
    // What a layout leaves exposed that its framework does not hide anyway, and a choice that is the usual one.
    if (!want.sp || run->profile->overlap.tensor_parallel.value == 0) want.exposed &= exposed_data_parallel;
    if (want.dp * want.cp == 1 || !run->profile->data_parallel.overlap_gradient) want.exposed &= exposed_tensor_parallel;
    if (context_exchange(run->job, want) == run->profile->context_exchange) want.exchange = ExchangeChoice::usual;
    Layout got = back.layout;
    // A pipeline that XLA unrolls has no schedule to name; the target's notes say so.
    if (std::none_of(e.settings.begin(), e.settings.end(), [](const Written& w) { return w.fact == "schedule"; }) && target.files[0].format == launch::Format::yaml)
      want.schedule = got.schedule;
    if (got.zero_group == got.dp * got.cp) got.zero_group = 0;
    CHECK(describe(got) == describe(want));
    trip.same_layout += got == want ? 1 : 0;
    trip.with_experts += facts.whole("experts") > 0 ? 1 : 0;
    trip.uneven += facts.flag("even_split") ? 0 : 1;
  }
  return trip;
}

std::vector<std::string> refusals(const std::string& target, const std::string& record) {
  CAPTURE(record);
  const auto run = resolved(record);
  REQUIRE(run);
  return emit(facts_of(*run), read_target(target)).refusals;
}

std::string complaint(const std::string& text, const Target& target) {
  try {
    (void)read_launch(text, "f", target);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}
std::string complaint(const std::string& text, const char* target) { return complaint(text, read_target(target)); }

}  // namespace

TEST_SUITE("launch") {
  TEST_CASE("every target reads, and names a profile that does") {
    const auto names = target_names();
    CHECK(names.size() == 8);
    for (const std::string& name : names) {
      CAPTURE(name);
      const Target t = read_target(name);
      CHECK(t.name == name);
      CHECK(read_profile(t.profile).name == t.profile);
      CHECK(!t.rules.empty());
      CHECK(!t.source.empty());
    }
    CHECK_THROWS_WITH_AS(read_target("megatron-ln"), doctest::Contains("did you mean \"megatron-lm\""), InputError);
  }

  TEST_CASE("Megatron arguments → run → arguments → run, over random layouts") {
    const Trip t = round_trips("megatron-lm", 4000, 7, {"bf16", "fp16", "fp8", "fp8-block", "mxfp8", "nvfp4"}, true);
    CHECK(t.expressible >= 200);
    CHECK(t.same_layout == t.expressible);
    CHECK(t.with_experts >= 20);
    CHECK(t.uneven >= 20);
    MESSAGE(t.expressible << " written and read back the same, " << t.with_experts << " with experts, " << t.uneven
                          << " split unevenly; " << t.refused << " refused");
  }

  TEST_CASE("the other targets that state the shape give it back") {
    for (const auto& [name, precisions, least] : std::initializer_list<std::tuple<const char*, std::vector<std::string>, int>>{
             {"megatron-bridge", {"bf16", "fp8", "fp8-block", "mxfp8", "nvfp4"}, 150}, {"nanotron", {"bf16"}, 20}, {"maxtext", {"bf16", "fp8", "mxfp8"}, 40}}) {
      CAPTURE(name);
      const Trip t = round_trips(name, 4000, 11, precisions, true);
      CHECK(t.expressible >= least);
      CHECK(t.same_layout == t.expressible);
      MESSAGE(std::string(name) << ": " << t.expressible << " written and read back the same, " << t.refused << " refused");
    }
  }

  TEST_CASE("targets that take the model by name give the layout back") {
    for (const auto& [name, tries, least] : std::initializer_list<std::tuple<const char*, int, int>>{
             {"torchtitan", 4000, 80}, {"torchtitan-recipe", 4000, 80}, {"picotron", 20'000, 20}}) {
      CAPTURE(name);
      const Trip t = round_trips(name, tries, 13, {"bf16"}, false);
      CHECK(t.expressible >= least);
      CHECK(t.same_layout == t.expressible);
      MESSAGE(std::string(name) << ": " << t.expressible << " written and read back the same, " << t.refused << " refused");
    }
  }

  TEST_CASE("no fact is dropped: it is written, named by a limit, or refused") {
    Draw draw(23);
    std::vector<Target> targets;
    for (const std::string& name : target_names()) targets.push_back(read_target(name));
    int runs = 0;
    for (int i = 0; i < 600; ++i) {
      const auto run = resolved(draw.record("reference", {"bf16", "fp8", "nvfp4"}, true));
      if (!run) continue;
      ++runs;
      const Facts facts = facts_of(*run);
      for (const Target& target : targets) {
        const std::string& name = target.name;
        const Emission e = emit(facts, target);
        CAPTURE(name);
        if (!e.expressible()) continue;
        std::set<std::string> said;
        for (const Written& w : e.settings) said.insert(w.fact);
        // A layout axis that is not 1 stands in the file or in words.
        for (const char* axis : {"tp", "cp", "pp", "ep", "vpp"}) {
          if (facts.whole(axis) <= 1 || said.contains(axis)) continue;
          bool covered = false;
          for (const Limit& l : target.limits)
            covered |= holds(l.when, facts) && std::find(l.covers.begin(), l.covers.end(), axis) != l.covers.end();
          for (const Setting& s : target.settings)
            covered |= holds(s.when, facts) && std::find(s.covers.begin(), s.covers.end(), axis) != s.covers.end();
          CAPTURE(axis);
          CHECK(covered);
        }
      }
    }
    CHECK(runs >= 40);
  }

  TEST_CASE("what a framework has no words for") {
    const std::string head = R"({"hardware": "h100", "model": "llama3-8b", "seq_len": 4096, "global_batch": 256, "micro_batch": 1, )";
    CHECK(refusals("megatron-lm", head + R"("framework": "megatron-lm", "gpus": 64, "layout": {"tp": 2, "sp": true, "pp": 4, "zero": 1}})").empty());
    const auto has = [](const std::vector<std::string>& all, const char* words) {
      return std::any_of(all.begin(), all.end(), [&](const std::string& s) { return s.find(words) != std::string::npos; });
    };
    CHECK(has(refusals("megatron-lm", head + R"("framework": "megatron-lm", "gpus": 64, "layout": {"pp": 4, "schedule": "zb-h1", "zero": 1}})"), "pipeline schedule"));
    CHECK(has(refusals("torchtitan", head + R"("framework": "torchtitan", "gpus": 64, "layout": {"zero": 1}})"), "ZeRO 1 has no setting"));
    CHECK(has(refusals("nanotron", head + R"("framework": "reference", "gpus": 64, "layout": {"pp": 4, "vpp": 2}})"), "not interleaved"));
    CHECK(has(refusals("nanotron", head + R"("framework": "reference", "gpus": 64, "layout": {"zero": 3}})"), "zero_stage"));
    CHECK(has(refusals("picotron", head + R"("framework": "reference", "gpus": 64, "layout": {"zero": 1}})"), "not sharded"));
    CHECK(has(refusals("deepspeed", head + R"("framework": "reference", "gpus": 64, "layout": {"pp": 2, "zero": 2}})"), "pipeline"));
    CHECK(has(refusals("deepspeed", head + R"("framework": "reference", "gpus": 64, "layout": {"tp": 2, "sp": true}})"), "sequence parallelism"));
    CHECK(has(refusals("torchtitan-recipe", R"({"hardware": "h100", "model": "mixtral-8x7b", "seq_len": 4096, "global_batch": 256, "micro_batch": 1, "framework": "torchtitan", "gpus": 64, "layout": {"tp": 2, "sp": true, "ep": 2, "etp": 2, "zero": 3}})"), "removed"));
    CHECK(has(refusals("megatron-lm", R"({"hardware": "h100", "model": "gemma3-27b", "seq_len": 4096, "global_batch": 256, "micro_batch": 1, "framework": "megatron-lm", "gpus": 64, "layout": {"tp": 2, "sp": true}})"), "norms in a layer"));
    // The frameworks' own constraints are checked again, whatever the profile let through.
    CHECK(has(refusals("torchtitan", R"({"hardware": "h100", "model": "llama3-8b", "seq_len": 4096, "global_batch": 256, "micro_batch": 1, "framework": "reference", "gpus": 64, "layout": {"tp": 16, "sp": true, "zero": 3}})"), "tp divides the kv heads"));
  }

  TEST_CASE("uneven stages are said exactly") {
    const auto run = resolved(R"({"hardware": "h100", "model": "deepseek-v3", "framework": "megatron-lm", "gpus": 2048, "seq_len": 4096, "global_batch": 8192,
      "micro_batch": 1, "layout": {"tp": 2, "sp": true, "pp": 16, "vpp": 1, "ep": 32, "etp": 1, "zero": 1}})");
    REQUIRE(run);
    const Facts f = facts_of(*run);
    const Target t = read_target("megatron-lm");
    const std::string text = file_text(emit(f, t), t, 0, f);
    CHECK(text.find("--pipeline-model-parallel-layout '" + f.word("split") + "'") != std::string::npos);
    CHECK(text.find("--moe-layer-freq '([0]*3+[1]*58)'") != std::string::npos);
    CHECK(text.find("--expert-tensor-parallel-size 1\n") != std::string::npos);
    std::int64_t layers = 0;
    for (const Value& v : f.get("stage_layers").list) layers += v.whole;
    CHECK(layers == 61);
    const LaunchText back = read_launch(text, "f", t);
    CHECK(back.reading.facts.word("split") == f.word("split"));
    CHECK(back.reading.facts.whole("vpp") == 1);
    // TorchTitan names the modules of each stage.
    const auto llama = resolved(R"({"hardware": "h100", "model": "llama3.1-405b", "framework": "torchtitan", "gpus": 512, "seq_len": 8192, "global_batch": 512,
      "micro_batch": 1, "layout": {"tp": 8, "sp": true, "pp": 8, "zero": 3}})");
    REQUIRE(llama);
    const Facts g = facts_of(*llama);
    const Target titan = read_target("torchtitan");
    const std::string toml = file_text(emit(g, titan), titan, 0, g);
    CHECK(g.flag("even_split") == false);
    CHECK(toml.find("module_fqns_per_model_part = [[\"tok_embeddings\", \"layers.0\"") != std::string::npos);
    CHECK(toml.find("\"layers.125\", \"norm\", \"output\"]]") != std::string::npos);
  }

  TEST_CASE("texts and numbers survive every format") {
    const std::vector<Value> values{"plain", "1f1b", "yes", "null", "with \"quotes\" and \\", "tab\tand 'single'", "a#b", "a: b", "", "café × µ", "-5", "1e5",
                                    "([0]*3+[1]*58)", "Et*3|(tt|)*30L", 0, 7, -3, std::int64_t{1} << 53, 0.5, 1e-5, 3e-4, true, false,
                                    std::vector<Value>{"a", "b c", 3}, std::vector<Value>{}};
    for (const launch::Format format : {launch::Format::yaml, launch::Format::toml, launch::Format::json, launch::Format::python}) {
      Target t{.name = "t", .title = "t", .profile = "reference", .source = "s", .aliases = {}, .ignored = {}, .files = {{.name = "f", .format = format, .prefix = "cfg.", .before = {}, .after = {}}},
               .settings = {}, .rules = {}, .limits = {}};
      Emission e;
      for (std::size_t i = 0; i < values.size(); ++i) e.settings.push_back({.key = "a.b" + std::to_string(i), .section = "s", .fact = "", .value = values[i], .file = 0});
      const std::string text = file_text(e, t, 0, Facts());
      CAPTURE(text);
      const auto found = read_configuration(text, "f", format);
      REQUIRE(found.size() == values.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        CAPTURE(plain(values[i]));
        CHECK(found[i].key == "a.b" + std::to_string(i));
        CHECK(found[i].value == values[i]);
      }
    }
    // A shell has words only.
    Target t{.name = "t", .title = "t", .profile = "reference", .source = "s", .aliases = {}, .ignored = {}, .files = {{.name = "f", .format = launch::Format::arguments, .prefix = "", .before = {}, .after = {}}},
             .settings = {}, .rules = {}, .limits = {}};
    Emission e;
    for (std::size_t i = 0; i < 14; ++i) e.settings.push_back({.key = "--a" + std::to_string(i), .section = "S", .fact = "", .value = values[i], .file = 0});
    const auto found = read_arguments(file_text(e, t, 0, Facts()), "f");
    REQUIRE(found.size() == 14);
    for (std::size_t i = 0; i < 14; ++i) {
      REQUIRE(found[i].value.list.size() == 1);
      CHECK(found[i].value.list[0] == values[i]);
    }
  }

  TEST_CASE("scripts as people write them") {
    const LaunchText t = read_launch("TP=4\nPP=${PP:-2}\nARGS=\"\n  --num-layers=32 \\\n  --swiglu \"\n"
                                     "torchrun --nproc_per_node 8 --nnodes $NNODES pretrain.py $ARGS \\\n"
                                     "  --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --vocab-size 32000 # the model\n"
                                     "  --ignored 3\n"
                                     "exec x --tensor-model-parallel-size $TP --pipeline-model-parallel-size ${PP} --micro-batch-size 1 --global-batch-size 64 --bf16\n",
                                     "f", read_target("megatron-lm"));
    const Facts& f = t.reading.facts;
    CHECK(f.whole("tp") == 4);
    CHECK(f.whole("pp") == 2);
    CHECK(f.whole("layers") == 32);
    CHECK(f.whole("ffn") == 10880);  // ⌊8·4096/3⌋ down to a multiple of 64
    CHECK(f.whole("head_dim") == 128);
    CHECK(!f.has("nodes"));          // a variable nobody set
    CHECK(f.word("precision") == "bf16");
    CHECK(f.flag("grad_fp32"));
    CHECK(f.word("bias") == "all");
    CHECK(t.reading.unread == std::vector<std::string>{"--ignored"});
  }

  TEST_CASE("complaints name the place and both values") {
    CHECK(complaint("--num-layers 32 --hidden-size 4096\n--num-layers 40\n", "megatron-lm").find("f:1: --num-layers: 32, and line 2 says 40") != std::string::npos);
    CHECK(complaint("--num-layers many", "megatron-lm").find("\"many\" is not a number") != std::string::npos);
    CHECK(complaint("--num-layers $L", "megatron-lm").find("shell variable $L") != std::string::npos);
    CHECK(complaint("--num-layers 99999999999999999999", "megatron-lm").find("f:1") != std::string::npos);
    CHECK(complaint("--recompute-granularity some --num-layers 3", "megatron-lm").find("\"some\" is not a value") != std::string::npos);
    CHECK(complaint("--foo 1", "megatron-lm").find("no setting of Megatron-LM that is known") != std::string::npos);
    CHECK(complaint("--num-layers 4 --hidden-size 64 --num-experts 8 --moe-layer-freq '[1]*5'", "megatron-lm").find("5 are listed, the model has 4") != std::string::npos);
    CHECK(complaint("--num-layers 4 --hidden-size 64 --num-experts 8 --moe-layer-freq '([1]*99999999)*9999'", "megatron-lm").find("not a list of 0 and 1") != std::string::npos);
    CHECK(complaint("--num-layers 4 --pipeline-model-parallel-size 2 --pipeline-model-parallel-layout 'Et|t|tL'", "megatron-lm").find("f:") != std::string::npos);
    CHECK(complaint("'unfinished", "megatron-lm").find("a quote has no end") != std::string::npos);
    CHECK(complaint("[parallelism]\ntensor_parallel_degree = eight\n", "torchtitan").find("f:2: \"eight\" is not a TOML value") != std::string::npos);
    CHECK(complaint("[parallelism\n", "torchtitan").find("f:1") != std::string::npos);
    CHECK(complaint("a:\n\tb: 1\n", "nanotron").find("f:2: YAML indents with blanks") != std::string::npos);
    CHECK(complaint("a: &x 1\n", "nanotron").find("anchors") != std::string::npos);
    CHECK(complaint("{\"zero_optimization\": {\"stage\": 1,}}", "deepspeed").find("f:1") != std::string::npos);
    CHECK(complaint("parallelism:\n  dp: 100000000000\n  tp: 900000000\n  pp: 1\n", "nanotron").find("larger than any machine") != std::string::npos);
    CHECK(complaint("parallelism:\n  dp: 1.5\n", "nanotron").find("1.5 is not a whole number") != std::string::npos);
    CHECK(complaint("", "megatron-lm").find("no setting") != std::string::npos);
  }

  TEST_CASE("YAML as PyYAML dumps it") {
    const auto found = read_yaml("data_stages:\n- data:\n    dataset: null\n    seed: 42\n  name: Stable Stage\n  start_training_step: 1\n"
                                 "- name: two\nlist:\n- 1\n- 2\nmodel:\n  layers: [1, 2,\n    3]\n  eps: 1.0e-05\n  text: 'it''s'  # comment\n",
                                 "f");
    std::string all;
    for (const Found& f : found) all += f.key + "=" + plain(f.value) + ";";
    CHECK(all == "data_stages.0.data.dataset=nothing;data_stages.0.data.seed=42;data_stages.0.name=Stable Stage;data_stages.0.start_training_step=1;"
                 "data_stages.1.name=two;list.0=1;list.1=2;model.layers=1, 2, 3;model.eps=1.0e-05;model.text=it's;");
  }

  TEST_CASE("whatever a file holds, the answer is facts or one line of complaint") {
    std::mt19937 random(5);
    const std::string pieces[] = {"--num-layers", " ", "=", "\n", "'", "\"", "$", "{", "}", "(", ")", "[", "]", "#", "\\", "- ", ": ", "a", "9999999999999999999999", "-1",
                                  "parallelism.tp", "[parallelism]", "tensor_parallel_degree", "true", "nan", "1e999", "\t", "é", "--moe-layer-freq", "--bf16", "*", "|", "&"};
    std::vector<Target> targets;
    for (const std::string& name : target_names()) targets.push_back(read_target(name));
    for (int i = 0; i < 20'000; ++i) {
      std::string text;
      for (auto n = random() % 24; n > 0; --n) text += pieces[random() % std::size(pieces)];
      const std::string what = complaint(text, targets[static_cast<std::size_t>(i) % targets.size()]);
      CAPTURE(text);
      CHECK(what.find('\n') == std::string::npos);
    }
  }
}
