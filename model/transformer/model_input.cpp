#include "model/transformer/model_input.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "model/input/embedded.hpp"
#include "model/input/number_input.hpp"
#include "model/text.hpp"
#include "model/transformer/parameters.hpp"

namespace napkin {
namespace {

namespace fs = std::filesystem;

// "meta-llama/Llama-3.1-8B-Instruct" → "llama318b": the owner, the case, punctuation and the words that name a stage
// of training of the same shape are dropped.
std::string normal_name(std::string_view name) {
  if (const auto slash = name.rfind('/'); slash != std::string_view::npos) name.remove_prefix(slash + 1);
  std::string words;
  for (const char c : name) words += char(std::tolower(static_cast<unsigned char>(c)));
  if (words.ends_with(".json")) words.resize(words.size() - 5);
  for (const std::string_view suffix : {"-instruct", "-chat", "-base", "-hf", "-it", "-pt"}) {
    if (words.ends_with(suffix)) words.resize(words.size() - suffix.size());
  }
  if (words.starts_with("meta-")) words.erase(0, 5);
  // Separators do not count, but a decimal point does: gpt3-1.3b is not gpt3-13b.
  std::string key;
  const auto digit = [&](std::size_t i) { return i < words.size() && std::isdigit(static_cast<unsigned char>(words[i])) != 0; };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const char c = words[i];
    const bool point = c == '.' && i > 0 && digit(i - 1) && digit(i + 1);
    if (point || (c != '-' && c != '_' && c != '.' && c != ' ' && c != ':')) key += c;
  }
  return key;
}

struct Preset {
  std::string name;
  std::vector<std::string> keys;  // normal forms of its name and aliases
  std::string_view text;
};

const std::vector<Preset>& presets() {
  static const std::vector<Preset> all = [] {
    std::vector<Preset> list;
    for (const auto& file : embedded::model_presets()) {
      Preset p{std::string(file.name), {normal_name(file.name)}, file.text};
      const auto root = Document::parse(file.text, p.name + ".json").root();
      if (const auto aliases = root.find("aliases")) {
        for (const Field& alias : aliases->elements()) p.keys.push_back(normal_name(alias.string()));
      }
      list.push_back(std::move(p));
    }
    std::sort(list.begin(), list.end(), [](const Preset& a, const Preset& b) { return a.name < b.name; });
    return list;
  }();
  return all;
}

// Without the decimal points: "llama3_1_8b" means llama3.1-8b where no other preset reads the same.
std::string loose(std::string key) {
  std::erase(key, '.');
  return key;
}

const Preset* find_preset(std::string_view name) {
  const std::string key = normal_name(name);
  for (const Preset& p : presets())
    if (std::find(p.keys.begin(), p.keys.end(), key) != p.keys.end()) return &p;
  const Preset* only = nullptr;
  for (const Preset& p : presets()) {
    if (std::none_of(p.keys.begin(), p.keys.end(), [&](const std::string& k) { return loose(k) == loose(key); })) continue;
    if (only != nullptr) return nullptr;
    only = &p;
  }
  return only;
}

// "100B", "7b", "1T", "100B-moe" → a size; nothing when the text is no such size.
struct Size {
  double parameters;
  bool moe;
};
std::optional<Size> bare_size(std::string_view what) {
  if (what.empty() || std::isdigit(static_cast<unsigned char>(what.front())) == 0) return {};
  std::string text(what);
  for (char& c : text) c = char(std::toupper(static_cast<unsigned char>(c)));
  bool moe = false;
  for (const std::string_view suffix : {"-MOE", "-DENSE"}) {
    if (text.ends_with(suffix)) {
      moe = suffix == "-MOE";
      text.resize(text.size() - suffix.size());
    }
  }
  try {
    return Size{parse_count(text), moe};
  } catch (const std::invalid_argument&) {
    return {};
  }
}

// "llama-7b" → 7e9: the first number followed by b or m that stands alone between separators; nothing in "8x7b".
std::optional<double> named_size(const std::string& name) {
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto digit = [&](std::size_t k) { return k < name.size() && std::isdigit(static_cast<unsigned char>(name[k])) != 0; };
    if (!digit(i) || (i > 0 && name[i - 1] != '-' && name[i - 1] != '_')) continue;
    std::size_t end = i;
    while (digit(end) || (end < name.size() && name[end] == '.' && digit(end + 1))) ++end;
    const char unit = end < name.size() ? char(std::tolower(static_cast<unsigned char>(name[end]))) : ' ';
    const bool stands_alone = end + 1 >= name.size() || name[end + 1] == '-' || name[end + 1] == '_' || name[end + 1] == '.';
    if ((unit == 'b' || unit == 'm') && stands_alone) return parse_number(name.substr(i, end - i)) * (unit == 'b' ? 1e9 : 1e6);
  }
  return {};
}

