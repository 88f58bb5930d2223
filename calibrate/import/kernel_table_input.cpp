// A table of kernels, CSV or JSON lines, one a row: op, shape, dtype and a time. Columns by any of these names:
//   op | kernel | kind        gemm, bmm, attn_fwd, attn_bwd, a memory-bound operation (rms_norm, add ...), a collective
//   shape                     gemm MxNxK or BxMxNxK; attention BxSxHQxHKxD; memory-bound TOKENSxWIDTH
//   m n k batch | b s hq hk d | tokens h | bytes or moved | ranks       instead of shape
//   dtype, backend, causal, regime
//   seconds | t_s | time_s | time_ms | latency_ms | time_us | latency_us
#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>
#include <sstream>

#include "calibrate/import/formats.hpp"
#include "calibrate/samples/csv_input.hpp"
#include "calibrate/samples/collective_sample.hpp"
#include "calibrate/samples/kernel_sample.hpp"
#include "model/input_error.hpp"

namespace napkin::fit {
namespace {

using Cells = std::map<std::string, std::string>;

constexpr double infinity_seconds = 1e6;
constexpr std::pair<std::string_view, double> time_columns[] = {
    {"seconds", 1},      {"t_s", 1},        {"time_s", 1},        {"latency_s", 1},   {"duration_s", 1},
    {"time_ms", 1e-3},   {"ms", 1e-3},      {"latency_ms", 1e-3}, {"duration_ms", 1e-3},
    {"time_us", 1e-6},   {"us", 1e-6},      {"latency_us", 1e-6}, {"duration_us", 1e-6}};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

class Row {
  Cells cells_;
  std::string place_;

 public:
  Row(Cells cells, std::string place) : cells_(std::move(cells)), place_(std::move(place)) {}
  [[noreturn]] void fail(const std::string& message) const { throw InputError(place_ + ": " + message); }
  [[nodiscard]] std::string text(std::initializer_list<const char*> names) const {
    for (const auto* n : names)
      if (const auto at = cells_.find(n); at != cells_.end() && !at->second.empty()) return at->second;
    return {};
  }
  [[nodiscard]] std::optional<double> number(std::initializer_list<const char*> names) const {
    const auto word = text(names);
    if (word.empty()) return {};
    double v = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), v);
    if (error != std::errc{} || end != word.data() + word.size() || !(v > 0))
      fail(std::string(*names.begin()) + " is \"" + word + "\"; write a number above zero");
    return v;
  }
  [[nodiscard]] double seconds() const {
    for (const auto& [name, unit] : time_columns)
      if (const auto v = number({name.data()})) {
        if (*v * unit > infinity_seconds) fail("takes " + std::to_string(*v * unit) + " s; is the unit right?");
        return *v * unit;
      }
    fail("has no time; write a column seconds, time_ms or time_us");
  }
  // "4096x1024x512": its numbers.
  [[nodiscard]] std::vector<double> shape() const {
    std::vector<double> out;
    std::string word = lower(text({"shape"}));
    for (char& c : word)
      if (c == 'x' || c == '*' || c == ',' || c == '(' || c == ')' || c == '[' || c == ']') c = ' ';
    std::istringstream in(word);
    for (double v = 0; in >> v;) {
      if (!(v > 0)) fail("shape has a size that is not above zero");
      out.push_back(v);
    }
    if (!in.eof()) fail("shape is \"" + text({"shape"}) + "\"; write sizes joined by x, such as 4096x4096x8192");
    return out;
  }
};

void copy(const Row& row, ImportJson& line) {
  if (const auto regime = lower(row.text({"regime"})); !regime.empty()) line["regime"] = regime;
}

// Sizes by name, or the numbers of the shape in order.
bool sizes(const Row& row, ImportJson& line, std::initializer_list<const char*> names) {
  const auto shape = row.shape();
  std::size_t i = 0;
  for (const auto* name : names) {
    const auto given = row.number({name});
    if (given) line[name] = *given;
    else if (shape.size() == names.size()) line[name] = shape[i];
    else return false;
    ++i;
  }
  return true;
}

// Bytes an element-wise kernel moves, per element of its result and byte of an element.
double passes(const std::string& op) {
  static const std::set<std::string> three{"add", "residual_add", "residual", "triad", "swiglu"};
  static const std::set<std::string> one{"read", "write", "sum_rows"};
  return three.contains(op) ? 3 : one.contains(op) ? 1 : 2;
}

