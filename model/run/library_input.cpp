#include "model/run/library_input.hpp"

#include "hardware/hardware_input.hpp"
#include "model/frameworks/profile_input.hpp"

namespace napkin {

std::shared_ptr<const Hardware> Library::hardware(const std::string& what) {
  auto& known = hardware_[what];
  if (!known) known = std::make_shared<const Hardware>(read_hardware(what, edits_));
  return known;
}

std::shared_ptr<const Profile> Library::profile(const std::string& what, int year, const Situation& job) {
  auto& known = profiles_[{what, year, job}];
  if (!known) known = std::make_shared<const Profile>(read_profile(what, year, edits_, job));
  return known;
}

}  // namespace napkin
