// What is to be measured: a list of cases, each a kind and its shape as the record will carry them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace napkin::measure {

using Json = nlohmann::ordered_json;

struct Case {
  std::string group;       // one of `groups`
  Json shape;              // {"kind": ..., ...}: everything that tells this case from others
  double seconds = 0;      // expected, for the progress bar
  [[nodiscard]] std::string key() const { return group + ' ' + shape.dump(); }
};

inline constexpr std::string_view groups[] = {"launch",    "memory",  "elementwise", "gemm",
                                              "attention", "metrics", "collective",  "peer"};

// What the plan depends on.
struct Machine {
  int devices = 1;              // taking part in collectives
  double memory = 0;            // bytes of one device
  double l2 = 0;                // bytes
  int major = 9, minor = 0;     // compute capability
};

// All cases of the named groups, in the order they run. `quick` keeps few. Throws InputError on an unknown group.
[[nodiscard]] std::vector<Case> plan(const std::vector<std::string>& chosen, const Machine& machine, bool quick);

// One group each; the shape's members are described with the records in docs/calibrate.md.
[[nodiscard]] std::vector<Case> launch_cases(bool quick);
[[nodiscard]] std::vector<Case> memory_cases(const Machine& machine, bool quick);
[[nodiscard]] std::vector<Case> elementwise_cases(bool quick);
[[nodiscard]] std::vector<Case> gemm_cases(const Machine& machine, bool quick);
[[nodiscard]] std::vector<Case> attention_cases(bool quick);
[[nodiscard]] std::vector<Case> metrics_cases(bool quick);
[[nodiscard]] std::vector<Case> collective_cases(const Machine& machine, bool quick);
[[nodiscard]] std::vector<Case> peer_cases(const Machine& machine, bool quick);

}  // namespace napkin::measure
