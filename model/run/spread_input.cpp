#include "model/run/spread_input.hpp"

#include <map>
#include <optional>

#include "model/input/constant_input.hpp"
#include "model/input/embedded.hpp"
#include "model/text.hpp"

namespace napkin {
namespace {

struct Table {
  std::map<SpreadKey, ResidualRange> time, memory;
  SpreadFingerprint fingerprint;
};

std::string word(const Field& f, std::string_view key) {
  const auto v = f.find(key);
  return v ? v->string() : std::string();
}

ResidualRange read_range(const Field& f, const SpreadKey& key, std::string_view what, const std::shared_ptr<const Source>& source) {
  f.only({"n", "low", "high", "nine_in_ten"});
  const auto constant = [&](std::string_view name) {
    const Field v = f[name];
    if (!(v.number() > 0)) v.fail("is " + v.raw() + "; a ratio is above 0");
    return Constant<Scalar>{.value = v.number(), .place = constant_place(v), .source = source};
  };
  ResidualRange r{.low = constant("low"), .high = constant("high"), .nine_in_ten = f["nine_in_ten"].number(),
                  .n = f["n"].integer(1, 1'000'000'000), .basis = {}};
  if (r.low.value > r.high.value) f.fail("has low above high");
  r.basis = format_count(static_cast<double>(r.n)) + " " + std::string(what) + " of " + describe(key);
  return r;
}

Table read_table() {
  Table t;
  for (const auto& file : embedded::residual_classes()) {
    const Field root = Document::parse(file.text, std::string(file.name) + ".json").root();
    root.only({"schema", "about", "source", "kind", "coverage", "embedded", "classes"});
    (void)root["schema"].integer(1, 1);
    if (root["coverage"].number() != interval_coverage) root["coverage"].fail("is not the coverage this napkin states");
    const auto source = read_source(root);
    const Field e = root["embedded"];
    t.fingerprint = {.rows = e["rows"].integer(0, 1'000'000'000), .median = e["median"].number(), .nine_in_ten = e["nine_in_ten"].number()};
    for (const Field& c : root["classes"].elements()) {
      c.only({"framework", "hardware", "precision", "kind", "time", "memory"});
      const SpreadKey key{word(c, "framework"), word(c, "hardware"), word(c, "precision"), word(c, "kind")};
      if (const auto f = c.find("time")) t.time.insert_or_assign(key, read_range(*f, key, "step times", source));
      if (const auto f = c.find("memory")) t.memory.insert_or_assign(key, read_range(*f, key, "memory figures", source));
    }
  }
  return t;
}

const Table& table() {
  static const Table known = read_table();
  return known;
}

ResidualRange nearest(const std::map<SpreadKey, ResidualRange>& classes, const SpreadKey& run) {
  for (const SpreadKey& key : fallback_chain(run))
    if (const auto at = classes.find(key); at != classes.end()) return at->second;
  return {};
}

}  // namespace

std::array<SpreadKey, 6> fallback_chain(const SpreadKey& r) {
  return {r,
          SpreadKey{r.framework, r.hardware, {}, r.kind},
          SpreadKey{r.framework, {}, {}, r.kind},
          SpreadKey{r.framework, {}, {}, {}},
          SpreadKey{{}, {}, {}, r.kind},
          SpreadKey{}};
}

std::string describe(const SpreadKey& k) {
  std::string s = k.framework.empty() ? "all frameworks" : k.framework;
  if (!k.hardware.empty()) s += " on " + k.hardware;
  if (!k.precision.empty()) s += " in " + k.precision;
  if (!k.kind.empty()) s += ", " + k.kind;
  return s;
}

std::shared_ptr<const Spread> find_spread(const SpreadKey& run) {
  return std::make_shared<const Spread>(Spread{.time = nearest(table().time, run), .memory = nearest(table().memory, run)});
}

SpreadFingerprint spread_fingerprint() { return table().fingerprint; }

}  // namespace napkin
