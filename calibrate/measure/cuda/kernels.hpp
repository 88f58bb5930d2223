// Our own kernels, behind plain functions that launch them. All are asynchronous on the stream; an error of the launch
// is found by the next check().
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace napkin::measure::kernels {

// Between samples: the timer cuts there. `mark` does nothing; `mark_cold` reads `bytes` so that L2 holds only clean lines
// of `buffer`.
void mark(cudaStream_t stream);
void mark_cold(const void* buffer, std::size_t bytes, cudaStream_t stream);
// A kernel that does nothing, and one that keeps the device busy for about `nanoseconds`.
void empty(cudaStream_t stream);
void spin(std::uint64_t nanoseconds, cudaStream_t stream);

enum class Type { bf16, fp16, fp32, fp8_e4m3, bytes };
// About standard normal values, all different; `bytes`: random bits. `bytes` is rounded down to whole elements.
void fill_random(Type type, void* data, std::size_t bytes, std::uint64_t seed, cudaStream_t stream);
// Scales of block formats: every byte set to `value`.
void fill_bytes(std::uint8_t value, void* data, std::size_t bytes, cudaStream_t stream);

// Arrays of `bytes` each (a multiple of 16): b = a; a = b + s c.
void read(const void* a, void* sink, std::size_t bytes, cudaStream_t stream);
void write(void* a, std::size_t bytes, cudaStream_t stream);
void copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream);
void triad(void* a, const void* b, const void* c, std::size_t bytes, cudaStream_t stream);
// Reads 4 bytes every `stride` bytes.
void read_strided(const void* a, void* sink, std::size_t bytes, int stride, cudaStream_t stream);

// Element-wise operators on bf16 rows of h values (h a multiple of 8), arithmetic in fp32.
void rms_norm(const void* x, const void* weight, void* y, int tokens, int h, cudaStream_t stream);
void softmax(const void* x, void* y, int tokens, int h, cudaStream_t stream);
void swiglu(const void* gate_up, void* y, int tokens, int h, cudaStream_t stream);  // rows of gate[h], up[h]
void rope(const void* x, const void* cos_sin, void* y, int tokens, int h, cudaStream_t stream);  // heads of 128
void add(const void* x, const void* residual, void* y, int tokens, int h, cudaStream_t stream);
void cast_fp32(const void* x, void* y, int tokens, int h, cudaStream_t stream);
// Adam with decoupled weight decay on fp32 values.
struct AdamStep {
  float rate = 1e-3F, beta1 = 0.9F, beta2 = 0.95F, epsilon = 1e-8F, decay = 0.1F, correction1 = 0.1F, correction2 = 0.05F;
};
void adam(float* weight, const float* gradient, float* first, float* second, std::size_t n, AdamStep step, cudaStream_t stream);
inline constexpr int rope_head = 128;

}  // namespace napkin::measure::kernels
