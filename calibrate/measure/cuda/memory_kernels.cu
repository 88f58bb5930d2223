#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "calibrate/measure/cuda/kernels.hpp"

// The timer knows the markers by the beginning of their names.
extern "C" __global__ void napkin_mark() {}
extern "C" __global__ void napkin_mark_cold(const uint4* data, std::size_t n, unsigned never) {
  unsigned sum = 0;
  for (std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x; i < n; i += std::size_t(gridDim.x) * blockDim.x) {
    const uint4 v = data[i];
    sum += v.x ^ v.y ^ v.z ^ v.w;
  }
  if (sum == never) asm volatile("trap;");  // keeps the loads
}
extern "C" __global__ void napkin_empty() {}

namespace napkin::measure::kernels {
namespace {

constexpr int threads = 256;

__device__ std::uint64_t now() {
  std::uint64_t t;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  return t;
}
__global__ void spin_for(std::uint64_t nanoseconds) {
  const std::uint64_t start = now();
  while (now() - start < nanoseconds) {
  }
}

__device__ std::uint32_t hash(std::uint64_t x) {
  x ^= x >> 33, x *= 0xff51afd7ed558ccdULL, x ^= x >> 33, x *= 0xc4ceb9fe1a85ec53ULL, x ^= x >> 33;
  return static_cast<std::uint32_t>(x);
}
// Sum of four uniform values, scaled to unit variance.
__device__ float normal(std::uint64_t i) {
  const std::uint32_t a = hash(2 * i), b = hash(2 * i + 1);
  const float sum = float(a & 0xffff) + float(a >> 16) + float(b & 0xffff) + float(b >> 16);
  return (sum / 65536.0F - 2.0F) * 1.7320508F;
}
template <class T>
__device__ T from_float(float v) {
  return T(v);
}

template <class T>
__global__ void fill(T* data, std::size_t n, std::uint64_t seed) {
  for (std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x; i < n; i += std::size_t(gridDim.x) * blockDim.x)
    data[i] = from_float<T>(normal(i + (seed << 40)));
}
__global__ void fill_bits(std::uint32_t* data, std::size_t n, std::uint64_t seed) {
  for (std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x; i < n; i += std::size_t(gridDim.x) * blockDim.x)
    data[i] = hash(i + (seed << 40));
}

// Blocks for n items of work of `per_thread` each; large sizes get one pass without a loop over the grid.
unsigned blocks(std::size_t n, int per_thread) {
  const std::size_t wanted = (n + std::size_t(threads) * per_thread - 1) / (std::size_t(threads) * per_thread);
  return static_cast<unsigned>(wanted < 1 ? 1 : wanted > 0x7fffffff ? 0x7fffffff : wanted);
}

// Each block handles `unroll` consecutive tiles of its threads: loads in flight, all coalesced.
constexpr int unroll = 4;
template <class F>
__device__ void tiles(std::size_t n, F f) {
  const std::size_t start = blockIdx.x * std::size_t(threads) * unroll + threadIdx.x;
#pragma unroll
  for (int u = 0; u < unroll; ++u)
    if (const std::size_t i = start + std::size_t(u) * threads; i < n) f(i);
}

__global__ void __launch_bounds__(threads) read_all(const uint4* a, unsigned* sink, std::size_t n) {
  const std::size_t start = blockIdx.x * std::size_t(threads) * unroll + threadIdx.x;
  unsigned sum = 0;
  uint4 v[unroll];
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    const std::size_t i = start + std::size_t(u) * threads;
    v[u] = i < n ? a[i] : uint4{};
  }
#pragma unroll
  for (int u = 0; u < unroll; ++u) sum += v[u].x ^ v[u].y ^ v[u].z ^ v[u].w;
  if (sum == 0x9e3779b9U) *sink = sum;  // seldom: the loads cannot be left out
}
__global__ void __launch_bounds__(threads) write_all(uint4* a, std::size_t n, unsigned salt) {
  tiles(n, [&](std::size_t i) {
    const auto v = static_cast<unsigned>(i) * 2654435761U ^ salt;
    a[i] = {v, v ^ 1, v ^ 2, v ^ 3};
  });
}
__global__ void __launch_bounds__(threads) copy_all(uint4* to, const uint4* from, std::size_t n) {
  const std::size_t start = blockIdx.x * std::size_t(threads) * unroll + threadIdx.x;
  uint4 v[unroll];
#pragma unroll
  for (int u = 0; u < unroll; ++u)
    if (const std::size_t i = start + std::size_t(u) * threads; i < n) v[u] = from[i];
#pragma unroll
  for (int u = 0; u < unroll; ++u)
    if (const std::size_t i = start + std::size_t(u) * threads; i < n) to[i] = v[u];
}
__global__ void __launch_bounds__(threads) triad_all(float4* a, const float4* b, const float4* c, std::size_t n) {
  const std::size_t start = blockIdx.x * std::size_t(threads) * unroll + threadIdx.x;
  float4 x[unroll], y[unroll];
#pragma unroll
  for (int u = 0; u < unroll; ++u)
    if (const std::size_t i = start + std::size_t(u) * threads; i < n) x[u] = b[i], y[u] = c[i];
#pragma unroll
  for (int u = 0; u < unroll; ++u)
    if (const std::size_t i = start + std::size_t(u) * threads; i < n) {
      constexpr float s = 3;
      a[i] = {x[u].x + s * y[u].x, x[u].y + s * y[u].y, x[u].z + s * y[u].z, x[u].w + s * y[u].w};
    }
}
__global__ void __launch_bounds__(threads) read_every(const unsigned* a, unsigned* sink, std::size_t n, std::size_t step) {
  unsigned sum = 0;
  tiles(n, [&](std::size_t i) { sum += a[i * step]; });
  if (sum == 0x9e3779b9U) *sink = sum;
}

template <class T>
void fill_as(void* data, std::size_t bytes, std::uint64_t seed, cudaStream_t stream) {
  fill<T><<<4096, threads, 0, stream>>>(static_cast<T*>(data), bytes / sizeof(T), seed);
}

}  // namespace

