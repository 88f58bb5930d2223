#include <algorithm>
#include <cctype>
#include <cmath>

#include "hardware/hardware_input.hpp"
#include "model/frameworks/profile_input.hpp"
#include "model/input/constant_input.hpp"
#include "model/input/embedded.hpp"
#include "model/validation/ledger.hpp"

namespace napkin::validation {
namespace {

Document shipped_document(const std::string& stem, const Field& place) {
  if (const auto text = profile_text(stem)) return Document::parse(*text, stem + ".json");
  if (const auto text = catalog_text(stem)) return Document::parse(*text, stem + ".json");
  place.fail("names \"" + stem + "\", which is neither a profile nor a machine of the catalog");
}

// Evidence and source of what stands at a pointer: those of the nearest group above it.
struct Said {
  std::string kind, source;
};
void listen(const Field& f, Said& said) {
  if (!f.is(Field::Type::object)) return;
  const auto kind = f.find("kind"), source = f.find("source");
  if (kind && source && kind->is(Field::Type::string) && source->is(Field::Type::string)) said = {kind->string(), source->string()};
}
Said said_of(const Document& d, std::string_view pointer) {
  Said said;
  Field f = d.root();
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const auto end = std::min(pointer.find('/'), pointer.size());
    const std::string_view key = pointer.substr(0, end);
    pointer.remove_prefix(end);
    listen(f, said);
    f = f.is(Field::Type::array) ? f.elements().at(std::stoul(std::string(key))) : f[key];
  }
  listen(f, said);
  return said;
}

FittedConstant read_constant(const Field& f) {
  f.only({"name", "places", "value", "neutral", "low", "high", "deviation", "why", "family"});
  FittedConstant c{.name = f["name"].string(),
                   .unit = {},
                   .places = {},
                   .source = {},
                   .family = {},
                   .why = f["why"].string(),
                   .neutral = f["neutral"].number(),
                   .low = f["low"].number(),
                   .high = f["high"].number(),
                   .deviation = f["deviation"].number()};
  if (const auto v = f.find("family")) c.family = v->string();
  if (const auto v = f.find("value")) {
    c.factor = true;
    c.value = v->number();
  }
  for (const Field& p : f["places"].elements()) {
    c.places.push_back(p.string());
    const auto [stem, pointer] = split_place(c.places.back());
    const Document d = shipped_document(stem, p);
    const WrittenNumber written = written_number(d, pointer);
    const Said said = said_of(d, pointer);
    if (said.kind != "fitted") p.fail("is called \"" + said.kind + "\" by its file; write kind \"fitted\" there, or drop it here");
    if (c.places.size() == 1) {
      c.source = said.source;
      if (!c.factor) c.unit = written.unit;
      if (!c.factor) c.value = written.number;
    } else if (!c.factor && (written.number != c.value || written.unit != c.unit)) {
      p.fail("holds another value than the first place of \"" + c.name + "\"; one constant has one value");
    }
  }
  if (c.places.empty()) f["places"].fail("is empty; name where the constant stands");
  if (!(c.low < c.high) || c.value < c.low || c.value > c.high || c.neutral < c.low || c.neutral > c.high)
    f.fail("the value and the neutral one lie within low and high");
  if (!(c.deviation > 0)) f["deviation"].fail("is not above 0");
  if (c.factor && !(c.value > 0)) f["value"].fail("is not above 0");
  return c;
}

// What describes a file or its rules, and what is a shape rather than a constant.
bool skipped(std::string_view key) {
  constexpr std::string_view keys[] = {"source", "kind",   "schema", "name",  "title", "extends",  "aliases",    "notes",
                                       "note",   "fit",    "before", "from",  "tiles", "k_step",   "generation", "vendor",
                                       "topology", "rules", "attention_kernels"};
  return std::find(std::begin(keys), std::end(keys), key) != std::end(keys);
}

bool of_runs(std::string_view source) {
  return source.find(" runs") != source.npos || source.find("layouts") != source.npos;
}

void collect(const Field& f, Said said, std::vector<std::string>& out) {
  listen(f, said);
  if (f.is(Field::Type::array)) {
    for (const Field& e : f.elements()) collect(e, said, out);
  } else if (f.is(Field::Type::object)) {
    for (const auto& [key, member] : f.members())
      if (!skipped(key)) collect(member, said, out);
  } else if (said.kind == "fitted" && of_runs(said.source) &&
             (f.is(Field::Type::number) || (f.is(Field::Type::string) && std::isdigit(static_cast<unsigned char>(f.string()[0])) != 0))) {
    std::string place = constant_place(f);
    if (place.ends_with("/value")) place.resize(place.size() - 6);
    out.push_back(std::move(place));
  }
}

std::vector<std::string> lineage(Document d, std::optional<std::string> (*text_of)(std::string_view)) {
  std::vector<std::string> out;
  for (;;) {
    std::string stem = d.name();
    if (stem.ends_with(".json")) stem.resize(stem.size() - 5);
    out.push_back(stem);
    const auto parent = d.root().find("extends");
    if (!parent) return out;
    const auto text = text_of(parent->string());
    if (!text) return out;
    d = Document::parse(*text, parent->string() + ".json");
  }
}

}  // namespace

