// Predicted against measured collectives: median, 90th percentile and bias by (machine, operation, ranks) and size; for
// fitted tables, the half of the groups that no fit has seen apart from the half that one has.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "hardware/hardware_input.hpp"
#include "model/collective/record_input.hpp"
#include "model/percentile.hpp"

using namespace napkin;

namespace {

// DESIGN: third-party tables stay outside the repository.
std::optional<std::string> shared_data() {
  const char* given = std::getenv("NAPKIN_SHARED_DATA");
  const std::string folder = given != nullptr ? given : NAPKIN_SOURCE_DIR "/../shared/data";
  if (std::filesystem::exists(folder + "/measured/nccl_latency_us.csv")) return folder;
  std::printf("skipped: no shared data at %s\n", folder.c_str());
  return {};
}

std::vector<CollectiveRecord> table(const std::string& path, bool custom) {
  std::vector<CollectiveRecord> out;
  std::stringstream in(read_text(path));
  std::string line, reason;
  while (std::getline(in, line))
    if (auto r = read_collective_row(line, custom, reason)) out.push_back(std::move(*r));
  return out;
}
std::vector<CollectiveRecord> lines(const std::string& path, std::string_view hardware = {}, int ranks = 0) {
  std::vector<CollectiveRecord> out;
  std::stringstream in(read_text(path));
  std::string line, reason;
  for (std::size_t n = 1; std::getline(in, line); ++n)
    if (auto r = read_collective_record(Document::parse_line(line, path, n).root(), reason, hardware, ranks))
      out.push_back(std::move(*r));
  return out;
}
// One generation's NCCL rows: the unit that a fit saw half of.
std::vector<CollectiveRecord> generation_rows(const std::string& folder, const std::string& generation) {
  std::vector<CollectiveRecord> out;
  std::map<std::string, std::string> generations;
  const auto add = [&](std::vector<CollectiveRecord> rows) {
    for (auto& r : rows) {
      auto& g = generations[r.hardware];
      if (g.empty()) g = read_hardware(r.hardware).accelerator.generation;
      if (g == generation) out.push_back(std::move(r));
    }
  };
  add(table(folder + "/measured/nccl_latency_us.csv", false));
  if (out.empty()) add(lines(folder + "/collectives-published.jsonl"));
  return out;
}


struct Errors {
  std::vector<double> of;
  [[nodiscard]] double median() const { return percentile(absolute(), 0.5); }
  [[nodiscard]] double p90() const { return percentile(absolute(), 0.9); }
  [[nodiscard]] double bias() const { return percentile(of, 0.5); }
  [[nodiscard]] std::vector<double> absolute() const {
    auto v = of;
    for (double& x : v) x = std::abs(x);
    return v;
  }
};

const char* size_class(Bytes bytes) { return bytes < 64 * KiB ? "< 64 KiB" : bytes < 16 * MiB ? "< 16 MiB" : ">= 16 MiB"; }

void print_row(const std::string& what, const Errors& e) {
  std::printf("  %s n %4zu  median %5.1f  p90 %5.1f  bias %+6.1f\n", what.c_str(), e.of.size(), 100 * e.median(),
              100 * e.p90(), 100 * e.bias());
}

// Prints the table by group and size class; returns the errors by size class over all groups.
std::map<std::string, Errors> report(const std::string& title, const std::vector<CollectiveRecord>& rows) {
  CollectivePredictor predict;
  std::map<std::tuple<std::string, std::string, int, std::string, std::string>, Errors> groups;
  std::map<std::string, Errors> all;
  for (const auto& r : rows) {
    const double e = double(predict(r) / r.measured) - 1;
    groups[{r.hardware, std::string(to_string(r.operation)), r.ranks, size_class(r.bytes), r.source}].of.push_back(e);
    all[size_class(r.bytes)].of.push_back(e);
  }
  std::printf("\n%s: predicted/measured - 1, %%\n", title.c_str());
  for (const auto& [k, e] : groups) {
    char name[160];
    std::snprintf(name, sizeof name, "%-14s %-14s %5d %-10s %-28.28s", std::get<0>(k).c_str(), std::get<1>(k).c_str(),
                  std::get<2>(k), std::get<3>(k).c_str(), std::get<4>(k).c_str());
    print_row(name, e);
  }
  for (const auto& [k, e] : all) print_row("all " + k + (k.size() < 9 ? "  " : " "), e);
  return all;
}

}  // namespace

