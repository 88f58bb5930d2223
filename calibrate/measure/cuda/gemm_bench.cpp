// GEMM through cuBLASLt, the heuristic's first choice, as frameworks take it. Rows are rows of a row-major result:
// D[m, n] = A B, with "tn": A[m, k], B[n, k]; "nn": A[m, k], B[k, n]; "nt": A[k, m], B[k, n].
#include <cublasLt.h>
#include <cublas_v2.h>

#include <array>
#include <map>

#include "calibrate/measure/cuda/bench.hpp"

namespace napkin::measure {
namespace {

constexpr std::size_t workspace_bytes = std::size_t{32} << 20;

struct Format {
  cudaDataType_t input, output;
  cublasComputeType_t compute;
  kernels::Type random;
  double input_bytes;
  std::size_t output_bytes;
  int block = 0;              // values that share a scale; 0: one scale a tensor
  std::uint8_t one = 0;       // the scale 1 of a block
};
const std::map<std::string, Format, std::less<>>& formats() {
  using kernels::Type;
  static const std::map<std::string, Format, std::less<>> known{
      {"bf16", {CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, Type::bf16, 2, 2}},
      {"fp16", {CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, Type::fp16, 2, 2}},
      {"tf32", {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, Type::fp32, 4, 4}},
      {"fp32", {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, Type::fp32, 4, 4}},
      {"fp8_e4m3", {CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, Type::fp8_e4m3, 1, 2}},
      {"mxfp8", {CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, Type::fp8_e4m3, 1, 2, 32, 127}},
      {"nvfp4", {CUDA_R_4F_E2M1, CUDA_R_16BF, CUBLAS_COMPUTE_32F, Type::bytes, 0.5, 2, 16, 0x38}}};
  return known;
}

void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const auto text = std::string(what) + ": cuBLAS status " + std::to_string(static_cast<int>(status));
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) throw Unsupported(text);
  throw std::runtime_error(text);
}

struct Lt {
  Library library;
  template <class F>
  F get(const char* name) const {
    return library.symbol<F>(name);
  }
#define NAPKIN_LT(f) decltype(&::f) f = get<decltype(&::f)>(#f)
  explicit Lt(const std::string& folders) : library({"libcublasLt.so.13", "libcublasLt.so.12"}, folders) {}
  NAPKIN_LT(cublasLtCreate);
  NAPKIN_LT(cublasLtDestroy);
  NAPKIN_LT(cublasLtMatmul);
  NAPKIN_LT(cublasLtMatmulDescCreate);
  NAPKIN_LT(cublasLtMatmulDescDestroy);
  NAPKIN_LT(cublasLtMatmulDescSetAttribute);
  NAPKIN_LT(cublasLtMatrixLayoutCreate);
  NAPKIN_LT(cublasLtMatrixLayoutDestroy);
  NAPKIN_LT(cublasLtMatrixLayoutSetAttribute);
  NAPKIN_LT(cublasLtMatmulPreferenceCreate);
  NAPKIN_LT(cublasLtMatmulPreferenceDestroy);
  NAPKIN_LT(cublasLtMatmulPreferenceSetAttribute);
  NAPKIN_LT(cublasLtMatmulAlgoGetHeuristic);
#undef NAPKIN_LT
};

struct Shape {
  Format format;
  std::string layout;
  std::int64_t m, n, k, batch;
  bool fast_accumulation;  // FP8: sums stay in the tensor core's own precision
  explicit Shape(const Json& j)
      : layout(j.value("layout", "tn")), m(j.at("m")), n(j.at("n")), k(j.at("k")), batch(j.value("batch", 1)), fast_accumulation(j.value("fast_accumulation", true)) {
    const auto at = formats().find(j.at("dtype").get<std::string>());
    if (at == formats().end()) throw Unsupported("no GEMM in " + j.at("dtype").dump());
    format = at->second;
  }
  [[nodiscard]] std::size_t a_bytes() const { return static_cast<std::size_t>(static_cast<double>(m * k) * format.input_bytes); }
  [[nodiscard]] std::size_t b_bytes() const { return static_cast<std::size_t>(static_cast<double>(n * k) * format.input_bytes); }
  [[nodiscard]] std::size_t d_bytes() const { return static_cast<std::size_t>(m * n) * format.output_bytes; }
  [[nodiscard]] double flops() const { return 2.0 * double(m) * double(n) * double(k) * double(batch); }
  [[nodiscard]] double moved() const { return double(batch) * (double(a_bytes()) + double(b_bytes()) + double(d_bytes())); }
};

// A matmul set up once. The library is column-major: it computes Dᵀ[n, m], so our B is its A.
class Matmul {
  const Lt& lt_;
  cublasLtMatmulDesc_t op_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, d_ = nullptr;
  cublasLtMatmulHeuristicResult_t choice_{};

