#include "model/validation/kernel_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "model/kernel/kernel.hpp"

namespace napkin::validation {
namespace {

constexpr Regime regime = Regime::sustained;  // as training runs

struct Element {
  Format format;
  double bytes;
};
const std::map<std::string, Element, std::less<>> elements{
    {"bf16", {Format::bf16, 2}}, {"float16", {Format::fp16, 2}}, {"fp16", {Format::fp16, 2}},     {"tf32", {Format::tf32, 4}},
    {"float32", {Format::fp32, 4}}, {"float64", {Format::fp64, 8}}, {"fp8_e4m3", {Format::fp8, 1}}, {"fp8", {Format::fp8, 1}}};
const std::map<std::string, std::string, std::less<>> attention_of_backend{{"FLASH_ATTENTION", "fa2"}, {"CUDNN_ATTENTION", "cudnn"}};
const std::map<std::string, Traffic, std::less<>> traffic_of_operator{
    {"add", Traffic::stream},      {"gelu", Traffic::activation}, {"rms_norm", Traffic::norm}, {"layer_norm", Traffic::norm},
    {"softmax", Traffic::softmax}, {"cast_fp32", Traffic::cast},  {"sum_rows", Traffic::norm}};

template <class Map>
const auto& look_up(const Map& known, const Field& f) {
  const auto word = f.string();
  const auto at = known.find(word);
  if (at == known.end()) f.fail("\"" + word + "\" is not known here");
  return at->second;
}

double positive(const Field& record, std::string_view key) {
  const double v = record[key].number();
  if (!(v > 0)) record[key].fail("is " + record[key].raw() + "; write a number above zero");
  return v;
}

Seconds gemm(const Field& f, const Accelerator& a, bool batched, Replay& r) {
  const Element e = look_up(elements, f["dtype"]);
  r.run.precision = f["dtype"].string();
  if (!has_format(a, e.format)) f["dtype"].fail(a.name + " does not multiply " + r.run.precision);
  constexpr double least_output_bytes = 2;  // products of narrow formats are 16-bit
  const GemmShape<Plain> shape{positive(f, "m"), positive(f, "n"), positive(f, "k"), batched ? positive(f, "batch") : 1};
  return gemm_cost<Plain>(Scope<Plain>(), a, e.format, e.bytes, std::max(least_output_bytes, e.bytes), shape, regime).time;
}

Seconds attention(const Field& f, const Accelerator& a, Pass pass) {
  const double s = positive(f, "s"), d = positive(f, "d");
  const AttentionShape<Plain> shape{positive(f, "b"), s, s, positive(f, "hq"), positive(f, "hk"), d, d, f["causal"].boolean()};
  return attention_cost<Plain>(Scope<Plain>(), a, look_up(attention_of_backend, f["backend"]), Format::bf16, shape, pass, regime).time;
}

Seconds moved(const Field& f, const Accelerator& a, Traffic traffic) {
  return elementwise_cost<Plain>(Scope<Plain>(), a, Bytes::si(positive(f, "moved")), traffic).time;
}

using Price = Seconds (*)(const Field&, const Accelerator&, Replay&);
const std::map<std::string, Price, std::less<>>& prices() {
  static const std::map<std::string, Price, std::less<>> known{
      {"gemm", [](const Field& f, const Accelerator& a, Replay& r) { return gemm(f, a, false, r); }},
      {"bmm", [](const Field& f, const Accelerator& a, Replay& r) { return gemm(f, a, true, r); }},
      {"grouped_mm", [](const Field& f, const Accelerator& a, Replay& r) { return gemm(f, a, true, r); }},
      {"attn_fwd", [](const Field& f, const Accelerator& a, Replay&) { return attention(f, a, Pass::forward); }},
      {"attn_bwd", [](const Field& f, const Accelerator& a, Replay&) { return attention(f, a, Pass::backward); }},
      {"membound", [](const Field& f, const Accelerator& a, Replay&) { return moved(f, a, look_up(traffic_of_operator, f["op"])); }},
      {"copy", [](const Field& f, const Accelerator& a, Replay&) { return moved(f, a, Traffic::stream); }},
      {"adamw_fused_fp32", [](const Field& f, const Accelerator& a, Replay&) { return moved(f, a, Traffic::optimizer); }}};
  return known;
}

}  // namespace

bool is_kernel(const std::string& kind) { return prices().contains(kind); }

void check_not_hidden(const Field& time, double seconds, double call) {
  constexpr double calls = 4;
  if (seconds < calls * call)
    time.fail(fmt::format("shorter than {:g} empty calls timed the same way: the time is the host's", calls));
}

void replay_kernel(const Field& record, const Accelerator& a, double call, Replay& r) {
  const double seconds = positive(record, "t_s");
  check_not_hidden(record["t_s"], seconds, call);
  r.parts.push_back({.what = "", .measured = seconds, .predicted = prices().at(r.run.kind)(record, a, r).si()});
}

}  // namespace napkin::validation
