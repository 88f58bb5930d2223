// What a CUDA kernel's name tells about the operator it belongs to.
#pragma once

#include <string>
#include <string_view>

namespace napkin::fit {

enum class KernelRole : std::uint8_t {
  unknown, gemm, attention_forward, attention_backward, norm, softmax, activation, elementwise, cast, optimizer,
  embedding, cross_entropy, collective, copy
};
[[nodiscard]] std::string_view to_string(KernelRole r);

struct KernelName {
  KernelRole role = KernelRole::unknown;
  std::string detail;  // attention: the kernel ("fa2", "fa3", "cudnn"); collective: the operation ("all_reduce")
  std::string dtype;   // where the name holds one
};
[[nodiscard]] KernelName read_kernel_name(std::string_view name);

}  // namespace napkin::fit
