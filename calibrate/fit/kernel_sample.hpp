// One measured kernel: what ran, and how long it took. The fit and the check predict it through the model's own formulas.
#pragma once

#include <string>
#include <vector>

#include "hardware/hardware.hpp"
#include "model/kernel/kernel.hpp"

namespace napkin::fit {

struct KernelSample {
  enum class Kind : std::uint8_t { gemm, attention, memory };
  Kind kind = Kind::gemm;
  std::string group;  // "gemm bf16", "attention forward cudnn", "memory norm": what a report is broken down by
  std::string shape;  // text of the shape: what the held-out share is drawn by
  double seconds = 0;

  Format format = Format::bf16;  // gemm, attention
  GemmShape<Plain> gemm{};
  double input_bytes = 2, output_bytes = 2;

  std::string kernel;  // attention: an entry of Accelerator::attention
  AttentionShape<Plain> attention{};
  Pass pass = Pass::forward;

  Traffic traffic = Traffic::stream;  // memory
  Bytes bytes{};

  Bytes passes{};  // moved by memory-bound passes that the measured time includes (rotary embedding, quantisation)
};

// Seconds the model gives for the sample.
[[nodiscard]] double predict(const Accelerator& a, const KernelSample& s, Regime regime);
// Bytes of operands and result of a GEMM or a memory-bound kernel; 0 for attention.
[[nodiscard]] double operand_bytes(const KernelSample& s);

// The tables of third parties and our own (formats: data/measured/README.md, kernels-h200.jsonl). InputError on a bad line.
// device, dtype, m, n, k, microseconds
[[nodiscard]] std::vector<KernelSample> read_gemm_table(const std::string& path, const std::string& device,
                                                        const std::string& dtype);
// device, dtype, ... one causal prefill, with rotary embedding and KV write, microseconds; `kernel` names the entry
[[nodiscard]] std::vector<KernelSample> read_attention_table(const std::string& path, const std::string& device,
                                                             const std::string& dtype, const std::string& kernel);
// JSON lines of gemm, bmm, attn_fwd, attn_bwd, membound, copy; other kinds are skipped
[[nodiscard]] std::vector<KernelSample> read_kernel_lines(const std::string& path);

}  // namespace napkin::fit
