#include "model/validation/kernel_input.hpp"

#include <fmt/format.h>

#include "calibrate/samples/samples.hpp"

namespace napkin::validation {

bool is_kernel(const std::string& kind) {
  for (const auto* known : {"gemm", "bmm", "grouped_mm", "gemm_sustained", "attn_fwd", "attn_bwd", "attn_decode", "membound", "h2d", "d2h"})
    if (kind == known) return true;
  return fit::traffic_of(kind).has_value();
}

void check_not_hidden(const Field& time, double seconds, double call) {
  constexpr double calls = 4;
  if (seconds < calls * call)
    time.fail(fmt::format("shorter than {:g} empty calls timed the same way: the time is the host's", calls));
}

void replay_kernel(const Field& record, const Accelerator& a, double call, Replay& r) {
  if (record["kind"].string() == "attn_decode" && !record.has("backend"))
    record["kind"].fail("no formula predicts attention of one query by a kernel without a name; write \"backend\"");
  const auto sample = fit::read_kernel_row(record);
  if (!sample && record.has("op")) record["op"].fail("\"" + record["op"].string() + "\" is not an operator that is known here");
  if (!sample) record.fail("says nowhere how many bytes it moved; write \"moved\"");
  if (const auto f = record.find("dtype")) r.run.precision = f->string();
  const bool matrix = sample->kind == fit::KernelSample::Kind::gemm || sample->kind == fit::KernelSample::Kind::attention;
  if (matrix && !has_format(a, sample->format)) record.fail(a.name + " does not multiply " + std::string(to_string(sample->format)));
  if (sample->kind == fit::KernelSample::Kind::attention && !a.attention.contains(sample->kernel))
    record["backend"].fail(a.name + " has no attention kernel \"" + sample->kernel + "\"");
  check_not_hidden(record[record.has("t_s") ? "t_s" : "tflops"], sample->seconds, call);
  // As training runs, unless the row says otherwise.
  const auto predicted = fit::predict(a, *sample, sample->regime.value_or(Regime::sustained));
  r.parts.push_back({.what = "", .measured = sample->seconds, .predicted = predicted});
}

}  // namespace napkin::validation
