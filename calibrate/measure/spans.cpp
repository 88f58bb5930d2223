#include <algorithm>

#include "calibrate/measure/cuda/timer.hpp"

namespace napkin::measure {

std::vector<Span> spans(std::vector<Activity> activities) {
  std::sort(activities.begin(), activities.end(), [](const Activity& a, const Activity& b) { return a.start < b.start; });
  constexpr double nanosecond = 1e-9;
  std::vector<Span> out;
  std::uint64_t first = 0, last = 0;
  double busy = 0;
  int count = 0;
  const auto close = [&] {
    if (count > 0) out.push_back({static_cast<double>(last - first) * nanosecond, busy * nanosecond, count});
    count = 0;
    busy = 0;
    last = 0;
  };
  bool open = false;  // what runs before the first marker is not a sample
  for (const auto& a : activities) {
    if (a.marker) {
      close();
      open = true;
    } else if (open) {
      if (count == 0) first = a.start;
      last = std::max(last, a.end);
      busy += static_cast<double>(a.end - a.start);
      ++count;
    }
  }
  close();
  return out;
}

}  // namespace napkin::measure
