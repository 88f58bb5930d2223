// `napkin calibrate measure`: runs the plan on the GPUs of this host and writes the samples.
#pragma once

#include <string>
#include <vector>

namespace napkin::measure {

struct Options {
  std::vector<std::string> groups;  // empty: all
  std::vector<int> devices;         // empty: all visible
  std::string out = "samples.jsonl";
  std::string libraries;            // folders to look for CUDA's libraries in first, joined by ':'
  bool quick = false, resume = false, nvls = false, list = false;
};

struct Result {
  std::size_t measured = 0, skipped = 0, failed = 0, resumed = 0;
  double seconds = 0;
  bool silent = false;  // rank 0 of the run speaks for this one, and its exit code is mpirun's
};

// InputError when this build has no CUDA, when there is no GPU, or when an option is wrong. A case that fails is
// recorded with its reason and does not stop the others. Under mpirun every process calls it, and rank 0 writes and speaks.
[[nodiscard]] Result run(const Options& options);

}  // namespace napkin::measure
