// Numbers that users and papers have printed, each reproduced by a command: cases.json and reliability.json are banks in the
// format of docs/questions.md, keyed by the row of the development tables that states the number. Without those tables the
// typed numbers are still computed; with them ($NAPKIN_SHARED_DATA) every row that states a number must be here, or be
// named below with the reason.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/question_bank.hpp"

using namespace napkin::cli;
using Json = nlohmann::json;

namespace {

const std::string folder = NAPKIN_SOURCE_DIR "/tests/published/";

// Rows whose number no command can give.
const std::map<std::string, std::string> not_computable{
    {"u052-memory", "the ratio of two measured peaks; the model is not stated"},
    {"u063-memory", "what a driver takes beyond the allocator, measured; the model is not stated (napkin hw show gb200: context)"},
    {"u072-throughput", "the ratio of two published speeds, of which the row states one"},
    {"u135-constraint", "the number of layers that a program built by mistake; napkin refuses the layout"},
    {"u136-constraint", "the same"},
    {"kokolis-mttf-1024", "measured: 7.9 h, where the paper's own rate gives 28.8 h; large jobs ran on worse nodes or longer"},
    {"llama3-planned", "a count of decisions, not of failures"},
    {"llama3-manual", "a count of decisions"},
    {"llama3-tectonic", "a property of the store: an input"},
    {"llama3-tectonic-peak", "a property of the store: an input"},
    {"bloom-failrate", "a range that is an input"},
};

std::vector<Json> rows_of(const std::string& name) {
  const char* given = std::getenv("NAPKIN_SHARED_DATA");
  const std::string path = given == nullptr ? "" : std::string(given) + "/" + name;
  if (path.empty() || !std::filesystem::exists(path)) {
    MESSAGE("skipped: NAPKIN_SHARED_DATA names no folder with " << name);
    return {};
  }
  std::ifstream in(path);
  std::vector<Json> rows;
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) rows.push_back(Json::parse(line));
  return rows;
}

// Half a unit of the last digit that is printed.
double half_digit(double v) {
  const std::string text = Json(v).dump();
  const auto point = text.find('.');
  if (point == text.npos) return 0.5;
  return 0.5 * std::pow(10.0, -static_cast<double>(text.size() - point - 1));
}

std::map<std::string, Question> bank(const char* name) {
  std::map<std::string, Question> out;
  for (auto& q : read_questions(folder + name)) out.emplace(q.id, q);
  return out;
}

void all_within(const std::map<std::string, Question>& questions) {
  for (const auto& [id, q] : questions) {
    const Checked c = check(q);
    INFO(id << ": " << c.refused);
    CHECK(c.refused.empty());
    for (const auto& v : c.values) {
      INFO(id << " " << v.expected.name << ": expected " << v.expected.value << " " << v.expected.unit << ", got "
              << (v.got ? std::to_string(*v.got) : v.text));
      CHECK(v.within);
    }
  }
}

// The printed number, and what the command gives, within 0.5 % or the printed digits.
bool agrees(double got, double printed, double tolerance) {
  return std::abs(got - printed) <= std::max(std::max(tolerance, 0.005) * std::abs(printed), half_digit(printed) * 1.001);
}

}  // namespace

TEST_SUITE("published") {
  TEST_CASE("public cases: every number is computed by a command") { all_within(bank("cases.json")); }
  TEST_CASE("published reliability: every number is computed by goodput") { all_within(bank("reliability.json")); }

  TEST_CASE("public cases: no row that states a number is left out") {
    const auto questions = bank("cases.json");
    std::size_t reproduced = 0, named = 0, stated = 0;
    for (const Json& row : rows_of("cases.jsonl")) {
      if (!row.contains("check") || row["check"].empty()) continue;
      const std::string id = row["id"];
      for (const auto& [name, printed] : row["check"].items()) {
        if (!printed.is_number()) continue;  // "400/989.4" beside its value
        ++stated;
        if (not_computable.contains(id)) {
          ++named;
          continue;
        }
        INFO(id << " " << name);
        const auto q = questions.find(id);
        REQUIRE(q != questions.end());
        const Checked c = check(q->second);
        bool found = false;
        for (const auto& v : c.values) {
          if (v.expected.name != name) continue;
          found = true;
          REQUIRE(v.got.has_value());
          // The typed value may be in another unit than the printed one ("1.23 B parameters"): by a power of ten.
          double got = *v.got;
          if (v.expected.value > 1e3 * printed.get<double>()) got /= std::pow(10, std::round(std::log10(v.expected.value / printed.get<double>())));
          INFO("printed " << printed << ", got " << got);
          CHECK(agrees(got, printed.get<double>(), q->second.tolerance));
          ++reproduced;
        }
        CHECK(found);
      }
    }
    if (stated > 0) MESSAGE(reproduced << " of " << stated << " numbers reproduced, " << named << " named as not computable");
  }

  TEST_CASE("published reliability: what the sources state") {
    const auto questions = bank("reliability.json");
    std::size_t reproduced = 0;
    for (const Json& row : rows_of("reliability.jsonl")) {
      const std::string id = row["id"], source = row["source"];
      const bool wanted = (source.starts_with("Llama 3") || source.starts_with("Kokolis")) && row.contains("gpus") && row["value"].is_number() &&
                          !row.contains("category");
      const auto q = questions.find(id);
      if (q == questions.end()) {
        INFO(id << " " << row["metric"]);
        CHECK((!wanted || not_computable.contains(id)));
        continue;
      }
      const Checked c = check(q->second);
      for (const auto& v : c.values) {
        if (v.expected.name != "value") continue;
        REQUIRE(v.got.has_value());
        const double printed = row["value"];
        INFO(id << ": printed " << printed << " " << row["unit"] << ", got " << *v.got);
        const std::string unit = row["unit"];
        if (unit.find('>') != unit.npos) CHECK(*v.got > printed);
        else CHECK(agrees(*v.got, printed, unit.find('~') != unit.npos ? 0.03 : q->second.tolerance));
        ++reproduced;
      }
    }
    MESSAGE(reproduced << " published figures reproduced");
  }
}
