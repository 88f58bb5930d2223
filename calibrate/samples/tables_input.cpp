#include <map>

#include "calibrate/samples/csv_input.hpp"
#include "calibrate/samples/kernel_sample.hpp"
#include "model/input_error.hpp"

namespace napkin::fit {
namespace {

constexpr double microsecond = 1e-6;

// Bytes moved for each element of the activation by the quantisation that the tables' times include: 16-bit values read
// for their maximum, read again and written; with block scales the maximum and the conversion are one pass.
const std::map<std::string, double, std::less<>> quantisation_bytes{
    {"fp8", 2 + 2 + 1}, {"fp8_block", 2 + 1}, {"nvfp4", 2 + 0.5625}};

MatrixType known_type(const std::string& dtype) {
  const auto type = matrix_type(dtype);
  if (!type) throw InputError("\"" + dtype + "\" is not a number format that napkin knows");
  return *type;
}

}  // namespace

std::vector<KernelSample> read_gemm_table(const std::string& path, const std::string& device,
                                          const std::string& dtype) {
  std::vector<KernelSample> out;
  const auto type = known_type(dtype);
  for (CsvTable t(path); t.next();) {
    if (t.text("device") != device || t.text("dtype") != dtype) continue;
    const double m = t.positive("m"), k = t.positive("k");
    auto& s = out.emplace_back(gemm_sample(type, {m, t.positive("n"), k}, t.positive("latency_us") * microsecond));
    const auto passes = quantisation_bytes.find(dtype);
    if (passes != quantisation_bytes.end()) s.passes = Bytes::si(m * k * passes->second);
  }
  return out;
}

std::vector<KernelSample> read_attention_table(const std::string& path, const std::string& device,
                                               const std::string& dtype, const std::string& kernel) {
  std::vector<KernelSample> out;
  const auto type = known_type(dtype);
  for (CsvTable t(path); t.next();) {
    if (t.text("device") != device || t.text("attn_dtype") != dtype) continue;
    const double s = t.positive("seq"), d = t.positive("head_dim");
    const AttentionShape<Plain> shape{t.positive("batch"), s, s, t.positive("heads"), t.positive("kv_heads"), d, d};
    auto& sample = out.emplace_back(
        attention_sample(kernel, shape, Pass::forward, t.positive("latency_us") * microsecond));
    sample.format = type.format;
    // Rotary embedding and KV write: Q, K and V are read and written once.
    sample.passes = 2 * shape.batch * s * (shape.heads + 2 * shape.kv_heads) * d * (2 * byte);
  }
  return out;
}

}  // namespace napkin::fit
