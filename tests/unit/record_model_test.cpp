#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "model/transformer/model_input.hpp"
#include "model/transformer/parameters.hpp"

using namespace napkin;

namespace {
Architecture read(const std::string& text, std::int64_t seq_len = 0) {
  return read_record_model(Document::parse(text, "record").root(), seq_len);
}
std::string with(const std::string& members) {
  return R"({"name": "x", "layers": 4, "hidden": 512, "heads": 8, "gated": true, "vocab": 1000)" + members + "}";
}
std::string refusal(const std::string& text) {
  try {
    (void)read(text);
  } catch (const InputError& e) {
    return e.what();
  }
  return "accepted";
}
std::filesystem::path shared_data() {
  const char* elsewhere = std::getenv("NAPKIN_SHARED_DATA");
  return elsewhere != nullptr ? elsewhere : NAPKIN_SOURCE_DIR "/../shared/data";
}
}  // namespace

TEST_SUITE("record model") {
  TEST_CASE("every preset's name leads to itself") {
    for (const std::string& name : preset_names()) {
      const auto text = preset_text(name);
      REQUIRE(text);
      CHECK(text->find("\"" + name + "\"") != std::string::npos);
    }
    CHECK(read_model("gpt3-13b").hidden != read_model("gpt3-1.3b").hidden);
  }

  TEST_CASE("what is silent is inferred and said") {
    const auto a = read(with(R"(, "kv_heads": 2, "ffn": 1024)"));
    CHECK(a.kinds[0].attention->head_dim == 64);
    CHECK(a.norm == Norm::rmsnorm);
    CHECK(a.position == Position::rope);
    CHECK_FALSE(a.tied_embeddings);
    CHECK(a.assumptions.size() >= 4);
  }

  TEST_CASE("the GPT lineage: learned positions take the sequence length") {
    const std::string gpt = R"({"layers": 2, "hidden": 64, "heads": 2, "gated": false, "ffn": 256, "vocab": 100})";
    const auto a = read(gpt, 128);
    CHECK(a.position == Position::learned);
    CHECK(a.learned_positions == 128);
    CHECK(a.tied_embeddings);
    CHECK(a.kinds[0].ffn.activation == Activation::gelu);
    CHECK(parameters(a).positions == 128 * 64);
    CHECK(parameters(read(gpt)).positions == 0);
  }

  TEST_CASE("experts: dense first layers, interleaving, shared") {
    const auto a = read(with(R"(, "ffn": 1024, "moe": {"experts": 8, "top_k": 2, "ffn": 256, "shared_experts": 2,
                                 "dense_layers": 1, "interleave": 2})"));
    CHECK(a.layer(0).ffn.width == 1024);
    CHECK_FALSE(a.layer(1).ffn.moe.has_value());
    CHECK(a.layer(2).ffn.moe->shared_ffn == 512);
    CHECK_FALSE(a.layer(3).ffn.moe.has_value());
  }

  TEST_CASE("hybrids: one letter a layer, the MTP module's behind the slash") {
    const auto a = read(with(R"(, "attention": "hybrid mamba2+moe+attention", "hybrid_pattern": "ME*E/*E", "mtp_layers": 2,
        "moe": {"experts": 8, "top_k": 2, "ffn": 256},
        "mamba": {"num_heads": 16, "head_dim": 64, "state_dim": 32, "groups": 2})"));
    CHECK(a.layer(0).mamba->inner == 1024);
    CHECK(a.layer(2).attention.has_value());
    CHECK(a.mtp_layers == 2);
    const auto& mtp = a.kinds[std::size_t(a.mtp_kind)];
    CHECK(mtp.attention.has_value());
    CHECK(mtp.ffn.moe.has_value());
    CHECK(mtp.norms == 2);
  }

  TEST_CASE("windows in words and members") {
    const auto a = read(with(R"j(, "ffn": 1024, "attention": "gqa (alternating sliding-window 128 / full)")j"));
    CHECK(a.layer(0).attention->window == 128);
    CHECK(a.layer(1).attention->window == 0);
    CHECK(read(with(R"(, "ffn": 1024, "window": 64)")).layer(3).attention->window == 64);
  }

  TEST_CASE("contradictions and unknown members are one line that names both") {
    const std::pair<const char*, const char*> rows[] = {
        {R"(, "ffn": 1024, "kv_heads": 3)", "8 query heads are not a multiple of 3 key-value heads"},
        {R"(, "ffn": 1024, "attention": "mha", "kv_heads": 2)", "\"mha\""},
        {R"(, "ffn": 1024, "attention": "mla")", "needs the member \"mla\""},
        {R"(, "ffn": 1024, "attention": "linear")", "is not known"},
        {R"(, "ffn": 1024, "attention": "hybrid something")", "hybrid_pattern"},
        {R"(, "hybrid_pattern": "M*E", "ffn": 8)", "has 3 layers, not 4"},
        {R"(, "moe": {"experts": 2, "top_k": 4, "ffn": 8})", "top_k 4 is above 2 experts"},
        {R"(, "moe": {"experts": 8, "top_k": 2, "ffn": 8, "dense_layers": 1})", "\"ffn\", their width, is missing"},
        {R"(, "moe": {"experts": 8, "top_k": 2, "ffn": 8, "dense_layers": 9}, "ffn": 8)", "9 dense layers of 4"},
        {R"(, "fnn": 1024)", "did you mean \"ffn\"?"},
        {R"()", "neither \"ffn\" nor \"moe\""},
        {R"(, "ffn": -1)", "-1"},
        {R"(, "ffn": 1e18)", "ffn"},
        {R"(, "ffn": 1024, "params_b": -1)", "must be above 0"}};
    for (const auto& [members, message] : rows) {
      CAPTURE(members);
      const auto said = refusal(with(members));
      CHECK(said.find(message) != std::string::npos);
      CHECK(said.find('\n') == std::string::npos);
      CAPTURE(said);
    }
    CHECK(refusal(R"({"layers": 2, "hidden": 100, "heads": 3, "gated": true, "ffn": 8, "vocab": 9})").find("hidden 100 is not a multiple of 3") != std::string::npos);
    CHECK(refusal("17").find("neither a model's name nor an object") != std::string::npos);
  }

  TEST_CASE("every model of the shared run records reads, or is refused by what it lacks") {
    if (!std::filesystem::exists(shared_data())) {
      MESSAGE("skipped: no shared data");
      return;
    }
    std::size_t read_count = 0;
    std::map<std::string, int> refused;
    std::set<std::string> seen;
    for (const auto& file : std::filesystem::directory_iterator(shared_data())) {
      const auto name = file.path().filename().string();
      if (!name.starts_with("runs-")) continue;
      std::ifstream lines(file.path());
      std::string line;
      for (std::size_t number = 1; std::getline(lines, line); ++number) {
        const auto model = Document::parse_line(line, name, number).root()["model"];
        if (!seen.insert(model.raw()).second) continue;
        try {
          const auto a = read_record_model(model, 2048);
          const auto p = parameters(a);
          ++read_count;
          // The record's own figure is rounded, and counts embeddings in its own way.
          if (const auto billions = model.find("params_b")) {
            CAPTURE(model.raw());
            CHECK(double(p.total) / 1e9 == doctest::Approx(billions->number()).epsilon(0.08));
          }
        } catch (const InputError& e) {
          ++refused[e.what()];
        }
      }
    }
    MESSAGE("models read: ", read_count, ", refused: ", refused.size());
    for (const auto& [why, n] : refused) {
      MESSAGE(why);
      CHECK(why.find("is missing") != std::string::npos);
    }
    CHECK(read_count >= 160);
  }
}
