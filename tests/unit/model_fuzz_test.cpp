// Whatever stands in a config or record, the answer is a model or one line of complaint.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "model/transformer/model_input.hpp"
#include "model/transformer/parameters.hpp"

using namespace napkin;

namespace {

// Reads and counts; false when the complaint is no single line.
bool one_line_or_model(const std::string& text, bool record) {
  try {
    const auto d = Document::parse(text, "fuzz.json");
    const auto a = record ? read_record_model(d.root()) : read_hf_config(d);
    const auto p = parameters(a);
    return p.total > 0 && p.active >= 0 && p.total_with_mtp >= p.total;
  } catch (const InputError& e) {
    const std::string what = e.what();
    return !what.empty() && what.find('\n') == std::string::npos;
  }
}

constexpr const char* values[] = {"null", "true", "false", "0", "-1", "1", "2", "3", "1e18", "-1e18", "9223372036854775807",
                                  "1.5", "NaN", "Infinity", "\"\"", "\"x\\ny\"", "[]", "[1]", "[[1]]", "{}",
                                  "{\"a\": 1}", "[\"attention\"]", "10000", "10000000"};

// Each member of the object, one level down too, in turn gets each value, or goes.
void mutate(const std::string& text, bool record) {
  const auto root = Document::parse(text, "base").root();
  const auto members = root.members();
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (const char* value : values) {
      std::string mutated = "{";
      for (std::size_t k = 0; k < members.size(); ++k) {
        if (mutated.size() > 1) mutated += ',';
        mutated += '"' + members[k].first + "\":" + (k == i ? std::string(value) : members[k].second.raw());
      }
      mutated += '}';
      CAPTURE(mutated);
      CHECK(one_line_or_model(mutated, record));
    }
    std::string without = "{";
    for (std::size_t k = 0; k < members.size(); ++k) {
      if (k == i) continue;
      if (without.size() > 1) without += ',';
      without += '"' + members[k].first + "\":" + members[k].second.raw();
    }
    without += '}';
    CAPTURE(without);
    CHECK(one_line_or_model(without, record));
  }
}

}  // namespace

TEST_SUITE("model fuzz") {
  TEST_CASE("configs with members exchanged or missing") {
    const auto file = Document::read(NAPKIN_SOURCE_DIR "/tests/published/config_totals.json");
    const auto rows = file.root()["rows"].elements();
    for (std::size_t i = 0; i < rows.size(); i += 8) mutate(rows[i]["config"].raw(), false);  // every family would take long
  }

  TEST_CASE("records with members exchanged or missing") {
    for (const auto& name : {"deepseek-v3", "nemotron3-nano-30b-a3b", "opt-350m"}) {
      mutate(*preset_text(name), true);
    }
    mutate(R"({"experts": 8, "top_k": 2, "ffn": 8})", true);
  }

  TEST_CASE("truncated text") {
    const std::string text = *preset_text("deepseek-v3");
    for (std::size_t n = 0; n < text.size(); n += 3) CHECK(one_line_or_model(text.substr(0, n), true));
  }
}
