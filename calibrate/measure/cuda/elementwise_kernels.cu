#include <cuda_bf16.h>

#include <type_traits>

#include "calibrate/measure/cuda/kernels.hpp"

namespace napkin::measure::kernels {
namespace {

// 16 bytes of bf16.
struct alignas(16) Eight {
  __nv_bfloat162 v[4];
};
constexpr int lanes = 8, warp = 32, flat_threads = 256;

__device__ void unpack(const Eight& e, float (&f)[lanes]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 two = __bfloat1622float2(e.v[i]);
    f[2 * i] = two.x, f[2 * i + 1] = two.y;
  }
}
__device__ Eight pack(const float (&f)[lanes]) {
  Eight e;
#pragma unroll
  for (int i = 0; i < 4; ++i) e.v[i] = __floats2bfloat162_rn(f[2 * i], f[2 * i + 1]);
  return e;
}

struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Max {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
// Every thread gets the result over the block.
template <class Op>
__device__ float reduce(float v, Op op, float identity) {
  __shared__ float partial[warp];
  for (int s = warp / 2; s > 0; s /= 2) v = op(v, __shfl_xor_sync(~0U, v, s));
  if (threadIdx.x % warp == 0) partial[threadIdx.x / warp] = v;
  __syncthreads();
  const int n = (int(blockDim.x) + warp - 1) / warp;
  v = int(threadIdx.x % warp) < n ? partial[threadIdx.x % warp] : identity;
  for (int s = warp / 2; s > 0; s /= 2) v = op(v, __shfl_xor_sync(~0U, v, s));
  __syncthreads();
  return v;
}

// One block a row; the row stays in registers, `each` vectors a thread, all loaded before the first is used: a thread that
// waits for one load at a time would walk through its row. Blocks are small, at most 256 threads up to 16,384 values, so
// that several share a unit whatever the width.
constexpr int narrow_each = 4, wide_each = 8, narrow_vectors = 1024;

// Past the end of a row the last vector is read once more: loads without a condition cannot be drawn behind one another.
template <int each>
__device__ void load_row(Eight (&mine)[each], const Eight* row, int vectors) {
#pragma unroll
  for (int i = 0; i < each; ++i) mine[i] = row[min(int(i * blockDim.x + threadIdx.x), vectors - 1)];
}

template <int each>
__global__ void rms_norm_rows(const Eight* x, const Eight* weight, Eight* y, int vectors, float inverse_h) {
  Eight* out = y + std::size_t(blockIdx.x) * vectors;
  Eight mine[each], w[each];
  load_row(mine, x + std::size_t(blockIdx.x) * vectors, vectors);
  load_row(w, weight, vectors);
  float sum = 0, f[lanes], g[lanes];
#pragma unroll
  for (int i = 0; i < each; ++i) {
    unpack(mine[i], f);
    float squares = 0;
#pragma unroll
    for (const float v : f) squares += v * v;
    sum += i * blockDim.x + threadIdx.x < vectors ? squares : 0;
  }
  const float scale = rsqrtf(reduce(sum, Sum{}, 0.0F) * inverse_h + 1e-5F);
#pragma unroll
  for (int i = 0; i < each; ++i)
    if (const int at = i * blockDim.x + threadIdx.x; at < vectors) {
      unpack(mine[i], f);
      unpack(w[i], g);
#pragma unroll
      for (int l = 0; l < lanes; ++l) f[l] *= scale * g[l];
      out[at] = pack(f);
    }
}

template <int each>
__global__ void softmax_rows(const Eight* x, Eight* y, int vectors) {
  Eight* out = y + std::size_t(blockIdx.x) * vectors;
  Eight mine[each];
  load_row(mine, x + std::size_t(blockIdx.x) * vectors, vectors);
  float f[lanes], largest = -INFINITY, sum = 0;
#pragma unroll
  for (int i = 0; i < each; ++i) {
    unpack(mine[i], f);
#pragma unroll
    for (const float v : f) largest = fmaxf(largest, v);  // the last vector twice changes nothing
  }
  largest = reduce(largest, Max{}, -INFINITY);
#pragma unroll
  for (int i = 0; i < each; ++i) {
    unpack(mine[i], f);
    float part = 0;
#pragma unroll
    for (const float v : f) part += __expf(v - largest);
    sum += i * blockDim.x + threadIdx.x < vectors ? part : 0;
  }
  const float scale = 1 / reduce(sum, Sum{}, 0.0F);
#pragma unroll
  for (int i = 0; i < each; ++i)
    if (const int at = i * blockDim.x + threadIdx.x; at < vectors) {
      unpack(mine[i], f);
#pragma unroll
      for (float& v : f) v = __expf(v - largest) * scale;
      out[at] = pack(f);
    }
}

__global__ void swiglu_all(const Eight* gate_up, Eight* y, std::size_t n, unsigned vectors) {
  const std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  const std::size_t row = i / vectors, at = i % vectors;
  float g[lanes], u[lanes];
  unpack(gate_up[row * 2 * vectors + at], g);
  unpack(gate_up[row * 2 * vectors + vectors + at], u);
#pragma unroll
  for (int l = 0; l < lanes; ++l) g[l] = g[l] / (1 + __expf(-g[l])) * u[l];
  y[i] = pack(g);
}

// Halves of a head rotate together; cos_sin: rows of rope_head floats, cosines of the half, then sines.
__global__ void rope_all(const Eight* x, const float* cos_sin, Eight* y, std::size_t n, unsigned pairs_of_row) {
  constexpr int half = rope_head / 2, of_half = half / lanes;
  const std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  const std::size_t token = i / pairs_of_row, head = i / of_half;
  const int at = int(i % of_half);
  const std::size_t low = head * 2 * of_half + at, high = low + of_half;
  const float* c = cos_sin + token * rope_head + at * lanes;
  float a[lanes], b[lanes];
  unpack(x[low], a);
  unpack(x[high], b);
#pragma unroll
  for (int l = 0; l < lanes; ++l) {
    const float cosine = c[l], sine = c[half + l], first = a[l];
    a[l] = first * cosine - b[l] * sine;
    b[l] = b[l] * cosine + first * sine;
  }
  y[low] = pack(a);
  y[high] = pack(b);
}

__global__ void add_all(const Eight* x, const Eight* residual, Eight* y, std::size_t n) {
  const std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  float a[lanes], b[lanes];
  unpack(x[i], a);
  unpack(residual[i], b);
#pragma unroll
  for (int l = 0; l < lanes; ++l) a[l] += b[l];
  y[i] = pack(a);
}

// Four values a thread, so that a warp writes one piece.
__global__ void cast_all(const uint2* x, float4* y, std::size_t n) {
  const std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  const uint2 v = x[i];
  const float2 low = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162&>(v.x));
  const float2 high = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162&>(v.y));
  y[i] = {low.x, low.y, high.x, high.y};
}

