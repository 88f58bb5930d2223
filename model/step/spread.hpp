// How far measured runs lie from their predictions, by class of runs: what a prediction interval is made of.
#pragma once

#include <string>
#include <string_view>

#include "model/constant.hpp"

namespace napkin {

struct Job;

// Of one figure: eight in ten measured runs of the class lie between low and high times the prediction.
struct ResidualRange {
  Constant<Scalar> low{.value = 1, .place = {}, .source = nullptr}, high{.value = 1, .place = {}, .source = nullptr};
  double nine_in_ten = 0;  // of |predicted / measured − 1|
  long long n = 0;         // runs of the class
  std::string basis;       // the class in words: "569 step times of nanotron on h100-sxm in bf16, dense"
};
inline constexpr double interval_coverage = 0.8;

struct Spread {
  ResidualRange time, memory;
};

// What a job is classed by beside its framework, machine and precision: "dense", "moe", "hybrid", or "lora" whatever the
// model.
[[nodiscard]] std::string_view workload_kind(const Job& job);

}  // namespace napkin
