// One measured kernel: what ran, and how long it took. The fit and the check predict it through the model's own formulas.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hardware/hardware.hpp"
#include "model/kernel/kernel.hpp"

namespace napkin::fit {

struct KernelSample {
  enum class Kind : std::uint8_t { gemm, attention, memory, host };  // host: a copy to or from host memory
  Kind kind = Kind::gemm;
  std::string group;  // "gemm bf16", "attention forward cudnn", "memory norm": what a report is broken down by
  std::string shape;  // text of the shape: what the held-out share is drawn by
  double seconds = 0;
  std::optional<Regime> regime;  // where the measurement says under which clocks it ran
  bool host_timed = false;       // the time includes the host's call (CUDA events around one call)
  double call = 0;               // seconds of an empty call timed the same way

  Format format = Format::bf16;  // gemm, attention
  GemmShape<Plain> gemm{};
  double input_bytes = 2, output_bytes = 2;

  std::string kernel;  // attention: an entry of Accelerator::attention
  AttentionShape<Plain> attention{};
  Pass pass = Pass::forward;

  Traffic traffic = Traffic::stream;  // memory
  Bytes bytes{};                      // memory, host
  Bytes row{};                        // memory: of a row that one block reduces; 0 = none

  Bytes passes{};  // moved by memory-bound passes that the measured time includes (rotary embedding, quantisation)
};

// Whether a host-timed sample is too short to tell the kernel from the call: under four calls.
template <class Sample>
[[nodiscard]] bool hides_behind_call(const Sample& s) {
  constexpr double calls = 4;
  return s.host_timed && s.seconds < calls * s.call;
}
// Seconds the model gives for the sample; the host's call is not part of it.
[[nodiscard]] double predict(const Accelerator& a, const KernelSample& s, Regime regime);
// Bytes of operands and result of a GEMM or a memory-bound kernel; 0 for attention.
[[nodiscard]] double operand_bytes(const KernelSample& s);

// Words of tables and traces → what they stand for; nothing for a word that is not known.
struct MatrixType {
  std::string name;  // "bf16", "fp8", "fp8_block": the canonical word
  Format format;
  double bytes;  // of an element
};
[[nodiscard]] std::optional<MatrixType> matrix_type(std::string_view word);     // "bfloat16", "fp8_e4m3", "nvfp4"
[[nodiscard]] std::optional<Traffic> traffic_of(std::string_view operation);    // "rms_norm", "add", "copy"
[[nodiscard]] std::string attention_kernel(std::string_view backend);           // "FLASH_ATTENTION" → "fa2"

// Samples as every reader makes them: group and shape follow from the arguments.
[[nodiscard]] KernelSample gemm_sample(const MatrixType& type, const GemmShape<Plain>& shape, double seconds);
[[nodiscard]] bool is_decode(const AttentionShape<Plain>& s);  // one query of a sequence against its cached keys
[[nodiscard]] KernelSample attention_sample(const std::string& kernel, const AttentionShape<Plain>& shape, Pass pass,
                                            double seconds);
[[nodiscard]] KernelSample memory_sample(Traffic traffic, double bytes, double seconds);
[[nodiscard]] KernelSample host_sample(bool to_device, double bytes, double seconds);

// The tables of third parties (formats: data/measured/README.md). InputError on a bad line.
// device, dtype, m, n, k, microseconds
[[nodiscard]] std::vector<KernelSample> read_gemm_table(const std::string& path, const std::string& device,
                                                        const std::string& dtype);
// device, dtype, ... one causal prefill, with rotary embedding and KV write, microseconds; `kernel` names the entry
[[nodiscard]] std::vector<KernelSample> read_attention_table(const std::string& path, const std::string& device,
                                                             const std::string& dtype, const std::string& kernel);

}  // namespace napkin::fit
