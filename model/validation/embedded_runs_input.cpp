#include "model/validation/embedded_runs.hpp"

#include <iterator>

#include "model/input/embedded.hpp"

namespace napkin::validation {

std::vector<SourceText> embedded_sources() {
  std::vector<SourceText> out;
  const auto add = [&](std::span<const embedded::File> files, const char* folder) {
    for (const embedded::File& f : files) {
      auto lines = split_lines(std::string(f.text), folder + std::string(f.name) + ".jsonl");
      std::move(lines.begin(), lines.end(), std::back_inserter(out));
    }
  };
  add(embedded::own_measurements(), "tests/own/");
  add(embedded::published_runs(), "tests/published/runs/");
  return out;
}

}  // namespace napkin::validation