  template <class V>
  void set(cublasLtMatmulDescAttributes_t what, const V& v) {
    check(lt_.cublasLtMatmulDescSetAttribute(op_, what, &v, sizeof v), "setting up the product");
  }
  void layout(cublasLtMatrixLayout_t& l, cudaDataType_t type, std::int64_t rows, std::int64_t columns, std::int64_t batch) {
    check(lt_.cublasLtMatrixLayoutCreate(&l, type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), rows), "setting up a matrix");
    if (batch == 1) return;
    const auto count = static_cast<std::int32_t>(batch);
    const std::int64_t stride = rows * columns;
    check(lt_.cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count), "setting up a batch");
    check(lt_.cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride), "setting up a batch");
  }

 public:
  Matmul(const Lt& lt, cublasLtHandle_t handle, const Shape& s, void* scale_of_a, void* scale_of_b) : lt_(lt) {
    check(lt_.cublasLtMatmulDescCreate(&op_, s.format.compute, CUDA_R_32F), "setting up the product");
    const bool b_turned = s.layout == "tn", a_turned = s.layout == "nt";
    const cublasOperation_t of_b = b_turned ? CUBLAS_OP_T : CUBLAS_OP_N, of_a = a_turned ? CUBLAS_OP_T : CUBLAS_OP_N;
    set(CUBLASLT_MATMUL_DESC_TRANSA, of_b);
    set(CUBLASLT_MATMUL_DESC_TRANSB, of_a);
    if (s.format.input_bytes <= 1) {
      set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scale_of_b);
      set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scale_of_a);
      if (s.format.block > 0) {
        const cublasLtMatmulMatrixScale_t mode = s.format.block == 32 ? CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0 : CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3;
        set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, mode);
        set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, mode);
      } else {
        const std::int8_t fast = s.fast_accumulation ? 1 : 0;
        set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, fast);
      }
    }
    layout(a_, s.format.input, b_turned ? s.k : s.n, b_turned ? s.n : s.k, s.batch);
    layout(b_, s.format.input, a_turned ? s.m : s.k, a_turned ? s.k : s.m, s.batch);
    layout(d_, s.format.output, s.n, s.m, s.batch);
    cublasLtMatmulPreference_t preference = nullptr;
    check(lt_.cublasLtMatmulPreferenceCreate(&preference), "asking for an algorithm");
    const std::size_t most = workspace_bytes;
    int found = 0;
    auto status = lt_.cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof most);
    if (status == CUBLAS_STATUS_SUCCESS)
      status = lt_.cublasLtMatmulAlgoGetHeuristic(handle, op_, a_, b_, d_, d_, preference, 1, &choice_, &found);
    lt_.cublasLtMatmulPreferenceDestroy(preference);
    check(status, "asking for an algorithm");
    if (found == 0) throw Unsupported("cuBLASLt has no algorithm for this shape and type");
  }
  ~Matmul() {
    for (auto* l : {a_, b_, d_})
      if (l != nullptr) lt_.cublasLtMatrixLayoutDestroy(l);
    if (op_ != nullptr) lt_.cublasLtMatmulDescDestroy(op_);
  }
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;

  void run(cublasLtHandle_t handle, const void* a, const void* b, void* d, void* workspace, cudaStream_t stream) const {
    const float one = 1, zero = 0;
    check(lt_.cublasLtMatmul(handle, op_, &one, b, a_, a, b_, &zero, d, d_, d, d_, &choice_.algo, workspace, workspace_bytes, stream), "matmul");
  }
  [[nodiscard]] double waves() const { return choice_.wavesCount; }
};

class GemmBench final : public Bench {
  Context& c_;
  Lt lt_;
  cublasLtHandle_t handle_ = nullptr;
  Buffer workspace_{workspace_bytes}, scales_;
  std::unique_ptr<Library> blas_;
  cublasHandle_t blas_handle_ = nullptr;

  Work product(const Shape& s) {
    const auto a_all = s.a_bytes() * static_cast<std::size_t>(s.batch), b_all = s.b_bytes() * static_cast<std::size_t>(s.batch), d_all = s.d_bytes() * static_cast<std::size_t>(s.batch);
    c_.inputs.begin(Arena::rounded(a_all) + Arena::rounded(b_all), s.format.random, c_.stream);
    c_.results.begin(Arena::rounded(d_all), s.format.random, c_.stream);
    const void *a = c_.inputs.take(a_all), *b = c_.inputs.take(b_all);
    void* d = c_.results.take(d_all);
    const auto m = std::make_shared<Matmul>(lt_, handle_, s, scales(s, s.m, 0), scales(s, s.n, 1));
    return {[=, this](cudaStream_t stream) { m->run(handle_, a, b, d, workspace_.data(), stream); }, {{"waves", m->waves()}}};
  }