void mark(cudaStream_t stream) { napkin_mark<<<1, 1, 0, stream>>>(); }
void mark_cold(const void* buffer, std::size_t bytes, cudaStream_t stream) {
  napkin_mark_cold<<<2048, threads, 0, stream>>>(static_cast<const uint4*>(buffer), bytes / sizeof(uint4), 0x9e3779b9U);
}
void empty(cudaStream_t stream) { napkin_empty<<<1, 1, 0, stream>>>(); }
void spin(std::uint64_t nanoseconds, cudaStream_t stream) { spin_for<<<1, 1, 0, stream>>>(nanoseconds); }

void fill_random(Type type, void* data, std::size_t bytes, std::uint64_t seed, cudaStream_t stream) {
  switch (type) {
    case Type::bf16: return fill_as<__nv_bfloat16>(data, bytes, seed, stream);
    case Type::fp16: return fill_as<__half>(data, bytes, seed, stream);
    case Type::fp32: return fill_as<float>(data, bytes, seed, stream);
    case Type::fp8_e4m3: return fill_as<__nv_fp8_e4m3>(data, bytes, seed, stream);
    case Type::bytes: fill_bits<<<4096, threads, 0, stream>>>(static_cast<std::uint32_t*>(data), bytes / 4, seed);
  }
}
void fill_bytes(std::uint8_t value, void* data, std::size_t bytes, cudaStream_t stream) {
  (void)cudaMemsetAsync(data, value, bytes, stream);
}

void read(const void* a, void* sink, std::size_t bytes, cudaStream_t stream) {
  const std::size_t n = bytes / sizeof(uint4);
  read_all<<<blocks(n, unroll), threads, 0, stream>>>(static_cast<const uint4*>(a), static_cast<unsigned*>(sink), n);
}
void write(void* a, std::size_t bytes, cudaStream_t stream) {
  const std::size_t n = bytes / sizeof(uint4);
  write_all<<<blocks(n, unroll), threads, 0, stream>>>(static_cast<uint4*>(a), n, 0x85ebca6bU);
}
void copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  const std::size_t n = bytes / sizeof(uint4);
  copy_all<<<blocks(n, unroll), threads, 0, stream>>>(static_cast<uint4*>(to), static_cast<const uint4*>(from), n);
}
void triad(void* a, const void* b, const void* c, std::size_t bytes, cudaStream_t stream) {
  const std::size_t n = bytes / sizeof(float4);
  triad_all<<<blocks(n, unroll), threads, 0, stream>>>(static_cast<float4*>(a), static_cast<const float4*>(b),
                                                       static_cast<const float4*>(c), n);
}
void read_strided(const void* a, void* sink, std::size_t bytes, int stride, cudaStream_t stream) {
  const std::size_t n = bytes / static_cast<std::size_t>(stride);
  read_every<<<blocks(n, unroll), threads, 0, stream>>>(static_cast<const unsigned*>(a), static_cast<unsigned*>(sink), n,
                                                        static_cast<std::size_t>(stride) / sizeof(unsigned));
}

}  // namespace napkin::measure::kernels