const std::vector<FittedConstant>& ledger() {
  static const std::vector<FittedConstant> known = [] {
    std::vector<FittedConstant> out;
    for (const auto& f : embedded::fitted_ledger()) {
      const Field root = Document::parse(f.text, std::string(f.name) + ".json").root();
      root.only({"schema", "about", "constants"});
      (void)root["schema"].integer(1, 1);
      for (const Field& c : root["constants"].elements()) out.push_back(read_constant(c));
    }
    return out;
  }();
  return known;
}

Edits edits_of(std::span<const FittedConstant> constants, std::span<const double> values) {
  Edits edits;
  for (std::size_t i = 0; i < constants.size(); ++i) {
    const FittedConstant& c = constants[i];
    if (values[i] == c.value) continue;
    for (const std::string& place : c.places) {
      if (!c.factor) {
        edits.set(place, values[i]);
        continue;
      }
      const auto [stem, pointer] = split_place(place);
      const auto text = profile_text(stem) ? profile_text(stem) : catalog_text(stem);
      edits.set(place, written_number(Document::parse(*text, stem + ".json"), pointer).number * values[i] / c.value);
    }
  }
  return edits;
}

std::vector<double> shipped_values(std::span<const FittedConstant> constants) {
  std::vector<double> v;
  for (const FittedConstant& c : constants) v.push_back(c.value);
  return v;
}
std::vector<double> neutral_values(std::span<const FittedConstant> constants) {
  std::vector<double> v;
  for (const FittedConstant& c : constants) v.push_back(c.neutral);
  return v;
}

std::vector<std::string> missing_from_ledger() {
  std::vector<std::string> fitted;
  for (const std::string& name : profile_names()) collect(Document::parse(*profile_text(name), name + ".json").root(), {}, fitted);
  for (const std::string& name : catalog_names()) collect(Document::parse(*catalog_text(name), name + ".json").root(), {}, fitted);
  std::erase_if(fitted, [](const std::string& place) {
    return std::any_of(ledger().begin(), ledger().end(), [&](const FittedConstant& c) {
      return std::find(c.places.begin(), c.places.end(), place) != c.places.end();
    });
  });
  return fitted;
}

bool reaches(const FittedConstant& c, const std::vector<std::string>& lineage) {
  return std::any_of(c.places.begin(), c.places.end(), [&](const std::string& place) {
    return std::find(lineage.begin(), lineage.end(), split_place(place).first) != lineage.end();
  });
}

std::vector<std::string> profile_lineage(const std::string& what) {
  if (const auto text = profile_text(what)) {
    std::string name = what;
    for (const std::string& known : profile_names())
      if (profile_text(known) == text) name = known;
    return lineage(Document::parse(*text, name + ".json"), profile_text);
  }
  return lineage(Document::read(what), profile_text);
}
std::vector<std::string> hardware_lineage(const std::string& what) { return lineage(hardware_document(what), catalog_text); }

}  // namespace napkin::validation
