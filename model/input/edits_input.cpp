#include "model/input/edits_input.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "model/input/document_value.hpp"

namespace napkin {
namespace {

// The part of a place that names the file: "h100-sxm.json" → "h100-sxm".
std::string_view stem(std::string_view name) {
  if (name.ends_with(".json")) name.remove_suffix(5);
  return name;
}

// RFC 6901 without its escapes, which no file of ours needs. Null where nothing stands.
template <class V>
V* value_at(V& root, std::string_view pointer) {
  V* at = &root;
  while (at != nullptr && !pointer.empty()) {
    pointer.remove_prefix(1);
    const auto end = std::min(pointer.find('/'), pointer.size());
    const std::string_view key = pointer.substr(0, end);
    pointer.remove_prefix(end);
    V* next = nullptr;
    if (at->type == Field::Type::array) {
      std::size_t i = at->elements.size();
      std::from_chars(key.data(), key.data() + key.size(), i);
      if (i < at->elements.size()) next = &at->elements[i];
    } else {
      for (auto& [name, member] : at->members)
        if (name == key) next = &member;
    }
    at = next;
  }
  if (at != nullptr && at->type == Field::Type::object)
    for (auto& [name, member] : at->members)
      if (name == "value") return &member;
  return at;
}

WrittenNumber number_of(const Value* v, const std::string& place) {
  if (v != nullptr && v->type == Field::Type::number && std::isfinite(v->number)) return {v->number, {}};
  if (v != nullptr && v->type == Field::Type::string) {
    WrittenNumber n;
    const char *begin = v->text.data(), *end = begin + v->text.size();
    const auto parsed = std::from_chars(begin, end, n.number);
    if (parsed.ec == std::errc{} && parsed.ptr != begin) {
      const std::string_view rest(parsed.ptr, static_cast<std::size_t>(end - parsed.ptr));
      n.unit = rest.substr(std::min(rest.find_first_not_of(' '), rest.size()));
      return n;
    }
  }
  throw InputError(place + ": no number stands there");
}

std::string shortest(double v) {
  std::array<char, 32> buffer{};
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), v).ptr};
}

}  // namespace

std::pair<std::string, std::string> split_place(std::string_view place) {
  const auto hash = place.find('#');
  if (hash == place.npos || hash == 0 || hash + 1 == place.size() || place[hash + 1] != '/')
    throw InputError("\"" + one_line(place, 80) + "\" is no place of a constant; write FILE#/group/member, as --explain prints it");
  return {std::string(stem(place.substr(0, hash))), std::string(place.substr(hash + 1))};
}

WrittenNumber written_number(const Document& d, std::string_view pointer) {
  return number_of(value_at(d.impl_->root, pointer), d.name() + '#' + std::string(pointer));
}

void Edits::set(std::string_view place, double number) {
  auto [file, pointer] = split_place(place);
  by_file_[std::move(file)].insert_or_assign(std::move(pointer), number);
}

Document Edits::apply(const Document& d) const {
  const auto mine = by_file_.find(stem(d.name()));
  if (mine == by_file_.end()) return d;
  auto changed = std::make_shared<Document::Impl>(*d.impl_);
  for (const auto& [pointer, number] : mine->second) {
    Value* v = value_at(changed->root, pointer);
    const WrittenNumber old = number_of(v, d.name() + '#' + pointer);
    if (v->type == Field::Type::string) {
      v->text = old.unit.empty() ? shortest(number) : shortest(number) + ' ' + old.unit;
    } else {
      v->number = number;
      v->integral = number == std::floor(number) && std::abs(number) < 0x1p53;
      v->integer = v->integral ? static_cast<std::int64_t>(number) : 0;
    }
  }
  Document out;
  out.impl_ = std::move(changed);
  return out;
}

}  // namespace napkin
