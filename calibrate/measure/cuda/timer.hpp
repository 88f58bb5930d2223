// Times from CUPTI activity records: when each kernel, copy and memset started and ended on the device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/measure/library.hpp"

namespace napkin::measure {

// CUPTI lost records: what was measured has holes, and the run fails.
class DroppedRecords : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Activity {
  std::uint32_t device = 0;
  std::uint64_t start = 0, end = 0;  // nanoseconds
  bool marker = false;               // one of our own kernels between samples
};

// One sample: everything that ran between two markers.
struct Span {
  double seconds = 0;  // first start to last end
  double busy = 0;     // sum of the durations
  int activities = 0;
};

// Activities of one device, sorted; a span begins after each marker. Spans without activity are left out.
[[nodiscard]] std::vector<Span> spans(std::vector<Activity> activities);

class Timer {
  struct Functions;
  std::unique_ptr<Functions> cupti_;
  bool on_ = false;

 public:
  explicit Timer(const std::string& libraries);
  ~Timer();
  void start();
  void stop();  // host-side figures are taken without the tracing's own cost
  // Synchronise first. All activities since the last call. Throws DroppedRecords.
  [[nodiscard]] std::vector<Activity> collect();
};

// Records are off while this lives: what host, events or counters measure is not burdened with them.
class Untraced {
  Timer& timer_;

 public:
  explicit Untraced(Timer& timer) : timer_(timer) { timer_.stop(); }
  ~Untraced() { timer_.start(); }
  Untraced(const Untraced&) = delete;
  Untraced& operator=(const Untraced&) = delete;
};

}  // namespace napkin::measure
