// A machine as a hardware file of the catalog's schema: every constant with its source, fitted ones with their evidence.
#pragma once

#include <map>
#include <string>

#include "calibrate/fit/hardware_fit.hpp"

namespace napkin::fit {

// `measured_on`: members of the header of the samples. `about`: what the samples are, in words.
[[nodiscard]] std::string hardware_file(const HardwareFit& fit, const std::string& name, const std::string& about,
                                        const std::map<std::string, std::string>& measured_on);

}  // namespace napkin::fit
