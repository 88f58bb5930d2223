#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <sstream>

#include "calibrate/fit/kernel_sample.hpp"
#include "model/input/document_input.hpp"

namespace napkin::fit {
namespace {

constexpr double microsecond = 1e-6;

// Bytes of an element, and the matrix format, that a table's word for a type stands for.
struct Type {
  Format format;
  double bytes;
};
const std::map<std::string, Type, std::less<>>& types() {
  static const std::map<std::string, Type, std::less<>> known{
      {"bfloat16", {Format::bf16, 2}}, {"bf16", {Format::bf16, 2}},     {"float16", {Format::fp16, 2}},
      {"fp16", {Format::fp16, 2}},     {"tf32", {Format::tf32, 4}},     {"float32", {Format::fp32, 4}},
      {"float64", {Format::fp64, 8}},  {"fp8", {Format::fp8, 1}},       {"fp8_e4m3", {Format::fp8, 1}},
      {"fp8_block", {Format::fp8, 1}}, {"nvfp4", {Format::fp4, 0.5625}}};  // nvfp4: 4 bits and an 8-bit scale for 16
  return known;
}

// Bytes moved for each element of the activation by the quantisation that the tables' times include: 16-bit values read
// for their maximum, read again and written; with block scales the maximum and the conversion are one pass.
const std::map<std::string, double, std::less<>> quantisation_bytes{
    {"fp8", 2 + 2 + 1}, {"fp8_block", 2 + 1}, {"nvfp4", 2 + 0.5625}};

// A CSV file whose first line names the columns.
class Table {
  std::ifstream in_;
  std::string path_;
  std::map<std::string, std::size_t> column_;
  std::vector<std::string> cells_;
  std::size_t line_ = 1;

  void split(const std::string& text) {
    cells_.clear();
    std::istringstream row(text);
    for (std::string cell; std::getline(row, cell, ',');) cells_.push_back(cell);
  }

 public:
  explicit Table(const std::string& path) : in_(path), path_(path) {
    std::string header;
    if (!std::getline(in_, header)) throw InputError(path + ": cannot be read, or is empty");
    split(header);
    for (std::size_t i = 0; i < cells_.size(); ++i) column_[cells_[i]] = i;
  }
  bool next() {
    std::string text;
    if (!std::getline(in_, text)) return false;
    ++line_;
    split(text);
    return true;
  }
  [[nodiscard]] const std::string& text(const std::string& name) const {
    const auto at = column_.find(name);
    if (at == column_.end()) throw InputError(path_ + ":1: has no column \"" + name + "\"");
    if (at->second >= cells_.size())
      throw InputError(path_ + ":" + std::to_string(line_) + ": ends before column \"" + name + "\"");
    return cells_[at->second];
  }
  [[nodiscard]] double positive(const std::string& name) const {
    const auto& cell = text(name);
    double v = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), v);
    if (error != std::errc{} || end != cell.data() + cell.size() || !(v > 0))
      throw InputError(path_ + ":" + std::to_string(line_) + ": " + name + " is \"" + cell +
                       "\"; write a number above zero");
    return v;
  }
};

std::string join(std::initializer_list<double> sizes) {
  std::string out;
  for (const double v : sizes) out += (out.empty() ? "" : "x") + std::to_string(static_cast<long long>(v));
  return out;
}

KernelSample gemm_sample(const std::string& type, const GemmShape<Plain>& shape, double seconds) {
  const auto [format, bytes] = types().at(type);
  KernelSample s;
  s.group = "gemm " + type;
  s.shape = join({shape.count.si(), shape.m.si(), shape.n.si(), shape.k.si()});
  s.seconds = seconds;
  s.format = format;
  s.gemm = shape;
  s.input_bytes = bytes;
  s.output_bytes = std::max(2.0, bytes);  // results of fp8 and fp4 products are 16-bit
  return s;
}

