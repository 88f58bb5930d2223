// What every calculator owes its user: each example of its help, in every format, explained, with its conventions said;
// and the same quantity in any spelling.
#include <doctest/doctest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/question_bank.hpp"

using namespace napkin::cli;
using Json = nlohmann::json;

namespace {

// The calculators, and what the note below their figures must name.
const std::map<std::string, std::vector<std::string>> calculators{
    {"roofline", {"dense peak", "2 FLOPs"}},
    {"flops", {"dense peak", "6 FLOPs", "full-attention", "causal-half"}},
    {"traintime", {"6 FLOPs", "dense peak"}},
    {"memory", {"GiB = 2^30 B"}},
    {"finetune", {"GB = 1e9 B"}},
    {"quant", {"scales"}},
    {"kv", {"GiB = 2^30 B"}},
    {"collective", {"one direction"}},
    {"network", {"one direction"}},
    {"shard", {"one direction", "dense peak", "2 FLOPs"}},
    {"limits", {"one direction", "dense peak"}},
    {"overlap", {"one direction", "2 FLOPs"}},
    {"steptime", {}},  // two kinds of question, each with its own
    {"pipeline", {"over ideal", "over total"}},
    {"moe", {"GB = 1e9 B"}},
    {"attention", {"FLOPs", "dense peak"}},
    {"decode", {"dense peak"}},
    {"prefill", {"2 FLOPs", "dense peak"}},
    {"serve", {"Poisson"}},
    {"goodput", {"interval"}},
    {"select", {"one direction"}},
    {"chip", {"dense peak"}},
    {"params", {"counts once"}},
};

// "  napkin kv llama3-70b ..." of the help's end.
std::vector<std::string> examples_of(const std::string& name) {
  CLI::App app("napkin");
  Session session;
  add_commands(app, session);
  std::istringstream in(app.get_subcommand(name)->get_footer());
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("  napkin ")) out.push_back(line.substr(2, line.find(" --format") - 2));
  return out;
}

void finite(const Json& j, const std::string& at) {
  INFO(at);
  if (j.is_number()) CHECK(std::isfinite(j.get<double>()));
  CHECK_FALSE(j.is_null());  // what JSON makes of NaN
  if (j.is_structured())
    for (const auto& [key, value] : j.items()) finite(value, at + "/" + key);
}

Outcome asked(const std::string& command) {
  Outcome o = run_command(command);
  INFO(command << ": " << o.complaint);
  CHECK(o.exit_code <= 1);
  return o;
}

}  // namespace

