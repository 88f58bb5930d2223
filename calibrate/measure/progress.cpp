#include "calibrate/measure/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace napkin::measure {

double seconds_left(double planned_total, double planned_done, double elapsed) {
  const double rest = std::max(0.0, planned_total - planned_done);
  // Until a tenth of the plan is done, the plan is believed more than the clock.
  const double seen = planned_done > 0 ? elapsed / planned_done : 1;
  const double trust = planned_total > 0 ? std::min(1.0, 10 * planned_done / planned_total) : 1;
  return rest * (trust * seen + (1 - trust));
}

std::string progress_line(std::size_t done, std::size_t total, const std::string& what, double left) {
  constexpr std::size_t width = 20;
  const std::size_t full = total == 0 ? width : width * done / total;
  const auto s = std::lround(left);
  return fmt::format("[{}{}] {}/{} {} {}:{:02} left", std::string(full, '#'), std::string(width - full, '-'), done, total,
                     what, s / 60, s % 60);
}

Progress::Progress(std::size_t total, double planned_seconds)
    : total_(total), planned_(planned_seconds), terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (terminal_) std::fputs("\r\x1b[K", stderr);
}

double Progress::elapsed() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Progress::show(std::size_t done, const std::string& group) {
  const auto now = std::chrono::steady_clock::now();
  const auto pause = terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(5000);
  if (group == group_ && now - shown_ < pause) return;
  shown_ = now;
  group_ = group;
  const auto line = progress_line(done, total_, group, seconds_left(planned_, planned_done_, elapsed()));
  if (terminal_) {
    fmt::print(stderr, "\r\x1b[K{}", line);
  } else {
    fmt::print(stderr, "napkin: {}\n", line);
  }
  std::fflush(stderr);
}

}  // namespace napkin::measure
