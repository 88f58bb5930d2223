// Fits the kernel constants of one accelerator to measured kernels, through the model's own formulas.
#pragma once

#include <string>
#include <vector>

#include "calibrate/fit/robust_fit.hpp"
#include "calibrate/samples/check.hpp"
#include "calibrate/samples/kernel_sample.hpp"

namespace napkin::fit {

struct Options {
  Regime regime = Regime::burst;
  HeldOut held_out = 0.5;  // shapes kept for the report
  bool own_call = true;   // fit_gemm_rate: the calls take time of their own; false = the machine's floor holds
};

// Rate of the samples' format, memory fraction, floor, wave and split times; of 80 samples and more also epilogue, balance
// and spread, where they lower the errors of the fitted shapes by a twentieth (absent otherwise). The fitted values are written into `a`.
Fit fit_gemm(Accelerator& a, const std::vector<KernelSample>& samples, const Options& options);
// Rate of the samples' format alone and, with `own_call`, the time that each call spends outside the GEMM ("call", not
// kept): for tables whose calls do more than multiply.
Fit fit_gemm_rate(Accelerator& a, const std::vector<KernelSample>& samples, const Options& options);
// Share of the rate that products with a pointer each reach.
Fit fit_gemm_grouped(Accelerator& a, const std::vector<KernelSample>& samples, const Options& options);
// Rates by head dimension, half_keys and floor of the samples' kernel; one pass, forward or backward. `block` and
// `sustained` stay. The first call for a kernel that `a` lacks creates it.
Fit fit_attention(Accelerator& a, const std::vector<KernelSample>& samples, const Options& options);
// Share of the rates that is left under a long run, of the samples' kernel; both passes, all samples.
Fit fit_attention_sustained(Accelerator& a, const std::vector<KernelSample>& samples);
// Memory fraction of one kind of traffic, and its floor: always that of `stream`, of others where a kernel-timed sample
// is short enough to show it.
Fit fit_memory(Accelerator& a, const std::vector<KernelSample>& samples, const Options& options);
// Of kernels that reduce rows (norm, softmax), together: a fraction and a floor each, the rate at which a block walks a row.
Fit fit_rows(Accelerator& a, const std::vector<KernelSample>& samples, const Options& options);
// Bandwidth to host memory, at most what `a` has.
Fit fit_host(Accelerator& a, const std::vector<KernelSample>& samples, const Options& options);

}  // namespace napkin::fit