  // One scale of 1 a tensor, or for block formats one a block, rows and columns padded to the library's tiles.
  void* scales(const Shape& s, std::int64_t rows, int which) {
    constexpr std::size_t half = std::size_t{64} << 20;
    if (s.format.input_bytes > 1) return nullptr;
    scales_.reserve(2 * half);
    auto* at = static_cast<std::byte*>(scales_.data()) + static_cast<std::size_t>(which) * half;
    if (s.format.block == 0) {
      const float one = 1;
      napkin::measure::check(cudaMemcpyAsync(at, &one, sizeof one, cudaMemcpyHostToDevice, c_.stream));
      return at;
    }
    const auto bytes = static_cast<std::size_t>((rows + 127) / 128 * 128 * ((s.k / s.format.block + 3) / 4 * 4));
    if (bytes > half) throw Unsupported("more scales than room for them");
    kernels::fill_bytes(s.format.one, at, bytes, c_.stream);
    return at;
  }

  // Groups of one product each, as experts are: every pointer is its own.
  Work grouped(const Shape& s) {
    if (!blas_) {
      blas_ = std::make_unique<Library>(std::initializer_list<const char*>{"libcublas.so.13", "libcublas.so.12"}, c_.libraries);
      check(blas_->symbol<decltype(&cublasCreate_v2)>("cublasCreate_v2")(&blas_handle_), "cublasCreate");
    }
    const auto run = blas_->symbol<decltype(&cublasGemmGroupedBatchedEx)>("cublasGemmGroupedBatchedEx");
    const auto set_stream = blas_->symbol<decltype(&cublasSetStream_v2)>("cublasSetStream_v2");
    const auto groups = static_cast<std::size_t>(s.batch);
    c_.inputs.begin(groups * (Arena::rounded(s.a_bytes()) + Arena::rounded(s.b_bytes())), s.format.random, c_.stream);
    c_.results.begin(groups * (Arena::rounded(s.d_bytes())) + Arena::rounded(3 * groups * sizeof(void*)), s.format.random, c_.stream);
    struct Arrays {
      std::vector<cublasOperation_t> turned, straight;
      std::vector<int> m, n, k, size;
      std::vector<float> one, zero;
    };
    const auto x = std::make_shared<Arrays>();
    x->turned.assign(groups, CUBLAS_OP_T), x->straight.assign(groups, CUBLAS_OP_N);
    x->m.assign(groups, int(s.m)), x->n.assign(groups, int(s.n)), x->k.assign(groups, int(s.k)), x->size.assign(groups, 1);
    x->one.assign(groups, 1), x->zero.assign(groups, 0);
    std::vector<void*> pointers(3 * groups);
    for (std::size_t g = 0; g < groups; ++g) {
      pointers[g] = c_.inputs.take(s.b_bytes());
      pointers[groups + g] = c_.inputs.take(s.a_bytes());
      pointers[2 * groups + g] = c_.results.take(s.d_bytes());
    }
    // The arrays of pointers lie on the device.
    auto** device = static_cast<void**>(c_.results.take(pointers.size() * sizeof(void*)));
    napkin::measure::check(cudaMemcpy(device, pointers.data(), pointers.size() * sizeof(void*), cudaMemcpyHostToDevice));
    const auto f = s.format;
    return {[=, this](cudaStream_t stream) {
              check(set_stream(blas_handle_, stream), "cublasSetStream");
              check(run(blas_handle_, x->turned.data(), x->straight.data(), x->n.data(), x->m.data(), x->k.data(), x->one.data(), device, f.input,
                        x->k.data(), device + groups, f.input, x->k.data(), x->zero.data(), device + 2 * groups, f.output, x->n.data(),
                        int(groups), x->size.data(), f.compute),
                    "grouped product");
            },
            Json::object()};
  }

  Work prepared(const Json& shape) {
    const Shape s(shape);
    auto p = shape.at("kind") == "grouped_mm" ? grouped(s) : product(s);
    p.more["flops"] = s.flops();
    p.more["moved"] = static_cast<std::int64_t>(s.moved());
    return p;
  }

 public:
  explicit GemmBench(Context& c) : c_(c), lt_(c.libraries) { check(lt_.cublasLtCreate(&handle_), "cublasLtCreate"); }
  ~GemmBench() override {
    if (handle_ != nullptr) lt_.cublasLtDestroy(handle_);
    if (blas_handle_ != nullptr) blas_->symbol<decltype(&cublasDestroy_v2)>("cublasDestroy_v2")(blas_handle_);
  }
  Outcome measure(const Case& c) override {
    return measured(c_, c, prepared(c.shape));
  }
  Work prepare(const Case& c) override { return prepared(c.shape); }
};

}  // namespace

std::unique_ptr<Bench> gemm_bench(Context& context) { return std::make_unique<GemmBench>(context); }

std::string cublaslt_version(const std::string& libraries) {
  try {
    const Library l({"libcublasLt.so.13", "libcublasLt.so.12"}, libraries);
    return std::to_string(l.symbol<decltype(&cublasLtGetVersion)>("cublasLtGetVersion")());
  } catch (const Unsupported&) {
    return "";
  }
}

}  // namespace napkin::measure
