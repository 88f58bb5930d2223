// Traces of a running program. Kineto (PyTorch): kernels carry the id of the operator that launched them, and with
// record_shapes the operator carries its shapes. Nsight Systems' kernel summary has names and times, and no shapes.
#include <algorithm>
#include <cctype>
#include <map>

#include "calibrate/import/formats.hpp"
#include "calibrate/import/kernel_name.hpp"
#include "calibrate/samples/collective_sample.hpp"
#include "calibrate/samples/csv_input.hpp"
#include "calibrate/samples/kernel_sample.hpp"
#include "model/input_error.hpp"
#include "model/percentile.hpp"

namespace napkin::fit {
namespace {

using Json = nlohmann::json;
constexpr double microsecond = 1e-6, nanosecond = 1e-9;

struct Operator {
  std::string name;
  std::vector<std::vector<double>> dims;
  std::vector<std::string> types;
  std::vector<std::string> values;  // "Concrete Inputs"
};
struct Kernel {
  std::string name;
  double seconds = 0;
};

double product(const std::vector<double>& dims) {
  double p = dims.empty() ? 0 : 1;
  for (const double d : dims) p *= d;
  return p;
}

// "c10::BFloat16" → bf16
std::optional<MatrixType> tensor_type(const Operator& o, std::size_t i) {
  if (i >= o.types.size()) return {};
  std::string word;
  for (const char c : o.types[i].substr(o.types[i].rfind(':') + 1))
    word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (word.starts_with("float8")) word = "fp8";
  return matrix_type(word);
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

// Nothing, or why the operator stands for no sample; fills `line` but for its time.
std::string matrix_product(const Operator& o, ImportJson& line) {
  const bool added = contains(o.name, "addmm") || contains(o.name, "baddbmm"), batched = contains(o.name, "bmm");
  const std::size_t a = added ? 1 : 0, rank = batched ? 3 : 2;
  if (o.dims.size() < a + 2 || o.dims[a].size() != rank || o.dims[a + 1].size() != rank)
    return "its shapes are not in the trace (record_shapes=True)";
  const auto type = tensor_type(o, a);
  if (!type) return "its type is not a number format of napkin's";
  const auto &x = o.dims[a], &y = o.dims[a + 1];
  line = {{"kind", batched ? "bmm" : "gemm"}, {"dtype", type->name}};
  if (batched) line["batch"] = x[0];
  line["m"] = x[rank - 2];
  line["n"] = y[rank - 1];
  line["k"] = x[rank - 1];
  return {};
}

// Q, K and V: [batch, heads, sequence, dim] of the scaled_dot_product operators, [batch, sequence, heads, dim] of
// _flash_attention; backward operators have the output's gradient before them.
std::string attention(const Operator& o, ImportJson& line) {
  const bool backward = contains(o.name, "backward"), flat = contains(o.name, "_flash_attention_");
  const std::size_t q = backward ? 1 : 0;
  if (o.dims.size() < q + 3 || o.dims[q].size() != 4 || o.dims[q + 1].size() != 4)
    return "its shapes are not in the trace (record_shapes=True)";
  const std::size_t heads = flat ? 2 : 1, sequence = flat ? 1 : 2;
  const auto &x = o.dims[q], &y = o.dims[q + 1];
  if (x[sequence] != y[sequence]) return "its queries and keys differ in length";
  line = {{"kind", backward ? "attn_bwd" : "attn_fwd"},
          {"backend", contains(o.name, "cudnn") ? "cudnn" : contains(o.name, "flash") ? "fa2" : "efficient"},
          {"b", x[0]}, {"s", x[sequence]}, {"hq", x[heads]}, {"hk", y[heads]}, {"d", x[3]}};
  // The mask stands among the concrete inputs: the first true or false of the operator's arguments.
  const auto causal = std::find_if(o.values.begin(), o.values.end(), [](const std::string& v) { return v == "True" || v == "False"; });
  if (causal == o.values.end()) return "whether it is causal is not in the trace";
  line["causal"] = *causal == "True";
  return {};
}

struct Elementwise {
  std::string_view name, op;
  double reads_and_writes;  // of the first tensor
};
constexpr Elementwise elementwise_operators[] = {
    {"aten::add", "add", 3},     {"aten::add_", "add", 3},          {"aten::native_layer_norm", "layer_norm", 2},
    {"aten::_fused_rms_norm", "rms_norm", 2}, {"aten::gelu", "gelu", 2}, {"aten::silu", "silu", 2},
    {"aten::_softmax", "softmax", 2}};

std::string element_wise(const Operator& o, ImportJson& line) {
  if (o.dims.empty() || o.dims[0].empty()) return "its shapes are not in the trace (record_shapes=True)";
  const auto type = tensor_type(o, 0);
  if (!type) return "its type is not a number format of napkin's";
  if (o.name == "aten::copy_") {
    const auto from = tensor_type(o, 1);
    if (!from || o.dims.size() < 2) return "its type is not a number format of napkin's";
    const bool cast = from->name != type->name;
    line = {{"kind", "membound"}, {"op", cast ? "cast" : "copy"},
            {"moved", product(o.dims[0]) * type->bytes + product(o.dims[1]) * from->bytes}};
    return {};
  }
  for (const auto& e : elementwise_operators)
    if (o.name == e.name) {
      if (e.op == "add" && (o.dims.size() < 2 || o.dims[0] != o.dims[1])) return "its operands are broadcast";
      line = {{"kind", "membound"}, {"op", e.op}, {"moved", product(o.dims[0]) * type->bytes * e.reads_and_writes}};
      return {};
    }
  return "no operator of napkin's has that name";
}

std::string place(const Operator& o, ImportJson& line) {
  for (const auto* name : {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::_scaled_mm"})
    if (o.name == name) return matrix_product(o, line);
  if (contains(o.name, "attention")) return attention(o, line);
  return element_wise(o, line);
}

class Kineto {
  Collector& out_;
  std::map<std::string, Operator> operators_;           // by external id
  std::map<std::string, std::vector<Kernel>> kernels_;  // by external id
  std::map<std::string, std::pair<ImportJson, std::vector<double>>> samples_;  // by their line without a time
  std::size_t events_ = 0;

  static std::string id_of(const Json& args) {
    const auto at = args.find("External id");
    return at == args.end() ? std::string() : at->is_string() ? at->get<std::string>() : at->dump();
  }

  void add(const ImportJson& line, double seconds) {
    auto& s = samples_[line.dump()];
    s.first = line;
    s.second.push_back(seconds);
  }

  // PyTorch writes what a collective moved beside its kernel.
  bool collective(const Json& args, double seconds) {
    const auto name = args.find("Collective name"), group = args.find("Group size");
    const auto in = args.find("In msg nelems"), sent = args.find("Out msg nelems"), type = args.find("dtype");
    if (name == args.end() || group == args.end() || in == args.end() || sent == args.end() || type == args.end()) return false;
    if (!name->is_string() || !group->is_number() || !in->is_number() || !sent->is_number() || !type->is_string()) return false;
    std::string word = name->get<std::string>();
    word = word.starts_with('_') ? word.substr(1) : word;
    if (const auto base = word.find("_base"); base != word.npos) word = word.substr(0, base);
    if (word.starts_with("allgather")) word = "all_gather";
    const auto operation = collective_operation(word);
    std::string t;
    for (const char c : type->get<std::string>()) t += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const auto format = matrix_type(t);
    if (!operation || !format) return false;
    const double elements = std::max(in->get<double>(), sent->get<double>());  // the whole of a gathered or scattered buffer
    std::string kind(to_string(*operation));
    std::replace(kind.begin(), kind.end(), '-', '_');
    if (elements > 0)
      add({{"kind", kind}, {"bytes", elements * format->bytes}, {"ranks", group->get<long long>()}}, seconds);
    return true;
  }

  void event(const Json& e) {
    if (!e.is_object()) return;
    const auto category = e.value("cat", std::string()), name = e.value("name", std::string());
    const auto args = e.find("args");
    if (args == e.end() || !args->is_object()) return;
    ++events_;
    if (category == "cpu_op") {
      Operator o{name, {}, {}, {}};
      if (const auto dims = args->find("Input Dims"); dims != args->end() && dims->is_array())
        for (const auto& d : *dims) {
          o.dims.emplace_back();
          if (d.is_array())
            for (const auto& v : d)
              if (v.is_number()) o.dims.back().push_back(v.get<double>());
        }
      for (const auto* key : {"Input type", "Concrete Inputs"})
        if (const auto list = args->find(key); list != args->end() && list->is_array())
          for (const auto& v : *list)
            (std::string(key) == "Input type" ? o.types : o.values).push_back(v.is_string() ? v.get<std::string>() : v.dump());
      if (const auto id = id_of(*args); !id.empty()) operators_[id] = std::move(o);
    } else if (category == "kernel") {
      const auto duration = e.find("dur");
      if (duration == e.end() || !duration->is_number() || !(duration->get<double>() > 0)) return;
      const double seconds = duration->get<double>() * microsecond;
      if (collective(*args, seconds)) return;
      const auto id = id_of(*args);
      if (id.empty()) unplaced(name, "the operator that launched it is not in the trace", seconds);
      else kernels_[id].push_back({name, seconds});
    }
  }

  void unplaced(const std::string& kernel, const std::string& why, double seconds) {
    const auto read = read_kernel_name(kernel);
    out_.unmatched(kernel.substr(0, 100), std::string(to_string(read.role)) + ": " + why, seconds);
  }

 public:
  explicit Kineto(Collector& out) : out_(out) {}

  void read(std::string_view text, const std::string& name) {
    constexpr int depth_of_event = 2;
    const auto keep = [this](int depth, Json::parse_event_t what, Json& parsed) {
      if (what != Json::parse_event_t::object_end || depth != depth_of_event) return true;
      event(parsed);
      return false;  // events are dropped as soon as they are read: traces are large
    };
    const auto whole = Json::parse(text, keep, false);
    if (whole.is_discarded()) throw InputError(name + ": is not JSON, or is cut short");
    if (events_ == 0) throw InputError(name + ": holds no events with arguments; is it a PyTorch (Kineto) trace?");
    for (const auto& [id, kernels] : kernels_) {
      double seconds = 0;
      for (const auto& k : kernels) seconds += k.seconds;
      const auto o = operators_.find(id);
      ImportJson line;
      const auto why = o == operators_.end() ? "the operator that launched it is not in the trace" : place(o->second, line);
      if (why.empty()) add(line, seconds);
      else
        for (const auto& k : kernels) unplaced(k.name, o == operators_.end() ? why : o->second.name + ": " + why, k.seconds);
    }
    for (auto& [key, s] : samples_) {
      auto& [line, times] = s;
      line["t_s"] = percentile(times, 0.5);
      line["t_min"] = percentile(times, 0);
      // A collective's kernel also waits for the slowest rank: the shortest one waited least.
      if (collective_operation(line["kind"].get<std::string>())) line["t_s"] = line["t_min"];
      line["iters"] = times.size();
      out_.sample(line);
    }
  }
};

}  // namespace

void import_kineto(std::string_view text, const std::string& name, Collector& out) {
  Kineto(out).read(text, name);
  ImportJson header{{"kind", "device"}};
  // The list of devices stands at the top of the file: {"deviceProperties": [{"name": "NVIDIA H200", ...
  if (const auto at = text.find("\"deviceProperties\""); at != text.npos)
    if (const auto key = text.find("\"name\"", at); key != text.npos && key < at + 400) {
      const auto open = text.find('"', key + 6), close = text.find('"', open + 1);
      if (close != text.npos) header["name"] = std::string(text.substr(open + 1, close - open - 1));
    }
  header["timer"] = "kernel";
  header["regime"] = "sustained";
  header["source"] = "Kineto trace";
  out.header(std::move(header));
  out.note("a trace of a running program: taken as sustained clocks; operands may lie in the cache");
}

void import_nsys(std::string_view text, const std::string& name, const ImportOptions& options, Collector& out) {
  // Lines of the exporter may stand before the table.
  const auto header_at = text.find("Time (%)");
  if (header_at == text.npos) throw InputError(name + ": has no column \"Time (%)\"; export it with nsys stats --report cuda_gpu_kern_sum --format csv");
  const auto line = static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(header_at), '\n')) + 1;
  for (CsvTable t(name, text.substr(header_at), line); t.next();) {
    const auto kernel = t.text("Name");
    const double instances = t.positive("Instances"), total = t.positive("Total Time (ns)") * nanosecond;
    const double median = t.has("Med (ns)") ? t.positive("Med (ns)") * nanosecond : total / instances;
    const auto read = read_kernel_name(kernel);
    if (read.role == KernelRole::unknown) {
      out.unmatched(kernel.substr(0, 100), "its name tells no operator", total);
      continue;
    }
    ImportJson row{{"kind", "kernel_summary"}, {"role", to_string(read.role)}};
    if (!read.detail.empty()) row["detail"] = read.detail;
    if (!read.dtype.empty()) row["dtype"] = read.dtype;
    row["name"] = kernel;
    row["iters"] = static_cast<long long>(instances);
    row["t_s"] = median;
    row["total_s"] = total;
    out.sample(row);
  }
  ImportJson header{{"kind", "device"}};
  if (!options.device.empty()) header["name"] = options.device;
  header["timer"] = "kernel";
  header["regime"] = "sustained";
  header["source"] = "Nsight Systems kernel summary";
  out.header(std::move(header));
  out.note("a kernel summary has no shapes: it says where the time goes, and no constant can be fitted to it; a PyTorch trace with record_shapes=True has them");
}

}  // namespace napkin::fit
