// The GEMM shapes: square, those of transformer layers in all three products of training, the skinny ones of decoding,
// and odd ones; batched, grouped, and back to back until the clocks settle.
#include <algorithm>
#include <string_view>

#include "calibrate/measure/case.hpp"

namespace napkin::measure {
namespace {

struct Shape {
  int m, n, k;
};
constexpr double flops(const Shape& s) { return 2.0 * s.m * s.n * s.k; }

// Results × inner of the projections of a layer, whole or cut over tensor-parallel ranks; and of an LM head.
struct Projection {
  int n, k;
};
constexpr Projection projections[] = {
    {2304, 768},    {3072, 768},    {768, 3072},                                     // 125M
    {6144, 2048},   {8192, 2048},   {2048, 8192},                                    // 1B
    {6144, 4096},   {4096, 4096},   {28672, 4096},  {4096, 14336},                   // 8B
    {12288, 4096},  {22016, 4096},  {4096, 11008},                                   // 7B, a head a key
    {4608, 3584},   {37888, 3584},  {3584, 18944},                                   // 7B, hidden 28 · 128
    {5120, 5120},   {15360, 5120},  {27648, 5120},  {5120, 13824},                   // 13B
    {10240, 8192},  {8192, 8192},   {57344, 8192},  {8192, 28672},                   // 70B
    {1280, 8192},   {7168, 8192},   {8192, 3584},   {8192, 1024},                    // 70B over 8
    {4608, 12288},  {6144, 12288},  {12288, 1536},  {12288, 6144},  {12288, 12288},  // 175B over 8
    {2304, 16384},  {13312, 16384}, {16384, 6656},                                   // 405B over 8
    {4096, 7168},   {7168, 2048},   {24576, 1536},  {7168, 16384},  {32768, 512},    // experts, latent attention
    {16032, 4096},  {12288, 3072}};
constexpr int rows[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};
constexpr double largest_product = 8e12;  // FLOPs: 10 ms in bf16, above which nothing new is seen

std::vector<Shape> shapes(bool quick) {
  if (quick) return {{4096, 4096, 4096}, {8192, 8192, 8192}, {16, 8192, 8192}, {1024, 28672, 4096}, {1000, 1000, 1000}};
  std::vector<Shape> out;
  for (const int s : {128, 256, 384, 512, 768, 1024, 1536, 2048, 2560, 3072, 4096, 5120, 6144, 8192, 10240, 12288, 16384}) out.push_back({s, s, s});
  for (const auto& [n, k] : projections)
    for (const int m : rows)
      if (flops({m, n, k}) <= largest_product) out.push_back({m, n, k});
  for (const Shape& odd : {Shape{1000, 1000, 1000}, {3000, 5000, 1200}, {4104, 4104, 4104}, {8200, 2056, 8200}, {777, 12296, 4104},
                           {1111, 4096, 4096}, {3333, 8192, 8192}, {5000, 28672, 4096}, {6001, 6144, 4096}, {100, 8192, 8192}, {300, 4096, 14336},
                           {2047, 2048, 2048}, {2049, 2048, 2048}, {4095, 4096, 4096}, {4097, 4096, 4096},
                           {1536, 1536, 65536}, {64, 64, 65536}, {256, 256, 32768}, {512, 512, 131072}, {65536, 512, 512}, {65536, 64, 4096}, {128, 128256, 4096},
                           {4096, 128256, 4096}, {2048, 50304, 768}, {8192, 151936, 1024}})
    out.push_back(odd);
  return out;
}

// What the weights' gradient and the inputs' gradient of a projection multiply.
std::vector<Shape> gradients(bool of_weights) {
  std::vector<Shape> out;
  for (const auto& [n, k] : projections)
    for (const int tokens : {2048, 4096, 8192}) {
      const Shape s = of_weights ? Shape{n, k, tokens} : Shape{tokens, k, n};
      if (flops(s) <= largest_product) out.push_back(s);
    }
  return out;
}

bool is_fp8(std::string_view dtype) { return dtype == "fp8_e4m3"; }

Case gemm(std::string_view dtype, std::string_view layout, const Shape& s, const char* kind = "gemm") {
  Json shape{{"kind", kind}, {"dtype", dtype}, {"layout", layout}, {"m", s.m}, {"n", s.n}, {"k", s.k}, {"l2", "cold"}};
  if (is_fp8(dtype)) shape["fast_accumulation"] = std::string_view(kind) == "gemm";
  const double slow = dtype == "fp32" ? 10 : 1;
  return {"gemm", std::move(shape), 0.05 + slow * flops(s) / 2e13};
}

// FP8 operands are 16-byte aligned: rows are rounded up, as frameworks do.
std::vector<Shape> aligned(const std::vector<Shape>& all) {
  std::vector<Shape> out;
  for (const auto& s : all)
    if (s.n % 16 == 0 && s.k % 16 == 0) out.push_back({(s.m + 15) / 16 * 16, s.n, s.k});
  return out;
}

void add_batches(std::vector<Case>& out, bool quick) {
  struct Batch {
    int batch, m, n, k;
  };
  for (const char* kind : {"bmm", "grouped_mm"})
    for (const auto& b : {Batch{8, 1024, 4096, 7168}, {8, 128, 4096, 7168}, {8, 512, 14336, 4096}, {8, 2048, 14336, 4096}, {8, 16, 14336, 4096},
                          {64, 256, 2048, 7168}, {64, 64, 4096, 2048}, {64, 64, 2048, 7168}, {64, 512, 7168, 2048}, {16, 1024, 8192, 5120},
                          {32, 2048, 2048, 128}, {32, 2048, 128, 2048}, {128, 16, 2048, 7168}, {128, 128, 1536, 4096}, {256, 32, 2048, 4096}, {256, 8, 4096, 7168}})
      if (!quick || (b.batch == 64 && b.m == 256))
        out.push_back({"gemm",
                       {{"kind", kind}, {"dtype", "bf16"}, {"layout", "tn"}, {"batch", b.batch}, {"m", b.m}, {"n", b.n}, {"k", b.k}, {"l2", "cold"}},
                       0.1});
}

// Back to back until clocks have settled under the power limit: what a training step finds.
void add_sustained(std::vector<Case>& out, bool quick) {
  const double settle = quick ? 1 : 2;
  const auto add = [&](const char* kind, std::string_view dtype, const Shape& s) {
    auto c = gemm(dtype, "tn", s, kind);
    c.shape["l2"] = "warm";
    if (is_fp8(dtype)) c.shape["fast_accumulation"] = std::string_view(kind) != "gemm_accurate";
    c.shape["regime"] = "sustained";
    c.shape["settle_s"] = settle;
    c.seconds = settle + 0.4;
    out.push_back(std::move(c));
  };
  for (const char* dtype : {"bf16", "fp8_e4m3"}) {
    add("gemm_sustained", dtype, {8192, 8192, 8192});
    if (quick) continue;
    for (const Shape& s : {Shape{2048, 2048, 2048}, {4096, 4096, 4096}, {16384, 16384, 16384}, {8192, 28672, 8192}, {4096, 28672, 4096}, {4096, 4096, 14336}, {2048, 8192, 8192}, {64, 8192, 8192}})
      add("gemm_sustained", dtype, s);
  }
  if (quick) return;
  for (const char* dtype : {"fp16", "tf32", "fp32"})
    for (const Shape& s : {Shape{4096, 4096, 4096}, {8192, 8192, 8192}}) add("gemm_sustained", dtype, s);
  add("gemm_accurate", "fp8_e4m3", {8192, 8192, 8192});
}

}  // namespace

std::vector<Case> gemm_cases(const Machine& machine, bool quick) {
  std::vector<Case> out;
  const auto all = shapes(quick), fp8 = aligned(all);
  // Every n-th shape, for the types and layouts of which a sample suffices.
  const auto add = [&](std::string_view dtype, std::string_view layout, const std::vector<Shape>& from, std::size_t every, const char* kind = "gemm",
                       double largest = 1e15) {
    for (std::size_t i = 0; i < from.size(); i += every)
      if (flops(from[i]) <= largest) out.push_back(gemm(dtype, layout, from[i], kind));
  };
  const std::size_t some = quick ? 5 : 4;
  add("bf16", "tn", all, 1);
  add("bf16", "nn", all, quick ? 5 : 12);
  add("bf16", "nt", all, quick ? 5 : 12);
  if (!quick) {
    add("bf16", "nn", gradients(false), 1);
    add("bf16", "nt", gradients(true), 1);
  }
  add("fp8_e4m3", "tn", fp8, 1);
  add("fp8_e4m3", "tn", fp8, quick ? 5 : 7, "gemm_accurate");
  add("fp16", "tn", all, some);
  add("tf32", "tn", all, some);
  add("fp32", "tn", all, quick ? 5 : 9, "gemm", 6e11);
  if (machine.major >= 10)
    for (const auto& s : all)
      if (s.m % 128 == 0 && s.n % 128 == 0 && s.k % 128 == 0)
        for (const char* dtype : {"mxfp8", "nvfp4"}) out.push_back(gemm(dtype, "tn", s));
  add_batches(out, quick);
  add_sustained(out, quick);
  return out;
}

}  // namespace napkin::measure
