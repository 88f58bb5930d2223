#include "calibrate/measure/cuda/device.hpp"

#include <filesystem>

namespace napkin::measure {

void check(cudaError_t error, std::source_location at) {
  if (error == cudaSuccess) return;
  (void)cudaGetLastError();  // recoverable errors are forgotten
  // A lost context answers every later call with the same error.
  const bool fatal = error != cudaErrorMemoryAllocation && cudaDeviceSynchronize() != cudaSuccess;
  throw CudaError(std::filesystem::path(at.file_name()).filename().string() + ':' + std::to_string(at.line()) + ": " +
                      cudaGetErrorName(error) + ": " + cudaGetErrorString(error),
                  fatal);
}

Buffer::Buffer(std::size_t bytes, bool host) : bytes_(bytes), host_(host) {
  if (bytes == 0) return;
  check(host ? cudaMallocHost(&data_, bytes) : cudaMalloc(&data_, bytes));
}

Buffer::~Buffer() {
  if (data_ == nullptr) return;
  if (host_) {
    cudaFreeHost(data_);
  } else {
    cudaFree(data_);
  }
}

void Buffer::reserve(std::size_t bytes) {
  if (bytes <= bytes_) return;
  const bool host = host_;
  *this = Buffer();  // the old one goes first: both together might not fit
  *this = Buffer(bytes, host);
}

}  // namespace napkin::measure
