// One bench a group: prepares a case's operands, and measures it.
#pragma once

#include <memory>
#include <string_view>

#include "calibrate/measure/cuda/context.hpp"

namespace napkin::measure {

// The kernel of a case, to be launched at will until the next call, and what it should move and compute.
struct Work {
  Launch launch;
  Json more;  // moved, flops
};

class World;

class Bench {
 public:
  virtual ~Bench() = default;
  // Throws Unsupported when the machine cannot run the case, CudaError when it failed.
  [[nodiscard]] virtual Outcome measure(const Case& c) = 0;
  // What the metrics group counts. Unsupported where there is no such thing.
  [[nodiscard]] virtual Work prepare(const Case& c);
};

// Sampled, or under "regime": "sustained" run back to back for "settle_s" seconds; `more` of the work is recorded with it.
[[nodiscard]] Outcome measured(Context& context, const Case& c, const Work& work);

[[nodiscard]] std::unique_ptr<Bench> launch_bench(Context& context);
[[nodiscard]] std::unique_ptr<Bench> memory_bench(Context& context);
[[nodiscard]] std::unique_ptr<Bench> elementwise_bench(Context& context);
[[nodiscard]] std::unique_ptr<Bench> gemm_bench(Context& context);
[[nodiscard]] std::unique_ptr<Bench> attention_bench(Context& context);
[[nodiscard]] std::unique_ptr<Bench> metrics_bench(Context& context);
[[nodiscard]] std::unique_ptr<Bench> peer_bench(Context& context, const std::vector<int>& devices);
[[nodiscard]] std::unique_ptr<Bench> collective_bench(Context& context, const std::vector<int>& devices, const World& world);

// "2.28.9" of the library found at run time, "" without one.
[[nodiscard]] std::string nccl_version(const std::string& libraries);
[[nodiscard]] std::string cublaslt_version(const std::string& libraries);
[[nodiscard]] std::string cudnn_version(const std::string& libraries);

}  // namespace napkin::measure
