#include "cli/executor.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace napkin::cli {

Executor threads(unsigned count) {
  if (count == 0) count = std::max(1U, std::thread::hardware_concurrency());
  return [count](std::size_t n, const std::function<void(std::size_t)>& body) {
    std::atomic<std::size_t> next{0};
    std::exception_ptr failed;
    std::mutex failing;
    const auto work = [&] {
      for (std::size_t i = next++; i < n; i = next++) {
        try {
          body(i);
        } catch (...) {
          const std::lock_guard lock(failing);
          if (!failed) failed = std::current_exception();
          next = n;
        }
      }
    };
    {
      std::vector<std::jthread> pool;
      for (std::size_t t = 1; t < std::min<std::size_t>(count, n); ++t) pool.emplace_back(work);
      work();
    }
    if (failed) std::rethrow_exception(failed);
  };
}

}  // namespace napkin::cli
