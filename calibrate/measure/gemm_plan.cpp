// The GEMM shapes: square, those of transformer layers, the skinny ones of decoding, and odd ones.
#include <algorithm>
#include <string_view>

#include "calibrate/measure/case.hpp"

namespace napkin::measure {
namespace {

struct Shape {
  int m, n, k;
};

// Results × inner of the projections of a layer: QKV, attention output, gate and up, down; and of an LM head.
struct Projection {
  int n, k;
};
constexpr Projection projections[] = {{6144, 4096},   {4096, 4096},  {28672, 4096}, {4096, 14336},   // 8B
                                      {10240, 8192},  {8192, 8192},  {57344, 8192}, {8192, 28672},   // 70B
                                      {1280, 8192},   {7168, 8192},  {8192, 3584},  {8192, 1024},    // 70B over 8
                                      {2048, 7168},   {7168, 2048},  {24576, 1536}, {7168, 16384},   // experts, latent
                                      {16032, 4096},  {5120, 5120},  {13824, 5120}, {12288, 3072}};

std::vector<Shape> shapes(bool quick) {
  std::vector<Shape> out;
  if (quick) return {{4096, 4096, 4096}, {8192, 8192, 8192}, {16, 8192, 8192}, {1024, 28672, 4096}, {1000, 1000, 1000}};
  for (const int s : {128, 256, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384}) out.push_back({s, s, s});
  for (const auto& [n, k] : projections)
    for (const int m : {1, 8, 32, 128, 512, 2048, 4096, 8192}) out.push_back({m, n, k});
  for (const int m : {2, 4, 16, 64, 256}) out.push_back({m, 8192, 8192}), out.push_back({m, 28672, 4096});
  for (const Shape& odd : {Shape{1000, 1000, 1000}, {3000, 5000, 1200}, {4104, 4104, 4104}, {8200, 2056, 8200},
                           {777, 12296, 4104}, {1536, 1536, 65536}, {64, 64, 65536}, {256, 256, 32768}, {128, 128256, 4096}})
    out.push_back(odd);
  return out;
}

Case gemm(std::string_view dtype, std::string_view layout, const Shape& s, double seconds = 0.1) {
  return {"gemm",
          {{"kind", "gemm"}, {"dtype", dtype}, {"layout", layout}, {"m", s.m}, {"n", s.n}, {"k", s.k}, {"l2", "cold"}},
          seconds};
}

bool multiple_of_16(const Shape& s) { return s.m % 16 == 0 && s.n % 16 == 0 && s.k % 16 == 0; }

}  // namespace

std::vector<Case> gemm_cases(const Machine& machine, bool quick) {
  std::vector<Case> out;
  const auto all = shapes(quick);
  // Every n-th shape, for the types and layouts of which a sample suffices.
  const auto some = [&](std::string_view dtype, std::string_view layout, std::size_t every, double largest) {
    for (std::size_t i = 0; i < all.size(); i += every) {
      const auto& s = all[i];
      if (2.0 * s.m * s.n * s.k <= largest) out.push_back(gemm(dtype, layout, s));
    }
  };
  constexpr double any = 1e15;
  some("bf16", "tn", 1, any);
  some("bf16", "nn", quick ? 5 : 3, any);
  some("bf16", "nt", quick ? 5 : 3, any);
  for (const auto& s : all)
    if (multiple_of_16(s) || s.m < 16) {
      // FP8 operands are 16-byte aligned: rows are rounded up, as frameworks do.
      out.push_back(gemm("fp8_e4m3", "tn", {std::max(s.m, 16), s.n, s.k}));
    }
  some("fp16", "tn", quick ? 5 : 4, any);
  some("tf32", "tn", quick ? 5 : 4, any);
  some("fp32", "tn", quick ? 5 : 6, 2e12);
  if (machine.major >= 10)
    for (const auto& s : all)
      if (s.m % 128 == 0 && s.n % 128 == 0 && s.k % 128 == 0)
        for (const char* dtype : {"mxfp8", "nvfp4"}) out.push_back(gemm(dtype, "tn", s));

  struct Batch {
    int batch, m, n, k;
  };
  for (const char* kind : {"bmm", "grouped_mm"})
    for (const auto& b : {Batch{8, 1024, 4096, 7168}, {8, 128, 4096, 7168}, {64, 256, 2048, 7168}, {64, 64, 4096, 2048},
                          {32, 2048, 2048, 128}, {32, 2048, 128, 2048}, {128, 16, 2048, 7168}, {256, 32, 2048, 4096}})
      if (!quick || b.m == 256)
        out.push_back({"gemm",
                       {{"kind", kind}, {"dtype", "bf16"}, {"layout", "tn"}, {"batch", b.batch}, {"m", b.m}, {"n", b.n}, {"k", b.k}, {"l2", "cold"}},
                       0.1});

  // Back to back for a second, so that clocks settle under the power limit.
  for (const char* dtype : {"bf16", "fp16", "tf32", "fp8_e4m3"})
    for (const Shape& s : {Shape{8192, 8192, 8192}, {4096, 4096, 4096}, {8192, 28672, 8192}, {4096, 28672, 4096}, {2048, 8192, 8192}}) {
      const bool first = s.m == 8192 && s.n == 8192;
      const bool wide = std::string_view(dtype) == "bf16" || std::string_view(dtype) == "fp8_e4m3";
      if (quick ? first && wide : first || wide)
        out.push_back({"gemm", {{"kind", "gemm_sustained"}, {"dtype", dtype}, {"layout", "tn"}, {"m", s.m}, {"n", s.n}, {"k", s.k}, {"l2", "warm"}}, 1.3});
    }
  return out;
}

}  // namespace napkin::measure
