#include "model/input/constant_input.hpp"


namespace napkin {

std::shared_ptr<const Source> read_source(const Field& group) {
  constexpr std::array<std::string_view, 4> names{"datasheet", "measured", "fitted", "assumed"};
  return std::make_shared<const Source>(
      Source{.kind = static_cast<Evidence>(one_of(group["kind"], names)), .text = group["source"].string()});
}

std::string constant_place(const Field& f) {
  std::string_view file = f.file();
  if (file.ends_with(".json")) file.remove_suffix(5);
  return std::string(file) + '#' + f.pointer();
}

Group::Group(Field group, std::vector<std::string_view> keys) : group_(std::move(group)), source_(read_source(group_)) {
  keys.insert(keys.end(), {"source", "kind", "fit", "note"});
  group_.only(keys);
}

}  // namespace napkin
