#include "model/transformer/hf_config.hpp"

#include <algorithm>

namespace napkin::hf {
namespace {

// Where composite configs keep the language model.
constexpr std::string_view text_members[] = {"text_config", "llm_config", "language_config"};

Field text_part(const Field& root) {
  if (!root.is(Field::Type::object)) root.fail("is not an object; a config.json holds one");
  for (const auto name : text_members) {
    if (const auto text = root.find(name); text && text->is(Field::Type::object)) return *text;
  }
  return root;
}

std::string word(const Field& object, std::string_view key) {
  const auto f = object.find(key);
  return f && f->is(Field::Type::string) ? f->string() : std::string();
}

std::string first_architecture(const Field& object) {
  const auto f = object.find("architectures");
  if (!f || !f->is(Field::Type::array)) return {};
  const auto list = f->elements();
  return !list.empty() && list[0].is(Field::Type::string) ? list[0].string() : std::string();
}

std::string quoted(Names names) {
  std::string s;
  for (const auto n : names) {
    if (!s.empty()) s += ", ";
    s += n;
  }
  return s;
}

bool says_something(const Field& f) {
  switch (f.type()) {
    case Field::Type::null: return false;
    case Field::Type::boolean: return f.boolean();
    case Field::Type::number: return f.raw() != "0" && f.raw() != "0.0";
    case Field::Type::string: return !f.string().empty();
    case Field::Type::array: return !f.elements().empty();
    case Field::Type::object: return !f.members().empty();
  }
  return true;
}

}  // namespace

Config::Config(const Document& document) : root_(document.root()), text_(text_part(document.root())) {
  model_type_ = word(text_, "model_type");
  if (model_type_.empty()) model_type_ = word(root_, "model_type");
  architecture_ = first_architecture(text_);
  if (architecture_.empty()) architecture_ = first_architecture(root_);
  for (const auto tower : {"vision_config", "audio_config", "speech_config", "visual"}) {
    if (const auto f = root_.find(tower); f && says_something(*f)) {
      assume(std::string(tower) + ": the text part alone is counted");
      understood({tower});
    }
  }
  for (const Field& part : {text_, root_}) {
    if (const auto q = part.find("quantization_config"); q && q->is(Field::Type::object)) {
      const auto method = word(*q, "quant_method");
      assume("quantization_config (" + (method.empty() ? "method not named" : method) +
             "): parameters are counted, not stored bytes");
      break;
    }
  }
}

std::optional<Field> Config::find(Names names) const {
  std::optional<Field> found;
  for (const auto name : names) {
    understood_.emplace(name.substr(0, name.find('.')));
    if (found) continue;
    std::optional<Field> at = text_;
    for (std::string_view rest = name; at && !rest.empty();) {
      const auto dot = rest.find('.');
      at = at->is(Field::Type::object) ? at->find(rest.substr(0, dot)) : std::nullopt;
      rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
    }
    found = at;
  }
  return found;
}

Field Config::need(std::string_view meaning, Names names) const {
  if (auto f = find(names)) return *f;
  text_.fail("the " + std::string(meaning) + " is missing; looked for " + quoted(names));
}

int Config::integer(std::string_view meaning, Names names, std::int64_t at_least, std::int64_t at_most) const {
  return int(need(meaning, names).integer(at_least, at_most));
}

int Config::integer_or(Names names, int otherwise, std::int64_t at_least, std::int64_t at_most) const {
  const auto f = find(names);
  return f ? int(f->integer(at_least, at_most)) : otherwise;
}

bool Config::flag_or(Names names, bool otherwise) const {
  const auto f = find(names);
  return f ? f->boolean() : otherwise;
}

std::optional<int> Config::per_layer(Names names, int layer, std::int64_t at_least, std::int64_t at_most) const {
  const auto f = find(names);
  if (!f) return {};
  if (!f->is(Field::Type::array)) return int(f->integer(at_least, at_most));
  const auto list = f->elements();
  if (std::size_t(layer) >= list.size()) {
    f->fail("has " + std::to_string(list.size()) + " entries, none for layer " + std::to_string(layer));
  }
  return int(list[std::size_t(layer)].integer(at_least, at_most));
}

std::optional<bool> Config::tied() const {
  understood({"tie_word_embeddings"});
  for (const Field& part : {text_, root_}) {
    if (const auto f = part.find("tie_word_embeddings")) return f->boolean();
  }
  return {};
}

void Config::understood(Names names) const {
  for (const auto n : names) understood_.emplace(n);
}

std::vector<std::pair<std::string, Field>> Config::unread() const {
  std::vector<std::pair<std::string, Field>> left;
  for (auto& [name, field] : text_.members()) {
    if (!understood_.contains(name) && says_something(field)) left.emplace_back(name, field);
  }
  return left;
}

}  // namespace napkin::hf