TEST_SUITE("published collectives") {
  TEST_CASE("nccl-tests tables, one node: the half that was fitted and the half that was not") {
    const auto folder = shared_data();
    if (!folder) return;
    std::vector<CollectiveRecord> fitted, held;
    for (const char* generation : {"ampere", "ada", "hopper", "blackwell", "blackwell-rtx"}) {
      const auto rows = generation_rows(*folder, generation);
      const auto half = fitted_half(rows);
      for (std::size_t i = 0; i < rows.size(); ++i) (half[i] ? fitted : held).push_back(rows[i]);
    }
    (void)report("NCCL, one node, groups that were fitted", fitted);
    for (const auto& [size, e] : report("NCCL, one node, groups held out", held)) {
      CAPTURE(size);
      CHECK(e.median() <= 0.10);
      CHECK(e.p90() <= 0.30);
    }
  }

  TEST_CASE("custom all-reduce of a serving engine, up to 1 MiB") {
    const auto folder = shared_data();
    if (!folder) return;
    // Its constants were fitted on half of the groups, before fitted_half() recorded which: no half counts as held out.
    std::vector<CollectiveRecord> rows;
    for (auto& r : table(*folder + "/measured/custom_allreduce_us.csv", true))
      // Above a few MB the engine falls back to NCCL.
      if (r.bytes <= 1 * MiB && r.source.find("TRT") != r.source.npos) rows.push_back(std::move(r));
    for (const auto& [size, e] : report("custom all-reduce", rows)) {
      CAPTURE(size);
      CHECK(e.median() <= 0.25);
    }
  }

  TEST_CASE("published by others, several nodes") {
    const auto folder = shared_data();
    if (!folder) return;
    std::vector<CollectiveRecord> one, several;
    for (auto& r : lines(*folder + "/collectives-published.jsonl"))
      if (r.source.find("aiconfigurator") == r.source.npos && !r.host_timed)
        (r.several_nodes ? several : one).push_back(std::move(r));
    // Old clusters, and one process that launches for eight GPUs: no target.
    (void)report("published, one node", one);
    const auto e = report("published, several nodes", several);
    CHECK(e.at(">= 16 MiB").median() <= 0.12);
    CHECK(e.at("< 64 KiB").median() <= 0.25);
  }

  TEST_CASE("our own two H200, timed from the host: nothing is shorter than the call (whose time is theirs)") {
    const auto folder = shared_data();
    if (!folder) return;
    const auto e = report("2 x H200", lines(*folder + "/collectives-h200-2gpu.jsonl", "h200-sxm", 2));
    CHECK(e.at(">= 16 MiB").median() <= 0.06);
    CHECK(e.at("< 64 KiB").median() <= 0.10);
  }

  TEST_CASE("records of no collective, or of hardware that nobody has, say why") {
    std::string reason;
    const auto read = [&](const char* text) {
      return read_collective_record(Document::parse_line(text, "x", 1).root(), reason);
    };
    CHECK_FALSE(read(R"({"kind": "device", "world": 2})"));
    CHECK(reason.find("no collective") != reason.npos);
    CHECK_FALSE(read(R"({"collective": "all_reduce", "hardware": "H9000", "gpus": 8, "bytes": 8, "time_us": 1})"));
    CHECK(reason.find("H9000") != reason.npos);
    CHECK_FALSE(read(R"({"collective": "all_reduce", "hardware": "h100-sxm", "gpus": 8, "bytes": 8})"));
    const auto r = read(R"({"collective": "all_reduce", "hardware": "h100-sxm", "gpus": 16, "nodes": 2, "gpus_per_node": 8,
      "nic": "EFA 3200 Gbps/node", "bytes": 8, "time_us": 69})");
    REQUIRE(r);
    CHECK(r->nic->si() == doctest::Approx(50e9));
    CHECK(r->fabric == "efa");
  }
}
