#include "calibrate/measure/cuda/context.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace napkin::measure {
namespace {

constexpr int warm_ups = 2;
constexpr double rests = 3;       // idle for so many times as long as a burst lasted: a quarter of the power
constexpr double lowered = 0.97;  // of the full SM clock: below it, the clock is held down
constexpr double long_rest = 0.05;
constexpr int most_discarded = 4;

void rest(double seconds) {
  constexpr double negligible = 1e-3;
  if (seconds > negligible) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

// Seconds from the first start to the last end.
double length(const std::vector<Activity>& all) {
  std::uint64_t first = ~std::uint64_t{0}, last = 0;
  for (const auto& a : all) first = std::min(first, a.start), last = std::max(last, a.end);
  return last > first ? static_cast<double>(last - first) * 1e-9 : 0;
}

std::vector<Activity> of_device(std::vector<Activity> all, int device) {
  std::erase_if(all, [device](const Activity& a) { return a.device != static_cast<std::uint32_t>(device); });
  return all;
}

}  // namespace

void Arena::begin(std::size_t bytes, kernels::Type type, cudaStream_t stream) {
  used_ = 0;
  if (bytes > buffer_.bytes()) {
    // Sizes of a plan grow step by step: some room ahead saves allocations.
    constexpr std::size_t step = std::size_t{1} << 28;
    check(cudaStreamSynchronize(stream));
    buffer_.reserve((bytes + step - 1) / step * step);
    filled_ = false;
  }
  if (!random_ || (filled_ && type_ == type)) return;
  constexpr std::uint64_t seed = 20;
  kernels::fill_random(type, buffer_.data(), buffer_.bytes(), seed, stream);
  check(cudaGetLastError());
  type_ = type;
  filled_ = true;
}

void* Arena::take(std::size_t bytes) {
  if (used_ + bytes > buffer_.bytes()) throw std::logic_error("a bench takes more than it asked for");
  auto* at = static_cast<std::byte*>(buffer_.data()) + used_;
  used_ += rounded(bytes);
  return at;
}

Context::Context(int ordinal, std::string folders, Timer& t, State& s, std::size_t l2_bytes)
    : device(ordinal), libraries(std::move(folders)), timer(t), state(s), l2(l2_bytes), sweep(2 * l2_bytes) {
  constexpr std::uint64_t seed = 1;
  kernels::fill_random(kernels::Type::bytes, sweep.data(), sweep.bytes(), seed, stream);
  check(cudaGetLastError());
}

void Context::wake() {
  constexpr int sweeps = 2000;
  for (int i = 0; i < sweeps; ++i) kernels::mark_cold(sweep.data(), sweep.bytes(), stream);
  full_mhz = std::max(full_mhz, state.sm_mhz());
  synchronise();
  full_mhz = std::max(full_mhz, state.sm_mhz());
  (void)timer.collect();
}

Outcome Context::sample(const Launch& launch, bool cold) {
  for (int i = 0; i < warm_ups; ++i) launch(stream);
  check(cudaGetLastError());
  synchronise();
  const double expected = length(of_device(timer.collect(), device)) / warm_ups;
  Outcome out;
  double busy = 0, least_mhz = full_mhz;
  int activities = 0, discarded = 0;
  while (!rule.enough(out.seconds)) {
    const auto n = rule.next_batch(out.seconds, expected);
    for (std::size_t i = 0; i < n; ++i) {
      if (cold) {
        kernels::mark_cold(sweep.data(), sweep.bytes(), stream);
      } else {
        kernels::mark(stream);
      }
      launch(stream);
    }
    check(cudaGetLastError());
    const double mhz = full_mhz > 0 ? state.sm_mhz() : 0;  // while the burst runs, if it is long enough to matter
    synchronise();
    const auto found = spans(of_device(timer.collect(), device));
    if (found.size() != n)
      throw std::runtime_error("asked for " + std::to_string(n) + " samples, the activity records show " + std::to_string(found.size()));
    double spent = 0;
    for (const auto& s : found) spent += s.seconds;
    const bool held_down = mhz < lowered * full_mhz;
    if (held_down && discarded < most_discarded) {
      ++discarded;
      rest(long_rest * discarded);
      continue;
    }
    least_mhz = std::min(least_mhz, mhz);
    for (const auto& s : found) {
      out.seconds.push_back(s.seconds);
      busy += s.busy / s.seconds;
      activities = std::max(activities, s.activities);
    }
    rest(rests * spent);
  }
  out.more["timer"] = "cupti";
  out.more["kernels"] = activities;
  if (activities > 1) out.more["busy"] = std::round(1000 * busy / static_cast<double>(out.seconds.size())) / 1000;
  out.more.update(state.now());
  if (least_mhz > 0) out.more["sm_mhz"] = least_mhz;
  if (discarded > 0) out.more["discarded"] = discarded;
  if (least_mhz < lowered * full_mhz) out.more["held_down"] = true;
  return out;
}

Outcome Context::sustain(const Launch& launch, double seconds) {
  for (int i = 0; i < warm_ups; ++i) kernels::mark(stream), launch(stream);
  check(cudaGetLastError());
  synchronise();
  const auto first = spans(of_device(timer.collect(), device));
  if (first.empty()) throw std::runtime_error("the activity records show no kernel");
  constexpr double most = 200000;
  const auto n = static_cast<std::size_t>(std::clamp(seconds / first.back().seconds, 3.0, most));
  for (std::size_t i = 0; i < n; ++i) kernels::mark(stream), launch(stream);
  const auto under_load = state.now();  // the queue is still full
  check(cudaGetLastError());
  synchronise();
  auto found = spans(of_device(timer.collect(), device));
  if (found.size() != n)
    throw std::runtime_error("asked for " + std::to_string(n) + " samples, the activity records show " + std::to_string(found.size()));
  Outcome out;
  constexpr double settled = 0.4, kept = 1000;
  const auto start = static_cast<std::size_t>(settled * static_cast<double>(n));
  const auto window = static_cast<std::size_t>(std::ceil(static_cast<double>(n - start) / kept));
  for (auto i = start; i + window <= n; i += window) {
    double sum = 0;
    for (auto j = i; j < i + window; ++j) sum += found[j].seconds;
    out.seconds.push_back(sum / static_cast<double>(window));
  }
  double total = 0;
  for (const auto& s : found) total += s.seconds;
  out.more["timer"] = "cupti";
  out.more["kernels"] = found.back().activities;
  out.more["seconds"] = std::round(1000 * total) / 1000;
  out.more["window"] = window;
  out.more["first_s"] = found.front().seconds;
  out.more.update(under_load);
  return out;
}

}  // namespace napkin::measure
