#include <algorithm>

#include "hardware/hardware_input.hpp"
#include "model/frameworks/profile_input.hpp"
#include "model/input/document_input.hpp"
#include "model/input/embedded.hpp"
#include "model/validation/constants.hpp"
#include "model/validation/ledger.hpp"

namespace napkin::validation {
namespace {

bool describes(std::string_view key) {
  return key == "source" || key == "kind" || key == "schema" || key == "name" || key == "title" || key == "extends" ||
         key == "aliases" || key == "before" || key == "note";
}

// Leaves below a group belong to the nearest `kind` above them; leaves below none are names and rules.
void count(const Field& f, std::optional<Evidence> kind, std::map<Evidence, std::size_t>& into) {
  if (f.is(Field::Type::array)) {
    for (const Field& e : f.elements()) count(e, kind, into);
    return;
  }
  if (!f.is(Field::Type::object)) {
    if (kind && (f.is(Field::Type::number) || f.is(Field::Type::string))) ++into[*kind];
    return;
  }
  if (const auto k = f.find("kind"); k && k->is(Field::Type::string))
    for (const Evidence e : {Evidence::datasheet, Evidence::measured, Evidence::fitted, Evidence::assumed})
      if (k->string() == to_string(e)) kind = e;
  for (const auto& [key, member] : f.members())
    if (!describes(key)) count(member, kind, into);
}

}  // namespace

std::vector<ConstantCount> constants_of(const std::vector<Replay>& rows) {
  std::map<std::pair<bool, std::string>, std::size_t> used;
  for (const Replay& r : rows) {
    if (!r.refused.empty()) continue;
    if (!r.run.framework.empty()) ++used[{false, r.run.framework}];
    ++used[{true, r.run.hardware}];
  }
  std::vector<ConstantCount> out;
  for (const auto& [key, n] : used) {
    const auto& [machine, name] = key;
    const auto text = machine ? catalog_text(name) : profile_text(name);
    if (!text) continue;  // a file of the user's
    ConstantCount c{.file = name, .machine = machine, .by_kind = {}, .rows = n};
    count(Document::parse(*text, name).root(), std::nullopt, c.by_kind);
    out.push_back(std::move(c));
  }
  std::stable_sort(out.begin(), out.end(), [](const ConstantCount& a, const ConstantCount& b) { return a.rows > b.rows; });
  return out;
}

KernelConstants kernel_constants() {
  KernelConstants k;
  const auto fitted = [](const Document& d) {
    std::map<Evidence, std::size_t> by_kind;
    count(d.root(), std::nullopt, by_kind);
    return by_kind[Evidence::fitted];
  };
  for (const std::string& name : catalog_names()) {
    const std::size_t n = fitted(Document::parse(*catalog_text(name), name + ".json"));
    std::size_t in_ledger = 0;
    for (const FittedConstant& c : ledger())
      for (const std::string& place : c.places) in_ledger += split_place(place).first == name;
    if (n <= in_ledger) continue;
    ++k.machines;
    k.leaves += n - in_ledger;
  }
  for (const auto& f : embedded::collective_tunings()) k.library += fitted(Document::parse(f.text, std::string(f.name) + ".json"));
  return k;
}

}  // namespace napkin::validation
