#include "hardware/hardware.hpp"

namespace napkin {

std::string_view to_string(Format f) { return format_names.at(static_cast<std::size_t>(f)); }

std::string_view to_string(Tier::Topology t) { return topology_names.at(static_cast<std::size_t>(t)); }

}  // namespace napkin
