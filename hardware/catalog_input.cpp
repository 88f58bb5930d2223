#include <algorithm>
#include <cctype>
#include <filesystem>

#include "hardware/hardware_input.hpp"
#include "hardware/values_input.hpp"
#include "model/input/embedded.hpp"

namespace napkin {
namespace {

using hardware_values::read_aliases;

// What a name is compared by: lower case, '-' between words, no ".json".
std::string normal(std::string_view what) {
  std::string name;
  for (const char c : what)
    name += c == ' ' || c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (name.ends_with(".json")) name.resize(name.size() - std::string_view(".json").size());
  return name;
}

Document document(const embedded::File& f) { return Document::parse(f.text, std::string(f.name) + ".json"); }

const embedded::File* find_in_catalog(std::string_view what) {
  const auto name = normal(what);
  const auto catalog = embedded::hardware_catalog();
  for (const auto& f : catalog)
    if (f.name == name) return &f;
  const auto quoted = '"' + name + '"';
  for (const auto& f : catalog) {
    if (f.text.find(quoted) == f.text.npos) continue;  // spares parsing all of them
    const auto aliases = read_aliases(document(f).root());
    if (std::find(aliases.begin(), aliases.end(), name) != aliases.end()) return &f;
  }
  return nullptr;
}

[[noreturn]] void unknown(const std::string& what) {
  std::vector<std::string> all;
  for (const auto& f : embedded::hardware_catalog()) {
    all.emplace_back(f.name);
    for (auto& a : read_aliases(document(f).root())) all.push_back(std::move(a));
  }
  const std::vector<std::string_view> views(all.begin(), all.end());
  const auto close = did_you_mean(normal(what), views);
  throw InputError("\"" + one_line(what, 80) + "\" is neither a file nor known hardware; " +
                   (close.empty() ? "napkin hw list shows what is known" : "did you mean \"" + close + "\"?"));
}

// Where a name or path leads: a catalog entry, or the file `path`.
struct Found {
  const embedded::File* catalog = nullptr;
  std::string path;
  [[nodiscard]] Document document() const { return catalog ? napkin::document(*catalog) : Document::read(path); }
  [[nodiscard]] std::string text() const { return catalog ? std::string(catalog->text) : read_text(path); }
};

// A file wins over the catalog, the catalog over a folder of the same name.
Found find(const std::string& what) {
  std::error_code ignored;
  const auto status = std::filesystem::status(what, ignored);
  const bool exists = std::filesystem::exists(status);
  if (exists && !std::filesystem::is_directory(status)) return {.path = what};
  if (const auto* f = find_in_catalog(what)) return {.catalog = f, .path = {}};
  if (exists || what.find('/') != what.npos) return {.path = what};  // reading it says what is wrong
  unknown(what);
}

}  // namespace

std::vector<std::string> hardware_values::read_aliases(const Field& root) {
  std::vector<std::string> out;
  if (const auto f = root.find("aliases"))
    for (const auto& a : f->elements()) out.push_back(a.string());
  return out;
}

Hardware read_hardware(const std::string& what, const Edits& edits) {
  const auto found = find(what);
  auto h = read_hardware(found.document(), edits);
  if (found.catalog != nullptr) h.origin = "catalog";
  return h;
}

Document hardware_document(const std::string& what) { return find(what).document(); }
std::string hardware_text(const std::string& what) { return find(what).text(); }

std::vector<std::string> catalog_names() {
  std::vector<std::string> out;
  for (const auto& f : embedded::hardware_catalog()) out.emplace_back(f.name);
  std::sort(out.begin(), out.end());
  return out;
}

std::optional<std::string> catalog_text(std::string_view name_or_alias) {
  if (const auto* f = find_in_catalog(name_or_alias)) return std::string(f->text);
  return {};
}

}  // namespace napkin