// Files lie: a name that says another size than the shape deserves a line. Names round, hence the wide margin.
void compare_with_name(Architecture& a) {
  constexpr double margin = 0.3;
  const auto named = named_size(a.name);
  const auto total = double(parameters(a).total);
  if (named && *named > 0 && std::abs(total / *named - 1) > margin) {
    a.assumptions.push_back("the name says " + format_count(*named) + " parameters, the shape has " + format_count(total) +
                            ": the shape is used");
  }
}

// A file holds a preset or model object (its width is "hidden"), a run record (its shape is "model"), or a Hugging
// Face config.
Architecture read_file(const std::string& path) {
  const auto document = Document::read(path);
  const auto root = document.root();
  if (!root.is(Field::Type::object)) root.fail("is not an object; write a config.json or a model object");
  Architecture a;
  if (const auto model = root.find("model"); model && root.has("layout")) {
    a = read_record_model(*model);
  } else if (root.has("hidden")) {
    a = read_record_model(root);
  } else {
    a = read_hf_config(document);
  }
  if (a.origin.empty() || a.origin == "the record's model") a.origin = path;
  if (a.name.empty() || a.name == "unnamed") {
    const fs::path p(path);
    a.name = p.filename() == "config.json" && p.has_parent_path() ? p.parent_path().filename().string() : p.stem().string();
  }
  compare_with_name(a);
  return a;
}

[[noreturn]] void unknown_model(const std::string& what) {
  std::vector<std::string_view> known;
  for (const Preset& p : presets()) known.push_back(p.name);
  std::string message = "model \"" + what + "\" is no file, no folder with a config.json, no size and no preset";
  if (const auto hint = did_you_mean(what, known); !hint.empty()) {
    message += "; did you mean \"" + hint + "\"?";
  } else {
    message += "; `napkin models list` names the presets, sizes are written \"100B\" or \"100B-moe\"";
  }
  throw InputError(message);
}

}  // namespace

Architecture read_model(const std::string& what) {
  std::error_code ignored;
  if (fs::is_directory(what, ignored)) {
    const auto config = (fs::path(what) / "config.json").string();
    if (!fs::exists(config, ignored)) throw InputError(what + ": the folder holds no config.json");
    return read_file(config);
  }
  if (fs::exists(what, ignored)) return read_file(what);
  if (const Preset* p = find_preset(what)) {
    auto a = read_record_model(Document::parse(p->text, p->name + ".json").root());
    a.name = p->name;
    a.origin = "preset " + p->name;
    return a;
  }
  if (const auto size = bare_size(what)) {
    return size->moe ? synthesise_moe(size->parameters) : synthesise_dense(size->parameters);
  }
  unknown_model(what);
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Preset& p : presets()) names.push_back(p.name);
  return names;
}

std::optional<std::string> preset_text(std::string_view name) {
  const Preset* p = find_preset(name);
  if (p == nullptr) return {};
  return std::string(p->text);
}

}  // namespace napkin
