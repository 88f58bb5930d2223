// One reader a format; import_input.cpp picks.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "calibrate/import/import.hpp"

namespace napkin::fit {

using ImportJson = nlohmann::ordered_json;

// What a reader adds to: lines, and the kernels that it could not place.
class Collector {
  Imported out_;
  std::map<std::string, Unmatched> unmatched_;

 public:
  void header(ImportJson h);            // {"kind": "device", ...}
  void sample(const ImportJson& line);
  void unmatched(const std::string& name, const std::string& why, double seconds);
  void note(std::string text) { out_.notes.push_back(std::move(text)); }
  [[nodiscard]] Imported finish(ImportFormat format) &&;
};

// `name`: of the file, for messages. All throw InputError naming file and line.
void import_nccl_tests(std::string_view text, const std::string& name, Collector& out);
void import_nvbandwidth(std::string_view text, const std::string& name, Collector& out);
void import_kernels(std::string_view text, const std::string& name, const ImportOptions& options, Collector& out);
void import_kineto(std::string_view text, const std::string& name, Collector& out);
void import_nsys(std::string_view text, const std::string& name, const ImportOptions& options, Collector& out);

}  // namespace napkin::fit
