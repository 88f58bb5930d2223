// Records with a `measured` member (DESIGN §4) → replays. Nothing here throws on account of a record: what cannot be
// read or predicted is a refused replay with its reason.
#pragma once

#include <string>
#include <vector>

#include "model/input/document_input.hpp"
#include "model/run/run_input.hpp"
#include "model/validation/replay.hpp"

namespace napkin::validation {

// A line of a file, or a whole document.
struct SourceText {
  std::string text, file;
  std::size_t line = 1;
  std::string device = {};  // the header record above it: {"kind": "device", "name": ...}
  double call = 0;          // seconds of an empty call, where the file states it: {"kind": "launch", "t_s": ...}
};

// JSON lines (blank lines skipped), or one JSON object or array in a *.json file. InputError when a file cannot be read.
[[nodiscard]] std::vector<SourceText> read_sources(const std::string& path);
[[nodiscard]] std::vector<SourceText> split_lines(const std::string& text, const std::string& name);

// Reads one record, predicts it and compares. `library` holds what several records refer to; none = read anew.
[[nodiscard]] Replay replay(const SourceText& source, const std::shared_ptr<Library>& library = nullptr);

// A run read once, to be predicted under several sets of constants.
struct RunCase {
  Description run;
  Measurement measured;
  RunRequest request;
};
// InputError for what is no run record.
[[nodiscard]] RunCase read_case(const SourceText& source);
// As replay(); what cannot be predicted is refused with its reason.
[[nodiscard]] Replay replay(const RunCase& run, const std::shared_ptr<Library>& library);

}  // namespace napkin::validation
