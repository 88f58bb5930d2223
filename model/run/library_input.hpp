// Hardware and profiles read once and shared by many runs, under one set of changed constants.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "hardware/hardware.hpp"
#include "model/frameworks/profile_input.hpp"
#include "model/input/edits_input.hpp"

namespace napkin {

// Not for several threads at a time: each takes its own.
class Library {
  Edits edits_;
  std::map<std::string, std::shared_ptr<const Hardware>> hardware_;
  std::map<std::tuple<std::string, int, Situation>, std::shared_ptr<const Profile>> profiles_;

 public:
  explicit Library(Edits edits = {}) : edits_(std::move(edits)) {}
  // As read_hardware and read_profile: the same names, the same errors.
  [[nodiscard]] std::shared_ptr<const Hardware> hardware(const std::string& what);
  [[nodiscard]] std::shared_ptr<const Profile> profile(const std::string& what, int year, const Situation& job = {});
};

}  // namespace napkin
