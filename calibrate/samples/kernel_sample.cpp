#include "calibrate/samples/kernel_sample.hpp"

#include <algorithm>
#include <cctype>
#include <map>

namespace napkin::fit {
namespace {

struct Known {
  std::string_view name;
  Format format;
  double bytes;
};
// nvfp4: 4 bits and an 8-bit scale for 16; mxfp8 and mxfp4: an 8-bit scale for 32.
const std::map<std::string, Known, std::less<>>& types() {
  static const std::map<std::string, Known, std::less<>> known{
      {"bfloat16", {"bf16", Format::bf16, 2}},   {"bf16", {"bf16", Format::bf16, 2}},
      {"float16", {"fp16", Format::fp16, 2}},    {"fp16", {"fp16", Format::fp16, 2}},
      {"half", {"fp16", Format::fp16, 2}},       {"f16", {"fp16", Format::fp16, 2}},
      {"tf32", {"tf32", Format::tf32, 4}},       {"float32", {"fp32", Format::fp32, 4}},
      {"fp32", {"fp32", Format::fp32, 4}},       {"float", {"fp32", Format::fp32, 4}},
      {"f32", {"fp32", Format::fp32, 4}},        {"float64", {"fp64", Format::fp64, 8}},
      {"fp64", {"fp64", Format::fp64, 8}},       {"double", {"fp64", Format::fp64, 8}},
      {"fp8", {"fp8", Format::fp8, 1}},          {"fp8_e4m3", {"fp8", Format::fp8, 1}},
      {"e4m3", {"fp8", Format::fp8, 1}},         {"fp8_e5m2", {"fp8", Format::fp8, 1}},
      {"e5m2", {"fp8", Format::fp8, 1}},         {"float8_e4m3fn", {"fp8", Format::fp8, 1}},
      {"fp8_block", {"fp8_block", Format::fp8, 1}}, {"mxfp8", {"mxfp8", Format::fp8, 1.03125}},
      {"nvfp4", {"nvfp4", Format::fp4, 0.5625}}, {"fp4", {"nvfp4", Format::fp4, 0.5625}},
      {"mxfp4", {"mxfp4", Format::fp4, 0.53125}}, {"int8", {"int8", Format::int8, 1}}};
  return known;
}

std::string lower(std::string_view word) {
  std::string out;
  for (const char c : word) out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string join(std::initializer_list<double> sizes) {
  std::string out;
  for (const double v : sizes) out += (out.empty() ? "" : "x") + std::to_string(static_cast<long long>(v));
  return out;
}

}  // namespace

std::optional<MatrixType> matrix_type(std::string_view word) {
  const auto at = types().find(lower(word));
  if (at == types().end()) return {};
  return MatrixType{std::string(at->second.name), at->second.format, at->second.bytes};
}

std::optional<Traffic> traffic_of(std::string_view operation) {
  static const std::map<std::string, Traffic, std::less<>> known{
      {"add", Traffic::stream},          {"residual_add", Traffic::stream}, {"residual", Traffic::stream},
      {"copy", Traffic::stream},         {"read", Traffic::stream},         {"write", Traffic::fill},
      {"triad", Traffic::stream},        {"scale", Traffic::stream},        {"rope", Traffic::rotary},
      {"gelu", Traffic::activation},     {"silu", Traffic::activation},     {"swiglu", Traffic::activation},
      {"rms_norm", Traffic::norm},       {"rmsnorm", Traffic::norm},        {"layer_norm", Traffic::norm},
      {"layernorm", Traffic::norm},      {"sum_rows", Traffic::norm},       {"softmax", Traffic::softmax},
      {"cast", Traffic::cast},           {"cast_fp32", Traffic::cast},      {"cast_bf16", Traffic::cast},
      {"adam", Traffic::optimizer},      {"adamw", Traffic::optimizer},     {"adam_step", Traffic::optimizer},
      {"optimizer", Traffic::optimizer}, {"adamw_fused_fp32", Traffic::optimizer}};
  const auto at = known.find(lower(operation));
  if (at == known.end()) return {};
  return at->second;
}

std::string attention_kernel(std::string_view backend) {
  const auto word = lower(backend);
  if (word == "flash_attention" || word == "flash" || word == "fa2") return "fa2";
  if (word == "cudnn_attention" || word == "cudnn") return "cudnn";
  return word;
}

KernelSample gemm_sample(const MatrixType& type, const GemmShape<Plain>& shape, double seconds) {
  KernelSample s;
  s.group = "gemm " + type.name;
  s.shape = join({shape.count.si(), shape.m.si(), shape.n.si(), shape.k.si()});
  s.seconds = seconds;
  s.format = type.format;
  s.gemm = shape;
  s.input_bytes = type.bytes;
  s.output_bytes = std::max(2.0, type.bytes);  // results of fp8 and fp4 products are 16-bit
  return s;
}

bool is_decode(const AttentionShape<Plain>& s) {
  return s.queries.si() == 1 && s.keys.si() > 1;
}

KernelSample attention_sample(const std::string& kernel, const AttentionShape<Plain>& shape, Pass pass,
                              double seconds) {
  KernelSample s;
  s.kind = KernelSample::Kind::attention;
  s.group = "attention " + std::string(is_decode(shape) ? "decode " : pass == Pass::forward ? "forward " : "backward ") + kernel;
  s.shape = join({shape.batch.si(), shape.queries.si(), shape.heads.si(), shape.kv_heads.si(), shape.head_dim.si(),
                  shape.causal ? 1.0 : 0.0});
  if (is_decode(shape)) s.shape += " of " + join({shape.keys.si()});
  s.seconds = seconds;
  s.kernel = kernel;
  s.attention = shape;
  s.pass = pass;
  return s;
}

KernelSample memory_sample(Traffic traffic, double bytes, double seconds) {
  KernelSample s;
  s.kind = KernelSample::Kind::memory;
  s.group = "memory " + std::string(traffic_names[static_cast<std::size_t>(traffic)]);
  s.shape = join({bytes});
  s.seconds = seconds;
  s.traffic = traffic;
  s.bytes = Bytes::si(bytes);
  return s;
}

KernelSample host_sample(bool to_device, double bytes, double seconds) {
  KernelSample s;
  s.kind = KernelSample::Kind::host;
  s.group = to_device ? "host to device" : "device to host";
  s.shape = join({bytes});
  s.seconds = seconds;
  s.bytes = Bytes::si(bytes);
  return s;
}

double predict(const Accelerator& a, const KernelSample& s, Regime regime) {
  const Scope<Plain> scope;
  const Seconds passes = elementwise_cost<Plain>(scope, a, s.passes).time;
  const auto time = [&]() -> Seconds {
    switch (s.kind) {
      case KernelSample::Kind::gemm:
        return gemm_cost<Plain>(scope, a, s.format, s.input_bytes, s.output_bytes, s.gemm, regime).time;
      case KernelSample::Kind::attention:
        return attention_cost<Plain>(scope, a, s.kernel, s.format, s.attention, s.pass, regime).time;
      case KernelSample::Kind::host: return a.elementwise.floor.value + s.bytes / a.host_bandwidth.value;
      case KernelSample::Kind::memory: break;
    }
    return elementwise_cost<Plain>(scope, a, s.bytes, s.traffic, s.row).time;
  };
  return (time() + passes).si();
}

double operand_bytes(const KernelSample& s) {
  if (s.kind == KernelSample::Kind::memory) return s.bytes.si();
  if (s.kind != KernelSample::Kind::gemm) return 0;
  const double m = s.gemm.m.si(), n = s.gemm.n.si(), k = s.gemm.k.si();
  return s.gemm.count.si() * ((m * k + k * n) * s.input_bytes + m * n * s.output_bytes);
}

}  // namespace napkin::fit
