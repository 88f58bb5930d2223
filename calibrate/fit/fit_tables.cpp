// napkin-fit-tables FOLDER: fits the kernel constants of every device that the shared tables cover and prints them with
// their evidence; the catalog's fitted kernel constants were read off this report.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>

#include "calibrate/fit/kernel_fit.hpp"
#include "calibrate/samples/samples.hpp"
#include "hardware/hardware_input.hpp"

using namespace napkin;
using namespace napkin::fit;

namespace {

void print(const std::string& what, const Fit& f) {
  std::printf("  %-26s held out %4zu: %4.1f / %4.1f %%  bias %+4.1f   fitted %4zu: %4.1f / %4.1f %%\n", what.c_str(),
              f.held_out.n, 100 * f.held_out.median, 100 * f.held_out.p90, 100 * f.held_out.bias, f.fitted.n,
              100 * f.fitted.median, 100 * f.fitted.p90);
  for (const auto& p : f.parameters)
    std::printf("      %-16s %.4g ± %.1g%s\n", p.name.c_str(), p.value, p.standard_error, p.at_bound ? " (bound)" : "");
}

std::vector<KernelSample> keep(const std::vector<KernelSample>& all, auto predicate) {
  std::vector<KernelSample> out;
  for (const auto& s : all)
    if (predicate(s)) out.push_back(s);
  return out;
}

struct Device {
  std::string name, hardware;  // in the tables, in the catalog
  double block = 128;          // query rows of an attention tile
  bool rotated = true;         // the tables' operands come from memory, not from the second-level cache
};

void fit_device(const std::string& folder, const Device& d) {
  const auto &device = d.name, &hardware = d.hardware;
  auto a = read_hardware(hardware).accelerator;
  std::printf("%s → %s\n", device.c_str(), hardware.c_str());
  const auto gemm_table = folder + "/measured/gemm_us.csv", attention_table = folder + "/measured/attn_prefill_us.csv";
  const double cache = d.rotated || !a.l2 ? 0 : a.l2->value.si();
  const auto cold = [cache](const KernelSample& s) { return operand_bytes(s) > cache; };
  print("gemm bf16", fit_gemm(a, keep(read_gemm_table(gemm_table, device, "bfloat16"), cold), {}));
  for (const auto dtype : {"fp8", "fp8_block", "nvfp4"}) {
    const auto samples = keep(read_gemm_table(gemm_table, device, dtype), cold);
    if (samples.empty() || !a.peak[static_cast<std::size_t>(samples.front().format)]) continue;
    auto copy = a;
    print("gemm " + std::string(dtype), fit_gemm_rate(copy, samples, {}));
  }
  for (const auto dtype : {"bfloat16", "fp8"}) {
    auto copy = a;
    auto& kernel = copy.attention["trtllm"];
    kernel.block.value = d.block;
    kernel.sustained.value = 1;
    const auto samples = keep(read_attention_table(attention_table, device, dtype, "trtllm"),
                              [cache](const KernelSample& s) { return s.passes.si() > cache; });
    if (!samples.empty() && copy.peak[static_cast<std::size_t>(samples.front().format)])
      print("attention " + std::string(dtype), fit_attention(copy, samples, {}));
  }
}

void fit_own(const std::string& folder) {
  auto a = read_hardware("h200-sxm").accelerator;
  const auto all = read_samples({folder + "/kernels-h200.jsonl"}).kernels;
  std::printf("kernels-h200 (eager, events, sustained)\n");
  const auto group = [&](const std::string& name, double above) {
    return keep(all, [&](const KernelSample& s) { return s.group == name && s.seconds > above; });
  };
  print("memory stream", fit_memory(a, group("memory stream", 25e-6), {}));
  for (const auto name : {"activation", "norm", "softmax", "cast", "optimizer"})
    print("memory " + std::string(name), fit_memory(a, group("memory " + std::string(name), 40e-6), {}));
  for (const auto name : {"gemm bf16", "gemm fp8"})
    print(name, fit_gemm_rate(a, group(name, 100e-6), {.regime = Regime::sustained}));
  for (const auto name : {"cudnn", "fa2"}) {
    a.attention[name].sustained.value = 1;
    for (const auto pass : {"forward ", "backward "})
      print(pass + std::string(name), fit_attention(a, group("attention " + std::string(pass) + name, 0), {}));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: napkin-fit-tables FOLDER (the one that holds measured/ and kernels-h200.jsonl)\n");
    return 2;
  }
  try {
    const std::string folder = argv[1];
    fit_own(folder);
    const Device devices[] = {{"A100-SXM4-80GB", "a100-sxm-80gb"},
                              {"H100-SXM5-80GB", "h100-sxm"},
                              {"H200-SXM-141GB", "h200-sxm"},
                              {"B200-HGX", "b200-hgx", 256},
                              {"B300-HGX", "b300-hgx", 256},
                              {"GB200", "gb200-nvl72", 256},
                              {"GB300", "gb300-nvl72", 256},
                              {"L40S", "l40s", 128, false}};
    const auto known = catalog_names();
    for (const auto& d : devices) {
      if (std::find(known.begin(), known.end(), d.hardware) == known.end()) continue;
      fit_device(folder, d);
    }
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "napkin-fit-tables: %s\n", e.what());
    return 2;
  }
}
