// Predicted against measured, by group.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "calibrate/samples/residual.hpp"
#include "calibrate/samples/samples.hpp"

namespace napkin::fit {

struct Comparison {
  std::string group;   // "gemm bf16", "all gemm", "all-reduce", "all-reduce, 8 ranks"
  std::string sizes;   // "all", "100 us and more", "1 MiB and more", "to 4 KiB"
  Residual residual;
  std::string worst;   // shape of the largest error
  double worst_measured = 0, worst_predicted = 0;  // seconds
};

struct CheckReport {
  std::vector<Comparison> groups;               // the largest median first
  std::size_t short_calls = 0;                  // host-timed, too short to tell the kernel from the call
  std::map<std::string, std::size_t> refused;   // samples the machine's file cannot predict, by reason
};

// Gathers comparisons, of one machine's file or of several (each with the share that its fit has not seen).
class Comparer {
 public:
  // `held_out`: compare only this share of the shapes, drawn as the fit draws it; 0 = all. `regime`: of kernels that
  // state none.
  void add(const Hardware& h, const Samples& samples, HeldOut held_out, Regime regime);
  [[nodiscard]] CheckReport report() &&;

 private:
  struct Pair {
    std::string shape;
    double measured, predicted;
    [[nodiscard]] double error() const { return predicted / measured - 1; }
  };
  using Name = std::pair<std::string, std::string>;
  CheckReport out_;
  std::map<Name, std::vector<Pair>> groups_;

  void add(const std::string& group, const std::string& large, bool is_large, const Pair& p);
  static Comparison summarise(const Name& name, const std::vector<Pair>& pairs);
};
[[nodiscard]] CheckReport check(const Hardware& h, const Samples& samples, HeldOut held_out, Regime regime);

}  // namespace napkin::fit
