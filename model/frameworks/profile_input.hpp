// Framework profiles from model/frameworks/*.json (compiled in) or a file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/frameworks/profile.hpp"
#include "model/input/edits_input.hpp"

namespace napkin {

// "megatron-lm" | path of a profile. `year` selects an era of the software (0 = newest). Unknown names are refused with
// the closest one. `extends` and `eras` are applied here; the result is complete. `edits` change constants of the file and of what it extends.
[[nodiscard]] Profile read_profile(const std::string& what, int year = 0, const Edits& edits = {});
[[nodiscard]] std::vector<std::string> profile_names();
[[nodiscard]] std::optional<std::string> profile_text(std::string_view name);

}  // namespace napkin
