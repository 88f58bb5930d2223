// Framework profiles from model/frameworks/*.json (compiled in) or a file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/frameworks/profile.hpp"
#include "model/input/edits_input.hpp"

namespace napkin {

// What a framework's recipes may depend on. `generation` of the accelerator ("hopper"), ", rack" behind it where
// its inner network joins several hosts ("blackwell, rack").
struct Situation {
  bool moe = false, quantised = false;  // the model has routed experts; linears multiply 8-bit operands or narrower
  std::string generation;
  friend auto operator<=>(const Situation&, const Situation&) = default;
};

// "megatron-lm" | path of a profile. `year` selects an era of the software (0 = newest). Unknown names are refused with
// the closest one. `extends` and `eras` are applied here; the result is complete. `edits` change constants of the file and of what it extends. Entries of
// `where` hold for the jobs they name.
[[nodiscard]] Profile read_profile(const std::string& what, int year = 0, const Edits& edits = {}, const Situation& job = {});
[[nodiscard]] std::vector<std::string> profile_names();
[[nodiscard]] std::optional<std::string> profile_text(std::string_view name);

}  // namespace napkin