KernelSample attention_sample(const std::string& kernel, const AttentionShape<Plain>& shape, Pass pass,
                              double seconds) {
  KernelSample s;
  s.kind = KernelSample::Kind::attention;
  s.group = std::string(pass == Pass::forward ? "attention forward " : "attention backward ") + kernel;
  s.shape = join({shape.batch.si(), shape.queries.si(), shape.heads.si(), shape.kv_heads.si(), shape.head_dim.si(),
                  shape.causal ? 1.0 : 0.0});
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

const std::map<std::string, Traffic, std::less<>> traffic_of_operator{
    {"add", Traffic::stream},   {"gelu", Traffic::activation}, {"rms_norm", Traffic::norm}, {"layer_norm", Traffic::norm},
    {"softmax", Traffic::softmax}, {"cast_fp32", Traffic::cast}, {"sum_rows", Traffic::norm}};
const std::map<std::string, std::string, std::less<>> kernel_of_backend{{"FLASH_ATTENTION", "fa2"},
                                                                        {"CUDNN_ATTENTION", "cudnn"}};

template <class Map>
const auto& look_up(const Map& known, const Field& f) {
  const auto word = f.string();
  const auto at = known.find(word);
  if (at == known.end()) f.fail("is \"" + word + "\", which is not known");
  return *at;
}

}  // namespace

std::vector<KernelSample> read_gemm_table(const std::string& path, const std::string& device,
                                          const std::string& dtype) {
  std::vector<KernelSample> out;
  for (Table t(path); t.next();) {
    if (t.text("device") != device || t.text("dtype") != dtype) continue;
    const double m = t.positive("m"), k = t.positive("k");
    auto& s = out.emplace_back(gemm_sample(dtype, {m, t.positive("n"), k}, t.positive("latency_us") * microsecond));
    const auto passes = quantisation_bytes.find(dtype);
    if (passes != quantisation_bytes.end()) s.passes = Bytes::si(m * k * passes->second);
  }
  return out;
}

std::vector<KernelSample> read_attention_table(const std::string& path, const std::string& device,
                                               const std::string& dtype, const std::string& kernel) {
  std::vector<KernelSample> out;
  for (Table t(path); t.next();) {
    if (t.text("device") != device || t.text("attn_dtype") != dtype) continue;
    const double s = t.positive("seq"), d = t.positive("head_dim");
    const AttentionShape<Plain> shape{t.positive("batch"), s, s, t.positive("heads"), t.positive("kv_heads"), d, d};
    auto& sample = out.emplace_back(
        attention_sample(kernel, shape, Pass::forward, t.positive("latency_us") * microsecond));
    sample.format = types().at(dtype).format;
    // Rotary embedding and KV write: Q, K and V are read and written once.
    sample.passes = 2 * shape.batch * s * (shape.heads + 2 * shape.kv_heads) * d * (2 * byte);
  }
  return out;
}

std::vector<KernelSample> read_kernel_lines(const std::string& path) {
  std::vector<KernelSample> out;
  std::ifstream in(path);
  if (!in) throw InputError(path + ": cannot be read");
  std::string text;
  for (std::size_t line = 1; std::getline(in, text); ++line) {
    if (text.empty()) continue;
    const auto document = Document::parse_line(text, path, line);
    const auto row = document.root();
    const auto kind = row["kind"].string();
    const auto number = [&row](std::string_view key) { return row[key].number(); };
    if (kind == "gemm") {
      out.push_back(gemm_sample(look_up(types(), row["dtype"]).first, {number("m"), number("n"), number("k")},
                                number("t_s")));
    } else if (kind == "bmm" || kind == "grouped_mm") {
      auto& s = out.emplace_back(gemm_sample(look_up(types(), row["dtype"]).first,
                                             {number("m"), number("n"), number("k"), number("batch")}, number("t_s")));
      s.group = "gemm batched";
    } else if (kind == "attn_fwd" || kind == "attn_bwd") {
      const double s = number("s"), d = number("d");
      out.push_back(attention_sample(look_up(kernel_of_backend, row["backend"]).second,
                                     {number("b"), s, s, number("hq"), number("hk"), d, d, row["causal"].boolean()},
                                     kind == "attn_fwd" ? Pass::forward : Pass::backward, number("t_s")));
    } else if (kind == "membound") {
      out.push_back(memory_sample(look_up(traffic_of_operator, row["op"]).second, number("moved"), number("t_s")));
    } else if (kind == "copy") {
      out.push_back(memory_sample(Traffic::stream, number("moved"), number("t_s")));
    } else if (kind == "adamw_fused_fp32") {
      out.push_back(memory_sample(Traffic::optimizer, number("moved"), number("t_s")));
    }
  }
  return out;
}

}  // namespace napkin::fit
