#include <doctest/doctest.h>

#include <cmath>

#include "model/transformer/model_input.hpp"
#include "model/transformer/parameters.hpp"

using namespace napkin;

TEST_SUITE("synthesise") {
  TEST_CASE("every size from 20M to 50T comes within 1 %, with a stated shape") {
    for (double n = 2e7; n < 5e13; n *= 1.37) {
      for (const bool moe : {false, true}) {
        if (moe && n < 1e9) continue;
        CAPTURE(n);
        CAPTURE(moe);
        const auto a = moe ? synthesise_moe(n) : synthesise_dense(n);
        CHECK(std::abs(double(parameters(a).total) / n - 1) <= 0.01);
        CHECK(a.assumptions.size() == 2);
        const auto& t = *a.kinds[0].attention;
        CHECK(std::int64_t(t.heads) * t.head_dim == a.hidden);
        CHECK(t.heads % t.kv_heads == 0);
      }
    }
  }

  TEST_CASE("100B factors well") {
    const auto a = read_model("100B");
    CHECK(a.depth() % 16 == 0);
    CHECK(a.depth() >= 80);
    CHECK(a.depth() <= 96);
    CHECK(a.hidden % 1024 == 0);
    CHECK(a.kinds[0].attention->heads % 8 == 0);
    CHECK(a.kinds[0].attention->kv_heads == 8);
    CHECK(a.kinds[0].ffn.width % 256 == 0);
  }

  TEST_CASE("words for sizes") {
    CHECK(read_model("7b").hidden == read_model("7B").hidden);
    CHECK(parameters(read_model("1T")).total > 990'000'000'000);
    CHECK(read_model("100B-moe").kinds[0].ffn.moe.has_value());
    CHECK(parameters(read_model("0.5B")).total < 510'000'000);
    CHECK_THROWS_WITH_AS((void)read_model("3"), doctest::Contains("outside 10M to 100T"), InputError);
    CHECK_THROWS_AS((void)read_model("1e30"), InputError);
    CHECK_THROWS_AS((void)read_model("-5B"), InputError);
  }

  TEST_CASE("names forgive case, punctuation, owner and stage of training") {
    for (const char* name : {"llama3.1-8b", "Llama-3.1-8B", "meta-llama/Llama-3.1-8B", "LLAMA3_1_8B",
                             "meta-llama/Meta-Llama-3.1-8B-Instruct"}) {
      CAPTURE(name);
      CHECK(read_model(name).name == "llama3.1-8b");
    }
    CHECK(read_model("gpt3-175b").name == "gpt3-175b");
    CHECK(read_model("GPT-3").name == "gpt3-175b");
    CHECK_THROWS_WITH_AS((void)read_model("llama3-9b"), doctest::Contains("did you mean \"llama3-8b\"?"), InputError);
    CHECK_THROWS_AS((void)read_model(""), InputError);
  }
}
