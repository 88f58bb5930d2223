#include "calibrate/measure/cuda/context.hpp"

#include <algorithm>
#include <cmath>

namespace napkin::measure {
namespace {

constexpr int warm_ups = 2;

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

Outcome Context::sample(const Launch& launch, bool cold) {
  for (int i = 0; i < warm_ups; ++i) launch(stream);
  check(cudaGetLastError());
  synchronise();
  (void)timer.collect();
  Outcome out;
  double busy = 0;
  int activities = 0;
  while (!rule.enough(out.seconds)) {
    const auto n = rule.next_batch(out.seconds);
    for (std::size_t i = 0; i < n; ++i) {
      if (cold) {
        kernels::mark_cold(sweep.data(), sweep.bytes(), stream);
      } else {
        kernels::mark(stream);
      }
      launch(stream);
    }
    check(cudaGetLastError());
    synchronise();
    const auto found = spans(of_device(timer.collect(), device));
    if (found.size() != n)
      throw std::runtime_error("asked for " + std::to_string(n) + " samples, the activity records show " + std::to_string(found.size()));
    for (const auto& s : found) {
      out.seconds.push_back(s.seconds);
      busy += s.busy / s.seconds;
      activities = std::max(activities, s.activities);
    }
  }
  out.more["timer"] = "cupti";
  out.more["kernels"] = activities;
  if (activities > 1) out.more["busy"] = std::round(1000 * busy / static_cast<double>(out.seconds.size())) / 1000;
  out.more.update(state.now());
  return out;
}

Outcome Context::sustain(const Launch& launch, double seconds) {
  for (int i = 0; i < warm_ups; ++i) kernels::mark(stream), launch(stream);
  check(cudaGetLastError());
  synchronise();
  const auto first = spans(of_device(timer.collect(), device));
  if (first.empty()) throw std::runtime_error("the activity records show no kernel");
  constexpr double most = 20000;
  const auto n = static_cast<std::size_t>(std::clamp(seconds / first.back().seconds, 3.0, most));
  for (std::size_t i = 0; i < n; ++i) kernels::mark(stream), launch(stream);
  const auto under_load = state.now();  // the queue is still full
  check(cudaGetLastError());
  synchronise();
  auto found = spans(of_device(timer.collect(), device));
  if (found.size() != n)
    throw std::runtime_error("asked for " + std::to_string(n) + " samples, the activity records show " + std::to_string(found.size()));
  Outcome out;
  constexpr double settled = 0.4;
  for (auto i = static_cast<std::size_t>(settled * static_cast<double>(n)); i < n; ++i) out.seconds.push_back(found[i].seconds);
  double total = 0;
  for (const auto& s : found) total += s.seconds;
  out.more["timer"] = "cupti";
  out.more["kernels"] = found.back().activities;
  out.more["seconds"] = std::round(1000 * total) / 1000;
  out.more["first_s"] = found.front().seconds;
  out.more.update(under_load);
  return out;
}

}  // namespace napkin::measure
