// Measurements as `calibrate measure` and `calibrate import` write them: JSON lines (docs/measurements.md).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/samples/collective_sample.hpp"
#include "calibrate/samples/kernel_sample.hpp"
#include "model/input/document_input.hpp"

namespace napkin::fit {

struct Samples {
  std::vector<KernelSample> kernels;
  std::vector<CollectiveSample> collectives;
  std::map<std::string, std::string> device;   // members of the header records as text; the first file wins
  std::map<std::string, std::size_t> unused;   // rows that no formula predicts, by kind
  std::size_t rows = 0;
  std::vector<std::string> notes;  // headers of another machine or software than the first; gaps that were counted
  bool regime_stated = true;  // false: some kernel rows do not say under which clocks they ran
};

// Reads one file, or several as one. InputError names file, line and field.
[[nodiscard]] Samples read_samples(const std::vector<std::string>& files);

// One row of such a file as a kernel: nothing for a kind that is none, or that no formula predicts (cached operands, an
// operator that is not known). Times and clocks are as the row says; what a header would say is not known.
[[nodiscard]] std::optional<KernelSample> read_kernel_row(const Field& row);

}  // namespace napkin::fit