__device__ void adam_one(float& w, float g, float& m, float& v, const AdamStep& s) {
  m = s.beta1 * m + (1 - s.beta1) * g;
  v = s.beta2 * v + (1 - s.beta2) * g * g;
  w -= s.rate * (m / s.correction1 / (sqrtf(v / s.correction2) + s.epsilon) + s.decay * w);
}
__global__ void adam_all(float4* weight, const float4* gradient, float4* first, float4* second, std::size_t n, AdamStep s) {
  const std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  float4 w = weight[i], m = first[i], v = second[i];
  const float4 g = gradient[i];
  adam_one(w.x, g.x, m.x, v.x, s), adam_one(w.y, g.y, m.y, v.y, s);
  adam_one(w.z, g.z, m.z, v.z, s), adam_one(w.w, g.w, m.w, v.w, s);
  weight[i] = w, first[i] = m, second[i] = v;
}

unsigned blocks(std::size_t n) { return static_cast<unsigned>((n + flat_threads - 1) / flat_threads); }
const Eight* in(const void* p) { return static_cast<const Eight*>(p); }
Eight* out(void* p) { return static_cast<Eight*>(p); }
// Vectors of a row that a thread holds, and threads of the block then, a multiple of a warp.
int row_each(int vectors) { return vectors <= narrow_vectors ? narrow_each : wide_each; }
int row_threads(int vectors) {
  const int wanted = (vectors + row_each(vectors) - 1) / row_each(vectors);
  return (wanted + warp - 1) / warp * warp;
}
template <class F>
void with_each(int vectors, F f) {
  if (row_each(vectors) == narrow_each) return f(std::integral_constant<int, narrow_each>{});
  return f(std::integral_constant<int, wide_each>{});
}

}  // namespace

void rms_norm(const void* x, const void* weight, void* y, int tokens, int h, cudaStream_t stream) {
  with_each(h / lanes, [&](auto each) {
    rms_norm_rows<each.value><<<tokens, row_threads(h / lanes), 0, stream>>>(in(x), in(weight), out(y), h / lanes, 1.0F / float(h));
  });
}
void softmax(const void* x, void* y, int tokens, int h, cudaStream_t stream) {
  with_each(h / lanes, [&](auto each) { softmax_rows<each.value><<<tokens, row_threads(h / lanes), 0, stream>>>(in(x), out(y), h / lanes); });
}
void swiglu(const void* gate_up, void* y, int tokens, int h, cudaStream_t stream) {
  const std::size_t n = std::size_t(tokens) * (h / lanes);
  swiglu_all<<<blocks(n), flat_threads, 0, stream>>>(in(gate_up), out(y), n, unsigned(h / lanes));
}
void rope(const void* x, const void* cos_sin, void* y, int tokens, int h, cudaStream_t stream) {
  const std::size_t n = std::size_t(tokens) * (h / lanes / 2);
  rope_all<<<blocks(n), flat_threads, 0, stream>>>(in(x), static_cast<const float*>(cos_sin), out(y), n, unsigned(h / lanes / 2));
}
void add(const void* x, const void* residual, void* y, int tokens, int h, cudaStream_t stream) {
  const std::size_t n = std::size_t(tokens) * (h / lanes);
  add_all<<<blocks(n), flat_threads, 0, stream>>>(in(x), in(residual), out(y), n);
}
void cast_fp32(const void* x, void* y, int tokens, int h, cudaStream_t stream) {
  const std::size_t n = std::size_t(tokens) * (h / 4);
  cast_all<<<blocks(n), flat_threads, 0, stream>>>(static_cast<const uint2*>(x), static_cast<float4*>(y), n);
}
void adam(float* weight, const float* gradient, float* first, float* second, std::size_t n, AdamStep step, cudaStream_t stream) {
  adam_all<<<blocks(n / 4), flat_threads, 0, stream>>>(reinterpret_cast<float4*>(weight), reinterpret_cast<const float4*>(gradient),
                                                       reinterpret_cast<float4*>(first), reinterpret_cast<float4*>(second), n / 4, step);
}

}  // namespace napkin::measure::kernels
