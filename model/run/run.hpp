// A run: a job with everything it refers to, and one layout.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/step/layout.hpp"
#include "model/transformer/flops.hpp"

namespace napkin {

struct Run {
  std::string id;
  std::shared_ptr<const Architecture> model;
  std::shared_ptr<const Hardware> hardware;
  std::shared_ptr<const Profile> profile;
  std::shared_ptr<const Spread> spread;
  Job job;          // points at the four above
  Layout layout;
  FlopConvention convention = FlopConvention::full_attention;
  std::vector<std::string> assumptions;  // what was inferred, with the value used
};

}  // namespace napkin
