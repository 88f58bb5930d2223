#include <algorithm>
#include <cctype>
#include <filesystem>

#include "hardware/hardware_input.hpp"
#include "hardware/values_input.hpp"
#include "model/input/embedded.hpp"

namespace napkin {
namespace {

using hardware_values::read_aliases;

std::string lower(std::string_view s) {
  std::string out;
  for (const char c : s) out += c == ' ' || c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

const embedded::File* find_in_catalog(std::string_view what) {
  auto name = lower(what);
  if (name.ends_with(".json")) name.resize(name.size() - 5);
  const auto catalog = embedded::hardware_catalog();
  for (const auto& f : catalog)
    if (f.name == name) return &f;
  const auto quoted = '"' + name + '"';
  for (const auto& f : catalog) {
    if (f.text.find(quoted) == f.text.npos) continue;  // spares parsing all of them
    const auto aliases = read_aliases(Document::parse(f.text, std::string(f.name) + ".json").root());
    if (std::find(aliases.begin(), aliases.end(), name) != aliases.end()) return &f;
  }
  return nullptr;
}

Document document(const embedded::File& f) { return Document::parse(f.text, std::string(f.name) + ".json"); }

[[noreturn]] void unknown(const std::string& what) {
  auto name = lower(what);
  if (name.ends_with(".json")) name.resize(name.size() - 5);
  std::vector<std::string> all;
  for (const auto& f : embedded::hardware_catalog()) {
    all.emplace_back(f.name);
    for (auto& a : read_aliases(document(f).root())) all.push_back(std::move(a));
  }
  const std::vector<std::string_view> views(all.begin(), all.end());
  const auto close = did_you_mean(name, views);
  throw InputError("\"" + what.substr(0, 80) + "\" is neither a file nor known hardware; " +
                   (close.empty() ? "napkin hw list shows what is known" : "did you mean \"" + close + "\"?"));
}

}  // namespace

std::vector<std::string> hardware_values::read_aliases(const Field& root) {
  std::vector<std::string> out;
  if (const auto f = root.find("aliases"))
    for (const auto& a : f->elements()) out.push_back(a.string());
  return out;
}

Hardware read_hardware(const std::string& what) {
  std::error_code ignored;
  const auto status = std::filesystem::status(what, ignored);
  const bool exists = std::filesystem::exists(status);
  if (exists && !std::filesystem::is_directory(status)) return read_hardware(Document::read(what));
  if (const auto* f = find_in_catalog(what)) {
    auto h = read_hardware(document(*f));
    h.origin = "catalog";
    return h;
  }
  if (exists || what.find('/') != what.npos) return read_hardware(Document::read(what));  // says what is wrong
  unknown(what);
}

std::vector<std::string> catalog_names() {
  std::vector<std::string> out;
  for (const auto& f : embedded::hardware_catalog()) out.emplace_back(f.name);
  return out;
}

std::optional<std::string> catalog_text(std::string_view name_or_alias) {
  if (const auto* f = find_in_catalog(name_or_alias)) return std::string(f->text);
  return {};
}

}  // namespace napkin
