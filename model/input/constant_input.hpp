// Groups of constants in a data file: members that share one source.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/constant.hpp"
#include "model/input/document_input.hpp"

namespace napkin {

// The position of a word among `names`; another word is an InputError that lists them.
template <class Names>
[[nodiscard]] std::size_t one_of(const Field& f, const Names& names) {
  const auto word = f.string();
  const auto at = std::find(names.begin(), names.end(), word);
  if (at == names.end()) {
    std::string list;
    for (const auto n : names) list += (list.empty() ? "" : ", ") + std::string(n);
    f.fail("is \"" + word + "\"; write one of " + list);
  }
  return static_cast<std::size_t>(at - names.begin());
}

[[nodiscard]] std::shared_ptr<const Source> read_source(const Field& group);

// "h100-sxm#/memory/bandwidth"
[[nodiscard]] std::string constant_place(const Field& f);

// A leaf group: members with one source. A member may be {"value", "source", "kind"} where its source differs.
class Group {
  Field group_;
  std::shared_ptr<const Source> source_;

 public:
  // Members other than `keys` and source, kind, fit, note are errors.
  Group(Field group, std::vector<std::string_view> keys);
  [[nodiscard]] const Field& field() const { return group_; }

  template <class Read>
  auto constant(const Field& f, Read read) const -> Constant<decltype(read(f))> {
    if (!f.is(Field::Type::object)) return {.value = read(f), .place = constant_place(f), .source = source_};
    f.only({"value", "source", "kind", "note", "fit"});
    return {.value = read(f["value"]), .place = constant_place(f), .source = read_source(f)};
  }
  template <class Read>
  auto required(std::string_view key, Read read) const {
    return constant(group_[key], read);
  }
  template <class Read>
  auto optional(std::string_view key, Read read) const -> std::optional<Constant<decltype(read(group_))>> {
    if (const auto f = group_.find(key)) return constant(*f, read);
    return {};
  }
};

}  // namespace napkin
