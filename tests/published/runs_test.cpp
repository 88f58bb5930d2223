// The run tables of others, replayed (they stay outside the repository): what a summary may not fall below. Limits stand a
// little above what was reached; a target that is missed is named beside it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "model/validation/replay_input.hpp"
#include "model/validation/summary.hpp"

using namespace napkin;
using namespace napkin::validation;

namespace {

std::string shared_data() {
  const char* given = std::getenv("NAPKIN_SHARED_DATA");
  const std::string folder = given != nullptr ? given : NAPKIN_SOURCE_DIR "/../shared/data";
  if (std::filesystem::exists(folder)) return folder;
  std::printf("skipped: no run tables in %s\n", folder.c_str());
  return {};
}

std::vector<Replay> replayed(const std::string& path) {
  const auto library = std::make_shared<Library>();
  std::vector<Replay> rows;
  for (const SourceText& s : read_sources(path)) rows.push_back(replay(s, library));
  return rows;
}

struct Limit {
  double median, p90;  // per cent
};
void check(const char* what, const ErrorSummary& e, Limit limit) {
  std::printf("%-40s n %4zu  median %4.1f %%  p90 %4.1f %%  bias %+4.1f %%\n", what, e.n, 100 * e.median_abs, 100 * e.p90_abs,
              100 * e.bias);
  CHECK(100 * e.median_abs <= limit.median);
  CHECK(100 * e.p90_abs <= limit.p90);
}
const ErrorSummary& of_metric(const Summary& s, Metric m) { return s.all.metrics[static_cast<std::size_t>(m)]; }
template <class Predicate>
ErrorSummary errors(const std::vector<Replay>& rows, Metric metric, Predicate of) {
  std::vector<double> e;
  for (const Replay& r : rows)
    if (!r.run.suspect && of(r))
      if (const auto& v = at(r.error, metric)) e.push_back(*v);
  return summarise(e);
}

}  // namespace

TEST_SUITE("run tables") {
  TEST_CASE("nanotron on H100: 2,145 layouts") {
    const auto folder = shared_data();
    if (folder.empty()) return;
    const auto rows = replayed(folder + "/runs-nanotron-h100.jsonl");
    const Summary s = summarise(rows);
    check("nanotron, step time", of_metric(s, Metric::step_time), {5.4, 19.2});  // target 7 / 27, goal 5 / 20
    check("nanotron, reserved", of_metric(s, Metric::reserved), {5.4, 15});    // target 6 / 25
    CHECK(s.fit.accuracy() >= 0.99);
    CHECK(static_cast<double>(s.fit.caught) >= 0.99 * static_cast<double>(s.fit.measured_out));
    CHECK(static_cast<double>(s.fit.band_right) >= 0.94 * static_cast<double>(s.fit.band));  // goal 97
    double regret = 0;
    std::size_t out = 0;
    std::vector<double> rho;
    for (const GroupSummary& g : s.groups) {
      regret += g.regret.value_or(1);
      out += g.picked_out_of_memory;
      if (g.spearman) rho.push_back(*g.spearman);
    }
    std::sort(rho.begin(), rho.end());
    CHECK(rho[rho.size() / 2] >= 0.96);
    CHECK(regret / static_cast<double>(s.groups.size()) <= 0.1);  // target 0.10, goal 0.05
    CHECK(out <= 1);  // target none: a layout of 80B at the margin of picks, to the last digit
  }
  TEST_CASE("NVIDIA's published runs") {
    const auto folder = shared_data();
    if (folder.empty()) return;
    const auto rows = replayed(folder + "/runs-nvidia-published.jsonl");
    const auto lora = [](const Replay& r) { return r.run.task == "lora" || r.run.task == "qlora"; };
    const auto dense = [&](const Replay& r) { return r.run.family == "dense" && !lora(r); };
    check("dense", errors(rows, Metric::step_time, dense), {3.2, 9.5});  // target 3.5 / 9: p90 missed
    check("adapters", errors(rows, Metric::step_time, lora), {7.2, 31});  // target 6 / 13: missed
    check("experts and hybrids", errors(rows, Metric::step_time, [&](const Replay& r) { return r.run.family != "dense" && !lora(r); }),
          {7, 25.6});  // target 10 / 33
    CHECK(summarise(rows).fit.false_ooms <= 11);
  }
  TEST_CASE("others' published runs") {
    const auto folder = shared_data();
    if (folder.empty()) return;
    const auto rows = replayed(folder + "/runs-other-published.jsonl");
    const Summary s = summarise(rows);
    check("all", of_metric(s, Metric::step_time), {3.1, 12});  // target 3.5 / 13
    const auto of = [](const char* framework) { return [framework](const Replay& r) { return r.run.framework == framework; }; };
    check("MosaicML LLM Foundry", errors(rows, Metric::step_time, of("llm-foundry")), {2.4, 8.3});
    check("MaxText", errors(rows, Metric::step_time, of("maxtext")), {3.2, 8.6});  // target 4.5 / 12
    check("BLOOM, allocated", errors(rows, Metric::allocated, of("megatron-deepspeed")), {6.1, 26});  // target median 6
    REQUIRE(s.all.per_doubling.has_value());
    CHECK(std::abs(*s.all.per_doubling) <= 0.015);
  }
}
