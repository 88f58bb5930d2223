// Other tools' timings → the lines that `calibrate fit` and `calibrate check` read (docs/measurements.md).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace napkin::fit {

enum class ImportFormat : std::uint8_t { nccl_tests, nvbandwidth, kernels, kineto, nsys };
inline constexpr std::array<std::string_view, 5> import_format_names{"nccl-tests", "nvbandwidth", "kernels", "kineto", "nsys"};

// A kernel, or a row, that stands for no sample; alike ones are one entry.
struct Unmatched {
  std::string name, why;
  std::size_t n = 0;
  double seconds = 0;  // all together, where known
};

struct Imported {
  ImportFormat format{};
  std::vector<std::string> lines;  // JSON, the first is the header
  std::size_t samples = 0;         // rows that became lines
  std::vector<Unmatched> unmatched;  // the longest first
  std::vector<std::string> notes;
};

struct ImportOptions {
  std::optional<ImportFormat> format;  // nothing: told from the text
  std::string device;                  // name for the header, where the format has none
};

// InputError when the file cannot be read, its format is not recognised, or a line is not what the format writes.
[[nodiscard]] Imported import_timings(const std::string& path, const ImportOptions& options);

}  // namespace napkin::fit
