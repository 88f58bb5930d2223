// What every bench of one device shares: a stream, operands, the timer, and the loop that takes samples.
#pragma once

#include <functional>
#include <string>

#include "calibrate/measure/case.hpp"
#include "calibrate/measure/cuda/device.hpp"
#include "calibrate/measure/cuda/kernels.hpp"
#include "calibrate/measure/cuda/state.hpp"
#include "calibrate/measure/cuda/timer.hpp"
#include "calibrate/measure/record.hpp"

namespace napkin::measure {

// Memory handed out in pieces that all die with the next case; inputs hold random values of one type.
class Arena {
  Buffer buffer_;
  std::size_t used_ = 0;
  kernels::Type type_ = kernels::Type::bytes;
  bool random_, filled_ = false;

 public:
  explicit Arena(bool random) : random_(random) {}
  // Room for the case's operands: the sum of their bytes, each rounded up to 256.
  void begin(std::size_t bytes, kernels::Type type, cudaStream_t stream);
  [[nodiscard]] void* take(std::size_t bytes);
  [[nodiscard]] static std::size_t rounded(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
  void release() { *this = Arena(random_); }
};

using Launch = std::function<void(cudaStream_t)>;

struct Context {
  int device = 0;
  std::string libraries;
  Timer& timer;
  State& state;
  std::size_t l2;
  StopRule rule;
  Stream stream{};
  Arena inputs{true}, results{false};
  Buffer sweep{};  // read through to empty L2 of what a sample left there
  double full_mhz = 0;  // the highest SM clock seen when woken; 0: unknown

  Context(int ordinal, std::string folders, Timer& t, State& s, std::size_t l2_bytes);
  // An idle device takes a while to leave its lowest clocks.
  void wake();
  // Samples of what `launch` enqueues; `cold` empties L2 before each. Taken in short bursts with rests between them, so
  // that the power limit does not hold the clocks down; a burst under lowered clocks is discarded, a few times.
  // Adds kernels, busy share, clocks, power, bursts discarded.
  [[nodiscard]] Outcome sample(const Launch& launch, bool cold);
  // Back to back for `seconds`, so that clocks settle under the power limit; the samples are those of the last 60 %,
  // of which `window` at a time are averaged when there are very many.
  [[nodiscard]] Outcome sustain(const Launch& launch, double seconds);
  void synchronise() const { check(cudaStreamSynchronize(stream)); }
};

[[nodiscard]] inline bool is_cold(const Json& shape) { return shape.value("l2", "cold") == "cold"; }

}  // namespace napkin::measure
