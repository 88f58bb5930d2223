#include <doctest/doctest.h>

#include "model/transformer/layer_pattern.hpp"
#include "model/transformer/model_input.hpp"
#include "model/transformer/parameters.hpp"

using namespace napkin;

TEST_SUITE("parameters") {
  TEST_CASE("published totals of presets, to the digit") {
    // The publishers' stored tensors, tied ones once (Hugging Face safetensors totals).
    struct Row {
      const char* preset;
      std::int64_t total;
    };
    for (const Row& r : {Row{"gpt2", 124439808}, Row{"llama2-70b", 68976648192}, Row{"llama3.1-8b", 8030261248},
                         Row{"llama3.1-405b", 405853388800}, Row{"llama3.2-1b", 1235814400},
                         Row{"mixtral-8x7b", 46702792704}, Row{"mistral-small-24b", 23572403200},
                         Row{"deepseek-v2", 235741434880}, Row{"deepseek-v2-lite", 15706484224},
                         Row{"deepseek-moe-16b", 16375728128}, Row{"qwen2.5-0.5b", 494032768},
                         Row{"qwen2.5-72b", 72706203648}, Row{"qwen3-0.6b", 596049920}, Row{"qwen3-14b", 14768307200},
                         Row{"qwen3-235b", 235093634560}, Row{"gemma-7b", 8537680896}, Row{"gemma2-27b", 27227128320},
                         Row{"gemma3-1b", 999885952}, Row{"nemotron4-340b", 341029195776}, Row{"bloom", 176247271424},
                         Row{"bloom-7b1", 7069016064}, Row{"opt-350m", 331196416}, Row{"opt-66b", 65719701504},
                         Row{"falcon-7b", 6921720704}, Row{"falcon-40b", 41303293952}, Row{"mpt-7b", 6649286656},
                         Row{"phi-2", 2779683840}, Row{"phi-4", 14659507200}, Row{"gpt-j-6b", 6050882784},
                         Row{"gpt-neox-20b", 20554567680}, Row{"pythia-12b", 11846072320}, Row{"olmo2-13b", 13716198400},
                         Row{"dbrx", 131596523520}, Row{"yi-34b", 34388917248}, Row{"tinyllama", 1100048384}}) {
      CAPTURE(r.preset);
      CHECK(parameters(read_model(r.preset)).total == r.total);
    }
  }

  TEST_CASE("DeepSeek-V3: total, active, with MTP as the checkpoint stores it") {
    const auto p = parameters(read_model("deepseek-v3"));
    CHECK(p.total == 671026419200);
    CHECK(p.active == 37552297472);
    CHECK(p.total_with_mtp == 684489845504);
    CHECK(p.mtp_copies == 2LL * 129280 * 7168);
  }

  TEST_CASE("active without the input embedding is what GPT-OSS publishes") {
    CHECK(double(parameters(read_model("gpt-oss-120b")).active_without_embedding) == doctest::Approx(5.13e9).epsilon(2e-3));
    CHECK(double(parameters(read_model("gpt-oss-20b")).active_without_embedding) == doctest::Approx(3.61e9).epsilon(2e-3));
  }

  TEST_CASE("blocks sum to the total, layers to the blocks, and plain is explained, for every preset") {
    for (const auto& name : preset_names()) {
      CAPTURE(name);
      const auto a = read_model(name);
      const auto p = parameters(a);
      std::int64_t sum = 0;
      for (const auto& [block, n] : p.by_block()) sum += n;
      CHECK(sum == p.total);
      std::int64_t layers = 0, active = 0;
      for (std::size_t i = 0; i < a.depth(); ++i) {
        const auto l = layer_parameters(a, a.layer(i));
        layers += l.total();
        active += l.active();
      }
      const auto outside = p.embedding + p.positions + p.head;
      CHECK(p.total - layers - outside >= 0);
      CHECK(p.total - layers == p.active - active);
      Derivation d;
      const auto traced = count_parameters(Scope<Traced>(d), a);
      CHECK(traced.total.si() == double(p.total));
      CHECK(traced.active.si() == double(p.active));
      REQUIRE(traced.total.why() != nullptr);
    }
  }

  TEST_CASE("a count that a double cannot hold exactly is refused") {
    Architecture a;
    a.hidden = 10'000'000;
    a.vocab = 1000;
    LayerKind k;
    k.ffn.width = 10'000'000;
    for (int i = 0; i < 100; ++i) append_layer(a, k);
    CHECK_THROWS_AS((void)parameters(a), InputError);
  }
}