// Nothing, or why the row stands for no sample.
std::string place(const Row& row, const std::string& op, Collector& out) {
  const double t = row.seconds();
  const auto type = row.text({"dtype", "type"});
  ImportJson line;
  if (op == "gemm" || op == "matmul" || op == "mm" || op == "linear" || op == "bmm" || op == "grouped_mm") {
    if (!matrix_type(type)) return "its dtype \"" + type + "\" is not known";
    const auto shape = row.shape();
    const bool batched = shape.size() == 4 || row.number({"batch"});
    line = {{"kind", batched ? "bmm" : "gemm"}, {"dtype", type}};
    if (!(batched ? sizes(row, line, {"batch", "m", "n", "k"}) : sizes(row, line, {"m", "n", "k"})))
      return "it has no m, n and k";
  } else if (op.starts_with("attn") || op.starts_with("attention") || op.starts_with("flash") || op.starts_with("sdpa")) {
    const bool backward = op.find("bwd") != op.npos || op.find("backward") != op.npos;
    const auto backend = row.text({"backend", "kernel_name", "implementation"});
    if (backend.empty()) return "its backend (cudnn, fa2, fa3 ...) is not given";
    line = {{"kind", backward ? "attn_bwd" : "attn_fwd"}, {"backend", backend}};
    if (!type.empty()) line["dtype"] = type;
    if (!sizes(row, line, {"b", "s", "hq", "hk", "d"})) return "it has no b, s, hq, hk and d";
    const auto causal = lower(row.text({"causal"}));
    line["causal"] = causal.empty() || causal == "true" || causal == "1" || causal == "yes";
  } else if (const auto operation = collective_operation(op)) {
    const auto bytes = row.number({"bytes", "moved"}), ranks = row.number({"ranks", "gpus", "world"});
    if (!bytes || !ranks) return "it has no bytes and ranks";
    std::string kind(to_string(*operation));
    std::replace(kind.begin(), kind.end(), '-', '_');
    line = {{"kind", kind}, {"bytes", *bytes}, {"ranks", static_cast<long long>(*ranks)}};
  } else if (traffic_of(op)) {
    line = {{"kind", "membound"}, {"op", op}};
    auto moved = row.number({"moved", "bytes"});
    if (!moved && matrix_type(type) && sizes(row, line, {"tokens", "h"}))
      moved = line["tokens"].get<double>() * line["h"].get<double>() * matrix_type(type)->bytes * passes(op);
    if (!moved) return "it has neither moved bytes nor a shape and dtype";
    line["moved"] = *moved;
  } else {
    return "no operator of napkin's has that name";
  }
  line["t_s"] = t;
  copy(row, line);
  out.sample(line);
  return {};
}

void take(const Row& row, Collector& out) {
  const auto op = lower(row.text({"op", "kernel", "kind", "operator"}));
  if (op.empty()) row.fail("has no operator; write a column op");
  if (const auto why = place(row, op, out); !why.empty()) out.unmatched(op, why, row.seconds());
}

void json_lines(std::string_view text, const std::string& name, Collector& out) {
  std::istringstream in{std::string(text)};
  std::string line;
  for (std::size_t n = 1; std::getline(in, line); ++n) {
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const auto place = name + ":" + std::to_string(n);
    const auto j = nlohmann::json::parse(line, nullptr, false);
    if (!j.is_object()) throw InputError(place + ": is not a JSON object");
    Cells cells;
    for (const auto& [key, v] : j.items())
      if (!v.is_null() && !v.is_structured()) cells[lower(key)] = v.is_string() ? v.get<std::string>() : v.dump();
    take(Row(std::move(cells), place), out);
  }
}

}  // namespace

void import_kernels(std::string_view text, const std::string& name, const ImportOptions& options, Collector& out) {
  if (text.substr(0, 64).find('{') < text.find('\n')) {
    json_lines(text, name, out);
  } else {
    CsvTable table(name, text);
    const auto columns = table.columns();
    while (table.next()) {
      Cells cells;
      for (const auto& c : columns) cells[lower(c)] = table.text(c);
      take(Row(std::move(cells), table.place()), out);
    }
  }
  ImportJson header{{"kind", "device"}};
  if (!options.device.empty()) header["name"] = options.device;
  header["timer"] = "kernel";
  header["source"] = "kernel table";
  out.header(std::move(header));
  out.note("taken as times of the kernels alone; times with the host's launch in them belong in the fit only where they are long");
}

}  // namespace napkin::fit
