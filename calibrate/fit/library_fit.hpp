// Constants of the communication library on one machine, fitted to collectives measured inside a node.
#pragma once

#include <vector>

#include "calibrate/fit/robust_fit.hpp"
#include "calibrate/samples/collective_sample.hpp"

namespace napkin::fit {

// The efficiency of the innermost tier, and of the library's constants (for_each_library_constant) those that at least
// four of the fitted samples feel. A hop is told from the start-up by its number alone, and a rank's own part
// from those that travel: where all samples have as many ranks, those constants stay the generation's. The fitted values are written into `network`, which has a tuning.
Fit fit_library(Network& network, const std::vector<CollectiveSample>& samples, HeldOut held_out);

}  // namespace napkin::fit