TEST_SUITE("calculators") {
  TEST_CASE("every example: JSON, table, Markdown, CSV, HTML, explanation, conventions") {
    for (const auto& [name, words] : calculators) {
      const auto examples = examples_of(name);
      CAPTURE(name);
      CHECK(examples.size() >= 2);
      for (const std::string& example : examples) {
        CAPTURE(example);
        const Json j = Json::parse(asked(example + " --format json").out, nullptr, false);
        REQUIRE(j.is_object());
        finite(j, "");
        if (j.contains("calculator")) {
          CHECK(j["schema"] == 1);
          CHECK_FALSE(j["counting"].empty());
          CHECK_FALSE(j["neglected"].empty());
          CHECK(j["follow_up"].is_string());
        }
        const std::string table = asked(example + " --format table").out;
        // One layout, tensor by tensor, is a prediction: its conventions are the profile's.
        if (j.contains("calculator") || !j.contains("stages")) {
          if (name != "memory" || j.contains("calculator")) {
            CHECK((j.contains("counting") && j["counting"].is_array() && !j["counting"].empty()));
            CHECK(table.find("convention: ") != table.npos);
            for (const std::string& w : words) {
              INFO("names no \"" << w << "\"");
              CHECK(table.find(w) != table.npos);
            }
          }
        }
        CHECK(asked(example + " --format md").out.find("| ---") != std::string::npos);
        CHECK_FALSE(asked(example + " --format csv").out.empty());
        CHECK(asked(example + " --format html").out.find("<table>") != std::string::npos);
        if (example.find("--explain") != example.npos || example.find("--sweep") != example.npos) continue;  // of one size only
        const Outcome explained = run_command(example + " --format table --explain");
        INFO(explained.complaint);
        CHECK(explained.exit_code <= 1);
        CHECK(explained.out.size() > table.size());
        CHECK(explained.out.find("\n ") != std::string::npos);
        CHECK(explained.out.find(" = ") != std::string::npos);
      }
    }
  }

  TEST_CASE("every command of the bank says what it counts, what it leaves out and what is asked next") {
    std::size_t asked_for = 0;
    for (const Question& q : built_in_questions())
      for (const std::string& command : q.commands) {
        const Json j = Json::parse(asked(command).out, nullptr, false);
        if (!j.is_object() || !j.contains("calculator")) continue;
        INFO(q.id << ": " << command);
        CHECK_FALSE(j["counting"].empty());
        CHECK_FALSE(j["neglected"].empty());
        CHECK_FALSE(j["follow_up"].get<std::string>().empty());
        ++asked_for;
      }
    CHECK(asked_for > 150);
  }

  TEST_CASE("a quantity in any spelling is the same quantity") {
    const auto value = [](const std::string& command, const std::string& at) {
      const Json j = Json::parse(asked(command + " --format json").out);
      return j.at(Json::json_pointer(at)).get<double>();
    };
    struct Row {
      std::string command, at;
      std::vector<std::string> spellings;
    };
    const std::vector<Row> rows{
        {"decode --params 70B --memory-bandwidth ", "/weights_time_s", {"3.35TB/s", "'3.35 TB/s'", "3350GB/s", "3.35TBps", "3.35e12", "'26.8 Tb/s'", "3.35TB/sec"}},
        {"decode --params 70B --peak ", "/math_time_s", {"989TFLOP/s", "'989 TFLOPS'", "989tflops", "989e12", "0.989PFLOP/s", "'989 TFLOPs/s'"}},
        {"memory --params 7B --memory ", "/memory_bytes", {"80GB", "'80 GB'", "80gb", "80e9", "0.08TB", "80000MB"}},
        {"memory --params 7B --memory ", "/memory_bytes", {"80GiB", "'80 GiB'", "81920MiB", "80gib"}},
        {"memory --memory 80GB --params ", "/params", {"7B", "7e9", "7000M", "7000000000"}},
        {"goodput --gpus 1024 --write 60s --gpu-mttf ", "/mttf_s", {"50000h", "'50000 hours'", "3000000min", "1.8e8", "180000000s"}},
        {"goodput --gpus 1024 --write 60s --node-rate ", "/mttf_s", {"0.5/day", "'0.5 per day'", "1/2days", "'1 per 2 days'", "0.5/node-day"}},
        {"goodput --gpus 1024 --job-mttf 10h --write ", "/young_interval_s", {"90s", "1.5min", "'90 seconds'", "90000ms", "0.025h"}},
        {"traintime --params 7B --tokens 1T --gpus 64 --mfu ", "/time_s", {"40%", "0.4", "'40 %'"}},
        {"traintime --params 7B --gpus 64 --tokens ", "/time_s", {"1T", "1e12", "1000B"}},
        {"prefill --params 7B --prompt ", "/linear_flops", {"8k", "8192", "8192tokens", "8k-tokens"}},
        {"collective all-reduce --gpus 8 --bytes 1GB --algorithm ring --bandwidth ", "/chosen/time_s",
         {"450GB/s", "'450 GB/s'", "3.6Tb/s", "900GB/s-bidirectional", "'900 GB/s bidirectional'", "'450 GB/s one-way'", "450e9"}},
        {"network widest --port ", "/bytes_per_s_per_endpoint", {"400Gb/s", "'400 Gbps'", "50GB/s", "'100 GB/s both ways'"}},
    };
    for (const Row& r : rows) {
      const double first = value(r.command + r.spellings.front(), r.at);
      for (const std::string& s : r.spellings) {
        CAPTURE(r.command + s);
        CHECK(value(r.command + s, r.at) == doctest::Approx(first).epsilon(1e-12));
      }
    }
    for (const char* wrong : {"decode --params 70B --memory-bandwidth 3.35TB", "memory --params 7B --memory 80GB/s", "goodput --gpus 8 --job-mttf 5GB --write 1s",
                              "traintime --params 7B --gpus 8 --mfu 140%", "network widest --port 400bidirectional", "decode --params -7B"})
      CHECK(run_command(wrong).exit_code == 2);
  }

  TEST_CASE("memory: the rule of thumb and one layout share a command") {
    const auto json = [](const std::string& command) { return Json::parse(asked(command + " --format json").out); };
    CHECK(json("memory --params 100B --zero 3 --gpus 1024")["states_bytes"] == json("budget --params 100B --zero 3 --dp 1024")["states_bytes"]);
    CHECK(json("memory --params 100B --gpus 1024 --tp 8 --pp 4 --zero 1")["states_bytes"] ==
          json("memory --params 100B --dp 32 --tp 8 --pp 4 --zero 1")["states_bytes"]);
    CHECK(json("memory llama3-8b --hw h100 --gpus 8 --zero 3 --seq 8k --batch 8").contains("stages"));
    CHECK(json("memory --params 8B --hw h100 --gpus 8 --zero 3 --seq 8k --batch 8 --framework torchtitan").contains("stages"));
    for (const char* wrong : {"memory --params 7B --recipe bf16 --framework torchtitan", "memory --params 7B --gpus 6 --tp 4", "memory --params 7B --gpus 8 --dp 4"}) {
      const Outcome o = run_command(wrong);
      CHECK(o.exit_code == 2);
      CHECK(o.complaint.find("--") != std::string::npos);
    }
  }

  TEST_CASE("no help is longer than a screen, and nothing is lost from it") {
    CLI::App app("napkin");
    Session session;
    add_commands(app, session);
    for (const CLI::App* c : app.get_subcommands([](const CLI::App*) { return true; })) {
      CAPTURE(c->get_name());
      const std::string help = app.get_subcommand(c->get_name())->help();
      CHECK(std::count(help.begin(), help.end(), '\n') <= 45);
    }
  }
}
