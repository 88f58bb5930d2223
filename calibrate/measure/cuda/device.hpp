// RAII of what a bench holds on a device, and the one check of the runtime's errors.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>

namespace napkin::measure {

class CudaError : public std::runtime_error {
 public:
  // The context is lost: nothing more can be measured in this process.
  bool fatal;
  CudaError(const std::string& text, bool is_fatal) : std::runtime_error(text), fatal(is_fatal) {}
};

void check(cudaError_t error, std::source_location at = std::source_location::current());

// Device memory, or pinned host memory.
class Buffer {
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool host_ = false;

 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes, bool host = false);
  ~Buffer();
  Buffer(Buffer&& o) noexcept : data_(std::exchange(o.data_, nullptr)), bytes_(std::exchange(o.bytes_, 0)), host_(o.host_) {}
  Buffer& operator=(Buffer&& o) noexcept {
    std::swap(data_, o.data_), std::swap(bytes_, o.bytes_), std::swap(host_, o.host_);
    return *this;
  }
  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  // Grows to at least `bytes`; what was in it is lost.
  void reserve(std::size_t bytes);
};

class Stream {
  cudaStream_t stream_ = nullptr;

 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  Stream(Stream&& o) noexcept : stream_(std::exchange(o.stream_, nullptr)) {}
  Stream& operator=(Stream&&) = delete;
  operator cudaStream_t() const { return stream_; }  // NOLINT: the runtime's own handle
};

}  // namespace napkin::measure
