// A launch configuration → a run record (DESIGN §4), and what of it the record does not carry.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/launch/interpret.hpp"

namespace napkin::launch {

struct LaunchText {
  Reading reading;
  std::string record;   // JSON object; members that the configuration does not say are absent
};

// What is known beside the text; 0 where it is not.
struct Known {
  std::int64_t gpus = 0, layers = 0;
};

// `text` in the format of the target's first file. InputError as in interpret.hpp, and when no setting is known.
[[nodiscard]] LaunchText read_launch(std::string_view text, const std::string& name, const Target& target, const Known& known = {});

// The members of a run record that these facts say.
[[nodiscard]] std::string record_of(const Facts& facts, const std::string& framework, const std::string& model_name);

// Facts that the text states and that the run it became does not have: "split: the file says …, the prediction has …".
[[nodiscard]] std::vector<std::string> differences(const Reading& reading, const Facts& of_run);

}  // namespace napkin::launch
