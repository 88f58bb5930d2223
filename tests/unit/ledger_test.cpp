// The constants fitted to runs: that all of them are listed, few, and reachable; and what fits to runs recover.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <random>

#include "hardware/hardware_input.hpp"
#include "model/frameworks/profile_input.hpp"
#include "model/run/spread_input.hpp"
#include "model/validation/embedded_runs.hpp"
#include "model/validation/ledger.hpp"
#include "model/validation/replay_input.hpp"
#include "model/validation/residual_classes.hpp"
#include "model/validation/statistics.hpp"
#include "model/validation/summary.hpp"

using namespace napkin;
using namespace napkin::validation;

namespace {

std::vector<Replay> replay_all(const std::vector<SourceText>& sources) {
  const auto library = std::make_shared<Library>();
  std::vector<Replay> rows;
  for (const SourceText& s : sources) rows.push_back(replay(s, library));
  return rows;
}

// The development tables, where they are; says so where not.
std::vector<SourceText> development_sources() {
  const char* folder = std::getenv("NAPKIN_SHARED_DATA");
  std::vector<SourceText> out;
  if (folder == nullptr) {
    MESSAGE("skipped: NAPKIN_SHARED_DATA names no folder with the development tables");
    return out;
  }
  for (const char* file : {"runs-h200-pytorch", "runs-nanotron-h100", "runs-nvidia-published", "runs-other-published"})
    for (SourceText& s : read_sources(std::string(folder) + "/" + file + ".jsonl")) out.push_back(std::move(s));
  return out;
}

// Of the rows of one half, by the fate of their ids: the share within the interval that the other half gives.
double held_out_coverage(const std::vector<Replay>& rows) {
  std::size_t inside = 0, n = 0;
  for (const bool half : {false, true}) {
    std::vector<Replay> known;
    std::vector<const Replay*> held;
    for (const Replay& r : rows) {
      if (r.run.suspect || !time_ratio(r)) continue;
      std::uint32_t hash = 2166136261U;  // FNV-1a: the same halves everywhere
      for (const char c : r.run.id) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
      if (((hash >> 7) & 1U) == static_cast<unsigned>(half)) known.push_back(r);
      else held.push_back(&r);
    }
    const auto classes = residual_classes(known);
    for (const Replay* r : held) {
      const auto range = nearest_time(classes, key_of(*r));
      REQUIRE(range);
      inside += *time_ratio(*r) >= range->low && *time_ratio(*r) <= range->high;
      ++n;
    }
  }
  return static_cast<double>(inside) / static_cast<double>(n);
}

}  // namespace

TEST_SUITE("ledger") {
  TEST_CASE("every constant fitted to runs is listed, and they are few") {
    CHECK(ledger().size() <= ledger_limit);
    const auto missing = missing_from_ledger();
    for (const std::string& place : missing) MESSAGE("fitted to runs by its file's words, not in model/validation/ledger.json: " << place);
    CHECK(missing.empty());
  }

  TEST_CASE("a listed constant is read from where it is listed") {
    for (const FittedConstant& c : ledger()) {
      CAPTURE(c.name);
      const double other = c.value * 0.75 + 0.25 * (c.value == c.low ? c.high : c.low);
      const std::array one{c};
      const std::array<double, 1> values{other};
      const Edits edits = edits_of(one, values);
      const auto [stem, pointer] = split_place(c.places.front());
      const auto text = profile_text(stem) ? profile_text(stem) : catalog_text(stem);
      REQUIRE(text);
      const Document changed = edits.apply(Document::parse(*text, stem + ".json"));
      if (!c.factor) CHECK(written_number(changed, pointer).number == doctest::Approx(other));
      else CHECK(written_number(changed, pointer).number != written_number(Document::parse(*text, stem + ".json"), pointer).number);
      // The file still reads.
      if (profile_text(stem)) CHECK_NOTHROW((void)read_profile(stem, 0, edits));
      else CHECK_NOTHROW((void)read_hardware(stem, edits));
    }
  }

  TEST_CASE("shipped values change nothing") { CHECK(edits_of(ledger(), shipped_values(ledger())).empty()); }
}

TEST_SUITE("prediction intervals") {
  TEST_CASE("the chain ends at all runs, and the narrowest class is named") {
    const auto chain = fallback_chain({"f", "h", "p", "dense"});
    CHECK(chain.front() == SpreadKey{"f", "h", "p", "dense"});
    CHECK(chain.back() == SpreadKey{});
    CHECK(describe(chain[1]) == "f on h, dense");
    const auto spread = find_spread({"no-such", "nowhere", "bf16", "dense"});
    CHECK(spread->time.n >= smallest_class);
    CHECK(spread->time.basis.find("all frameworks, dense") != std::string::npos);
    CHECK(spread->time.low.value.si() < 1);
    CHECK(spread->time.high.value.si() > 1);
    const auto known = find_spread({"pytorch-eager", "h200-sxm", "bf16", "dense"});
    CHECK(known->time.basis.find("pytorch-eager on h200-sxm in bf16, dense") != std::string::npos);
    CHECK(known->memory.basis.find("pytorch-eager") != std::string::npos);
  }

  TEST_CASE("quantiles are those of further draws") {
    // Ten residuals: with (n + 1)·q the interval of 80 % spans from the 1.1th to the 9.9th.
    std::vector<Replay> rows;
    for (int i = 0; i < 10; ++i) {
      Replay r;
      r.run.framework = "f";
      at(r.error, Metric::step_time) = 1 / (1 + 0.01 * (i - 4.5)) - 1;
      rows.push_back(r);
    }
    const auto range = residual_classes(rows).at({"f", "", "", ""}).time;
    REQUIRE(range);
    CHECK(range->n == 10);
    CHECK(range->low == doctest::Approx(1 + 0.01 * (0.1 - 4.5)));
    CHECK(range->high == doctest::Approx(1 + 0.01 * (8.9 - 4.5)));
    rows.pop_back();
    CHECK(residual_classes(rows).empty());
  }

  TEST_CASE("the file is current for what is compiled in") {
    const auto rows = replay_all(embedded_sources());
    const ErrorSummary now = summarise(rows).all.metrics[static_cast<std::size_t>(Metric::step_time)];
    const SpreadFingerprint then = spread_fingerprint();
    INFO("write it anew: napkin validate RUNS.jsonl... --write-intervals model/run/residuals.json");
    CHECK(static_cast<long long>(now.n) == then.rows);
    CHECK(now.median_abs == doctest::Approx(then.median).epsilon(0).scale(1).epsilon(0.005));
    CHECK(now.p90_abs == doctest::Approx(then.nine_in_ten).scale(1).epsilon(0.02));
  }

  TEST_CASE("eight in ten of rows held out lie within") {
    const double embedded = held_out_coverage(replay_all(embedded_sources()));
    CHECK(embedded >= 0.70);
    CHECK(embedded <= 0.90);
    if (const auto sources = development_sources(); !sources.empty()) {
      const auto rows = replay_all(sources);
      const double all = held_out_coverage(rows);
      MESSAGE("held-out coverage: " << embedded << " of what is compiled in, " << all << " of the development tables");
      CHECK(all >= 0.70);
      CHECK(all <= 0.90);
      // Nothing refused silently: few, each with a reason.
      const Summary s = summarise(rows);
      std::size_t reasons = 0;
      for (const auto& [reason, n] : s.reasons) {
        CHECK_FALSE(reason.empty());
        reasons += n;
      }
      CHECK(reasons == s.refused);
      CHECK(static_cast<double>(s.refused) <= 0.05 * static_cast<double>(s.rows));
    }
  }
}
