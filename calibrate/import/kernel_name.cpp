#include "calibrate/import/kernel_name.hpp"

#include <array>
#include <cctype>

namespace napkin::fit {
namespace {

// Parts of names, lower case, the telling ones first: the first that occurs decides.
struct Rule {
  std::string_view part;
  KernelRole role;
  std::string_view detail;
};
constexpr Rule rules[] = {
    {"nccldevkernel_allreduce", KernelRole::collective, "all_reduce"},
    {"nccldevkernel_allgather", KernelRole::collective, "all_gather"},
    {"nccldevkernel_reducescatter", KernelRole::collective, "reduce_scatter"},
    {"nccldevkernel_broadcast", KernelRole::collective, "broadcast"},
    {"nccldevkernel_reduce", KernelRole::collective, "reduce"},
    {"nccldevkernel_sendrecv", KernelRole::collective, "send_recv"},
    {"ncclkernel_allreduce", KernelRole::collective, "all_reduce"},
    {"ncclkernel_allgather", KernelRole::collective, "all_gather"},
    {"ncclkernel_reducescatter", KernelRole::collective, "reduce_scatter"},
    {"ncclkernel_sendrecv", KernelRole::collective, "send_recv"},
    {"nccl", KernelRole::collective, ""},
    {"flashattnbwd", KernelRole::attention_backward, "fa3"},
    {"flashattnfwd", KernelRole::attention_forward, "fa3"},
    {"flash_bwd", KernelRole::attention_backward, "fa2"},
    {"flash_fwd", KernelRole::attention_forward, "fa2"},
    {"fmha_cutlassb", KernelRole::attention_backward, "efficient"},
    {"fmha_cutlassf", KernelRole::attention_forward, "efficient"},
    {"sdpa_sm", KernelRole::attention_forward, "cudnn"},
    {"multi_tensor_apply", KernelRole::optimizer, ""},
    {"fusedadam", KernelRole::optimizer, ""},
    {"adam", KernelRole::optimizer, ""},
    {"embedding", KernelRole::embedding, ""},
    {"nll_loss", KernelRole::cross_entropy, ""},
    {"cross_entropy", KernelRole::cross_entropy, ""},
    {"softmax", KernelRole::softmax, ""},
    {"rms_norm", KernelRole::norm, ""},
    {"rmsnorm", KernelRole::norm, ""},
    {"layer_norm", KernelRole::norm, ""},
    {"layernorm", KernelRole::norm, ""},
    {"ln_fwd", KernelRole::norm, ""},
    {"ln_bwd", KernelRole::norm, ""},
    {"gelu", KernelRole::activation, ""},
    {"silu", KernelRole::activation, ""},
    {"swiglu", KernelRole::activation, ""},
    {"nvjet", KernelRole::gemm, ""},
    {"gemm", KernelRole::gemm, ""},
    {"xmma", KernelRole::gemm, ""},
    {"cutlass", KernelRole::gemm, ""},
    {"matmul", KernelRole::gemm, ""},
    {"float16_copy_kernel", KernelRole::cast, ""},
    {"float8_copy_kernel", KernelRole::cast, ""},
    {"memcpy", KernelRole::copy, ""},
    {"memset", KernelRole::copy, ""},
    {"copy_kernel", KernelRole::elementwise, ""},
    {"elementwise", KernelRole::elementwise, ""},
    {"reduce_kernel", KernelRole::elementwise, ""}};

constexpr std::pair<std::string_view, std::string_view> dtypes[] = {
    {"e4m3", "fp8_e4m3"}, {"bf16", "bf16"}, {"bfloat16", "bf16"}, {"fp16", "fp16"}, {"f16", "fp16"}, {"half", "fp16"},
    {"tf32", "tf32"},     {"sgemm", "fp32"}, {"f32", "fp32"}};
// The newest matrix kernels name their operands by a letter: nvjet_tst (bf16), nvjet_hsh (fp16), nvjet_qqtst (e4m3).
constexpr std::pair<std::string_view, std::string_view> jet_dtypes[] = {
    {"nvjet_t", "bf16"}, {"nvjet_h", "fp16"}, {"nvjet_q", "fp8_e4m3"}};

}  // namespace

std::string_view to_string(KernelRole r) {
  constexpr std::array<std::string_view, 14> names{
      "unknown",    "gemm", "attention forward", "attention backward", "norm",       "softmax", "activation",
      "elementwise", "cast", "optimizer",         "embedding",          "cross-entropy", "collective", "copy"};
  return names.at(static_cast<std::size_t>(r));
}

KernelName read_kernel_name(std::string_view name) {
  std::string low;
  for (const char c : name) low += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  KernelName out;
  // cuDNN's attention carries the pass in a part of its own.
  if (low.find("sdpa") != low.npos || (low.find("cudnn") != low.npos && low.find("mha") != low.npos)) {
    const bool backward = low.find("bprop") != low.npos || low.find("_bwd") != low.npos;
    out = {backward ? KernelRole::attention_backward : KernelRole::attention_forward, "cudnn", ""};
  } else {
    for (const auto& rule : rules)
      if (low.find(rule.part) != low.npos) {
        out = {rule.role, std::string(rule.detail), ""};
        break;
      }
  }
  if (low.starts_with("nvjet")) {
    for (const auto& [part, dtype] : jet_dtypes)
      if (low.starts_with(part)) out.dtype = dtype;
    return out;
  }
  for (const auto& [part, dtype] : dtypes)
    if (low.find(part) != low.npos) {
      out.dtype = dtype;
      break;
    }
  return out;
}

}  // namespace napkin::fit
