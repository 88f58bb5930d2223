#include "calibrate/fit/kernel_sample.hpp"

namespace napkin::fit {

double predict(const Accelerator& a, const KernelSample& s, Regime regime) {
  const Scope<Plain> scope;
  const Seconds passes = elementwise_cost<Plain>(scope, a, s.passes).time;
  switch (s.kind) {
    case KernelSample::Kind::gemm:
      return (gemm_cost<Plain>(scope, a, s.format, s.input_bytes, s.output_bytes, s.gemm, regime).time + passes).si();
    case KernelSample::Kind::attention:
      return (attention_cost<Plain>(scope, a, s.kernel, s.format, s.attention, s.pass, regime).time + passes).si();
    case KernelSample::Kind::memory: break;
  }
  return (elementwise_cost<Plain>(scope, a, s.bytes, s.traffic).time + passes).si();
}

double operand_bytes(const KernelSample& s) {
  if (s.kind == KernelSample::Kind::memory) return s.bytes.si();
  if (s.kind != KernelSample::Kind::gemm) return 0;
  const double m = s.gemm.m.si(), n = s.gemm.n.si(), k = s.gemm.k.si();
  return s.gemm.count.si() * ((m * k + k * n) * s.input_bytes + m * n * s.output_bytes);
}

}  // namespace napkin::fit
