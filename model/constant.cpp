#include "model/constant.hpp"

namespace napkin {

std::string_view to_string(Evidence e) {
  switch (e) {
    case Evidence::datasheet: return "datasheet";
    case Evidence::measured: return "measured";
    case Evidence::fitted: return "fitted";
    case Evidence::assumed: return "assumed";
  }
  return "assumed";
}

}  // namespace napkin
