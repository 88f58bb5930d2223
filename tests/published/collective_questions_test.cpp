// Questions on communication, asked of the program: each command of collective_questions.json is run, the number taken
// from its JSON, and compared with the answer that the shared bank has recomputed.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "model/input/document_input.hpp"

using namespace napkin;
using Json = nlohmann::json;

namespace {

std::string output_of(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");  // NOLINT: a test runs the program as a user does
  REQUIRE(pipe != nullptr);
  std::string out;
  char block[4096];
  while (const auto n = std::fread(block, 1, sizeof block, pipe)) out.append(block, n);
  CHECK(pclose(pipe) == 0);
  return out;
}

// "/a/0/b", and "/a?key=value/b" for the element of a list.
const Json& at(const Json& j, const std::string& pointer) {
  const Json* here = &j;
  std::stringstream path(pointer.substr(1));
  for (std::string key; std::getline(path, key, '/');) {
    const auto mark = key.find('?');
    if (here->is_array()) {
      here = &here->at(std::stoul(key));
      continue;
    }
    here = &here->at(key.substr(0, mark));
    if (mark == key.npos) continue;
    const auto is = key.find('=', mark);
    const Json* found = nullptr;
    for (const auto& e : *here)
      if (e.at(key.substr(mark + 1, is - mark - 1)) == key.substr(is + 1)) found = &e;
    REQUIRE(found != nullptr);
    here = found;
  }
  return *here;
}

double answer(const Json& a, std::map<std::string, Json>& answers) {
  const std::string command = a.at("command");
  if (!answers.contains(command))
    answers[command] = Json::parse(output_of(NAPKIN_BINARY " " + command + " --format json"));
  double v = at(answers[command], a.at("pointer")).get<double>() * a.at("times").get<double>();
  if (a.contains("plus")) v += answer(a.at("plus"), answers);
  if (a.contains("over")) v /= answer(a.at("over"), answers);
  return v;
}

}  // namespace

TEST_SUITE("published collectives") {
  TEST_CASE("questions: collective, network, shard and the communication of moe") {
    const char* given = std::getenv("NAPKIN_SHARED_DATA");
    const std::string bank = std::string(given != nullptr ? given : NAPKIN_SOURCE_DIR "/../shared/data") + "/questions.jsonl";
    if (!std::filesystem::exists(bank)) {
      std::printf("skipped: no question bank at %s\n", bank.c_str());
      return;
    }
    std::map<std::string, Json> expected;
    std::stringstream lines(read_text(bank));
    for (std::string line; std::getline(lines, line);) {
      Json q = Json::parse(line);
      const std::string id = q.at("id");
      expected[id] = std::move(q);
    }
    std::map<std::string, Json> answers;
    std::set<std::string> asked;
    int numbers = 0;
    const auto table = Json::parse(read_text(NAPKIN_SOURCE_DIR "/tests/published/collective_questions.json"));
    for (const Json& q : table.at("questions")) {
      const std::string id = q.at("id");
      CAPTURE(id);
      REQUIRE(expected.contains(id));
      asked.insert(id);
      for (const auto& [name, want] : expected[id].at("recomputed").items()) {
        if (!want.is_number()) continue;  // a label
        CAPTURE(name);
        REQUIRE(q.at("answers").contains(name));
        CHECK(answer(q.at("answers").at(name), answers) == doctest::Approx(want.get<double>()).epsilon(0.005));
        ++numbers;
      }
    }
    // None of the calculators' questions is left out.
    for (const auto& [id, q] : expected) {
      const std::string calculator = q.at("calculator");
      if (calculator != "collective" && calculator != "network" && calculator != "shard" && calculator != "moe") continue;
      CAPTURE(id);
      CHECK(asked.contains(id));
    }
    std::printf("questions on communication: %zu asked, %d numbers\n", asked.size(), numbers);
  }
}
