// A line on stderr that says how far a run is and how long it will still take.
#pragma once

#include <chrono>
#include <string>

namespace napkin::measure {

// Time left, from the plan's seconds and how they compared with the clock so far.
[[nodiscard]] double seconds_left(double planned_total, double planned_done, double elapsed);
// "[#####-----] 120/300 gemm 1:05 left"
[[nodiscard]] std::string progress_line(std::size_t done, std::size_t total, const std::string& what, double left);

class Progress {
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point shown_{};
  std::string group_;
  std::size_t total_;
  double planned_, planned_done_ = 0;
  bool terminal_;

 public:
  Progress(std::size_t total, double planned_seconds);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  // On a terminal the line is rewritten; elsewhere there is one line a group and one every few seconds.
  void show(std::size_t done, const std::string& group);
  void finished(double planned_seconds) { planned_done_ += planned_seconds; }
  [[nodiscard]] double elapsed() const;
};

}  // namespace napkin::measure
