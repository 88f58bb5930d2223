#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "model/transformer/model_input.hpp"
#include "model/transformer/parameters.hpp"

using namespace napkin;

namespace {

Architecture read(const std::string& text) { return read_hf_config(Document::parse(text, "config.json")); }

std::string refusal(const std::string& text) {
  try {
    (void)read(text);
  } catch (const InputError& e) {
    return e.what();
  }
  return "accepted";
}

// A small Llama with further members.
std::string llama(const std::string& members, const std::string& type = "llama") {
  return R"({"model_type": ")" + type + R"(", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 4,
    "num_attention_heads": 8, "vocab_size": 100, "hidden_act": "silu")" + members + "}";
}

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> out;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, ',');) out.push_back(cell);
  return out;
}

}  // namespace

TEST_SUITE("hf config") {
  TEST_CASE("published totals of typed-in configs") {
    const auto file = Document::read(NAPKIN_SOURCE_DIR "/tests/published/config_totals.json");
    for (const Field& row : file.root()["rows"].elements()) {
      const std::string name = row["name"].string();
      CAPTURE(name);
      const auto p = parameters(read(row["config"].raw()));
      const auto whole = [](const Field& f) { return f.integer(0, std::int64_t{1} << 53); };
      if (const auto t = row.find("total")) CHECK(p.total == whole(*t));
      if (const auto t = row.find("total_with_mtp")) CHECK(p.total_with_mtp == whole(*t));
      if (const auto t = row.find("about")) CHECK(double(p.total) == doctest::Approx(t->number()).epsilon(0.01));
    }
  }

  TEST_CASE("every shared config meets its published total, or is refused by a mechanism") {
    const char* elsewhere = std::getenv("NAPKIN_SHARED_DATA");
    const std::string data = elsewhere != nullptr ? elsewhere : NAPKIN_SOURCE_DIR "/../shared/data";
    std::ifstream table(data + "/hf_params.csv");
    if (!table) {
      MESSAGE("skipped: no shared data");
      return;
    }
    int within = 0, refused = 0, checked = 0;
    std::string line;
    std::getline(table, line);
    while (std::getline(table, line)) {
      // name, model_type, published_total, published_active, ..., check at 7
      const auto c = cells(line);
      const double tolerance = c[7] == "exact" ? 0.001 : c[7] == "within_0.5%" ? 0.006 : c[7] == "within_2%" ? 0.02 : 0;
      try {
        const auto p = parameters(read_model(data + "/hf_configs/" + c[0] + ".json"));
        if (c[2].empty()) continue;
        ++checked;
        CAPTURE(c[0]);
        const double error = std::abs(double(p.total) / std::stod(c[2]) - 1);
        CHECK(error <= tolerance);
        within += int(error <= tolerance);
        // Cards round the active count, with or without embeddings and head.
        if (!c[3].empty()) {
          const double active = std::stod(c[3]);
          const auto off = [&](std::int64_t n) { return std::abs(double(n) / active - 1); };
          CHECK(std::min({off(p.active), off(p.active_without_embedding), off(p.active_without_embedding_and_head)}) <= 0.12);
        }
      } catch (const InputError& e) {
        ++refused;
        MESSAGE(std::string(e.what()));
        CHECK(std::string(e.what()).find("not supported") != std::string::npos);
      }
    }
    MESSAGE("configs within tolerance: ", within, " of ", checked, ", refused: ", refused);
    CHECK(within >= 94);
  }

  TEST_CASE("what a silent config means depends on its family") {
    CHECK_FALSE(read(llama("")).tied_embeddings);
    CHECK(read(llama("", "gemma")).tied_embeddings);
    CHECK(read(llama("", "gemma")).kinds[0].ffn.activation == Activation::silu);
    CHECK(read(llama("", "qwen2")).kinds[0].attention->bias_qkv);
    CHECK_FALSE(read(llama("", "qwen2")).kinds[0].attention->bias_out);
    CHECK(read(llama("", "gemma2")).kinds[0].norms == 4);
    CHECK(read(llama("", "qwen3")).kinds[0].attention->qk_norm == QkNorm::per_head);
    CHECK(read(llama("", "cohere")).kinds[0].parallel_ffn);
    CHECK(read(llama(R"(, "attention_bias": true, "mlp_bias": true)")).kinds[0].ffn.bias);
  }

  TEST_CASE("tying may live outside text_config; the vision tower is said, not counted") {
    const auto a = read(R"({"model_type": "x", "tie_word_embeddings": true, "vision_config": {"hidden_size": 8},
                            "text_config": )" + llama("") + "}");
    CHECK(a.tied_embeddings);
    CHECK(a.assumptions[0].find("vision_config") != std::string::npos);
  }

  TEST_CASE("windows and chunks say which layers are full") {
    const auto gemma = read(llama(R"(, "sliding_window": 16, "sliding_window_pattern": 2)", "gemma3_text"));
    CHECK(gemma.layer(0).attention->window == 16);
    CHECK(gemma.layer(1).attention->window == 0);
    CHECK(read(llama(R"(, "sliding_window": 16)", "mistral")).layer(3).attention->window == 16);
    CHECK(read(llama(R"(, "sliding_window": null)", "mistral")).layer(3).attention->window == 0);
    CHECK(read(llama(R"(, "sliding_window": 16, "use_sliding_window": false)", "qwen2")).layer(0).attention->window == 0);
    const auto letters = read(llama(R"(, "sliding_window": 16, "sliding_window_pattern": "LLLG")", "exaone4"));
    CHECK(letters.layer(2).attention->window == 16);
    CHECK(letters.layer(3).attention->window == 0);
  }

  TEST_CASE("patterns of experts") {
    const std::string moe = R"(, "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32)";
    const auto moe_layers = [](const Architecture& a) {
      std::string s;
      for (std::size_t i = 0; i < a.depth(); ++i) s += a.layer(i).ffn.moe ? 'E' : '-';
      return s;
    };
    CHECK(moe_layers(read(llama(moe))) == "EEEE");
    CHECK(moe_layers(read(llama(moe + R"(, "first_k_dense_replace": 1)"))) == "-EEE");
    CHECK(moe_layers(read(llama(moe + R"(, "decoder_sparse_step": 2)"))) == "-E-E");
    CHECK(moe_layers(read(llama(moe + R"(, "mlp_only_layers": [2])"))) == "EE-E");
    CHECK(moe_layers(read(llama(moe + R"(, "moe_layer_freq": [0, 1, 1, 0])"))) == "-EE-");
    CHECK(moe_layers(read(llama(moe + R"(, "expert_layer_period": 2, "expert_layer_offset": 1)"))) == "-E-E");
    CHECK(moe_layers(read(llama(moe + R"(, "moe_layer_start_index": 1, "moe_layer_end_index": 2)"))) == "-EE-");
  }

  TEST_CASE("Infinity and NaN are read over in members that nobody uses") {
    CHECK(read(llama(R"(, "time_step_limit": [0.0, Infinity], "rope_theta": NaN)")).depth() == 4);
  }

  TEST_CASE("an unknown model_type is read only as far as it is unambiguous") {
    const auto a = read(llama(R"(, "rms_norm_eps": 1e-6)", "brand_new"));
    CHECK(a.assumptions[0].find("\"brand_new\" is not known") != std::string::npos);
    CHECK(refusal(llama(R"(, "quantum_heads": 3)", "brand_new")).find("quantum_heads") != std::string::npos);
    CHECK(refusal(R"({"model_type": "brand_new", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 4,
        "num_attention_heads": 8, "vocab_size": 100, "hidden_act": "gelu"})").find("gated") != std::string::npos);
  }

  TEST_CASE("refusals name the mechanism") {
    const std::pair<std::string, const char*> rows[] = {
        {llama("", "t5"), "encoder-decoder"},
        {llama("", "bert"), "encoder with bidirectional attention"},
        {llama("", "rwkv"), "RWKV"},
        {llama("", "zamba2"), "shared between layers"},
        {llama("", "gemma3n_text"), "AltUp"},
        {llama(R"(, "use_cla": true)", "hunyuan"), "cross-layer attention"},
        {llama(R"(, "num_kv_shared_layers": 2)", "gemma4_text"), "reuse the keys and values"},
        {llama(R"(, "layer_types": ["conv", "full_attention", "conv", "conv"])"), "\"conv\" are not supported"},
        {llama(R"(, "layer_types": ["full_attention"])"), "names 1 layers, not 4"},
        {llama(R"(, "num_key_value_heads": 3)"), "not a multiple of 3 key-value heads"},
        {llama(R"(, "num_experts": 8)"), "num_experts_per_tok"},
        {llama(R"(, "num_experts": 4, "num_experts_per_tok": 8)"), "visits 8 experts, but there are 4"},
        {R"({"model_type": "llama"})", "the number of layers is missing"},
        {R"([])", "is not an object"}};
    for (const auto& [config, message] : rows) {
      CAPTURE(config);
      CHECK(refusal(config).find(message) != std::string::npos);
    }
  }
}
