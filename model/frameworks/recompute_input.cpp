#include "model/frameworks/recompute_input.hpp"

#include <string>

namespace napkin {

RecomputeModule read_recompute_module(const Field& f) {
  const std::string name = f.string();
  std::string list;
  for (const auto& [known, bit] : recompute_module_names) {
    if (name == known) return static_cast<RecomputeModule>(bit);
    list += (list.empty() ? "" : ", ") + std::string(known);
  }
  f.fail("\"" + name + "\" is not a module; write one of " + list);
}

}  // namespace napkin
