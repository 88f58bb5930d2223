#include "calibrate/samples/samples.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "model/input/document_input.hpp"
#include "model/text.hpp"

namespace napkin::fit {
namespace {

constexpr std::int64_t most_ranks = 1'000'000, most_size = 1'000'000'000;  // of one dimension of a kernel
constexpr double most = 1e18;  // bytes, seconds, TFLOP/s
// Ways of timing that see the kernel alone, or hide the host's part behind the call before; any other includes it.
constexpr std::array<std::string_view, 4> kernel_timers{"kernel", "cupti", "graph", "loop"};
// The product that a sustained run repeats when the row does not say (8192 cubed).
constexpr double sustained_edge = 8192;

double positive(const Field& f) {
  const double v = f.number();
  if (!(v > 0)) f.fail("is " + f.raw() + "; write a number above zero");
  if (v > most) f.fail("is " + f.raw() + ", more than any machine has; write a number up to 1e18");
  return v;
}
double whole(const Field& f) { return static_cast<double>(f.integer(1, most_size)); }
double optional_whole(const Field& row, std::string_view key, double otherwise) {
  const auto f = row.find(key);
  return f ? whole(*f) : otherwise;
}
// A kernel's name becomes a key of the hardware file.
std::string kernel_word(const Field& f) {
  const auto word = f.string();
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.'; };
  if (word.empty() || word.size() > 64 || !std::all_of(word.begin(), word.end(), plain))
    f.fail("is " + one_line(f.raw(), 80) + "; write a name of letters, digits, \"_\", \"-\" and \".\"");
  return attention_kernel(word);
}
MatrixType type(const Field& row) {
  const auto f = row["dtype"];
  const auto t = matrix_type(f.string());
  if (!t) f.fail("is " + f.raw() + ", not a number format; write bf16, fp16, tf32, fp32, fp8_e4m3 or nvfp4");
  return *t;
}
Regime regime(const Field& f) {
  if (f.string() == "sustained") return Regime::sustained;
  if (f.string() != "burst") f.fail("is " + f.raw() + "; write \"sustained\" or \"burst\"");
  return Regime::burst;
}
bool sees_kernels(const Field& timer) {
  return std::find(kernel_timers.begin(), kernel_timers.end(), timer.string()) != kernel_timers.end();
}

// The sizes of a product: beside a count of repetitions they stand apart, under "case".
Field shape_of(const Field& row) {
  const auto apart = row.find("case");
  return apart ? *apart : row;
}

KernelSample gemm_of(const Field& row, const std::string& kind) {
  const auto size = shape_of(row);
  const auto count = size.find("batch");
  const GemmShape<Plain> shape{whole(size["m"]), whole(size["n"]), whole(size["k"]),
                               count ? whole(*count) : kind == "gemm" ? 1.0 : whole(size["batch"])};
  auto s = gemm_sample(type(row), shape, positive(row["t_s"]));
  if (shape.count.si() > 1) s.group = kind == "grouped_mm" ? "gemm grouped" : "gemm batched";
  s.gemm.grouped = kind == "grouped_mm";
  return s;
}

KernelSample sustained_gemm_of(const Field& row) {
  const auto size = shape_of(row);
  const double m = optional_whole(size, "m", sustained_edge), n = optional_whole(size, "n", m), k = optional_whole(size, "k", m);
  const auto rate = row.find("tflops");
  auto s = gemm_sample(row.has("dtype") ? type(row) : *matrix_type("bf16"), {m, n, k},
                       rate ? 2 * m * n * k / (positive(*rate) * TFLOP.si()) : positive(row["t_s"]));
  s.regime = Regime::sustained;
  return s;
}

KernelSample attention_of(const Field& row, Pass pass) {
  const double s = whole(row["s"]), d = whole(row["d"]);
  const auto causal = row.find("causal");
  AttentionShape<Plain> shape{whole(row["b"]), optional_whole(row, "sq", s), s, whole(row["hq"]),
                              optional_whole(row, "hk", row["hq"].number()), d, optional_whole(row, "dv", d)};
  shape.causal = !causal || causal->boolean();
  auto x = attention_sample(kernel_word(row["backend"]), shape, pass, positive(row["t_s"]));
  if (row.has("dtype")) x.format = type(row).format;
  return x;
}

std::optional<KernelSample> memory_of(const Field& row, const std::string& operation) {
  const auto traffic = traffic_of(operation);
  if (!traffic) return {};
  auto s = memory_sample(*traffic, positive(row["moved"]), positive(row["t_s"]));
  const auto width = row.find("h");
  const auto tokens = row.find("tokens");
  if (width && tokens) s.shape = tokens->raw() + "x" + width->raw();
  s.shape = operation + " " + s.shape;
  // One block reduces a row of 16-bit elements.
  if (width && (*traffic == Traffic::norm || *traffic == Traffic::softmax)) s.row = 2 * positive(*width) * byte;
  return s;
}

// Nothing for a kind that is no kernel, or an operator that is not known.
std::optional<KernelSample> kernel_of(const Field& row, const std::string& kind) {
  const auto made = [&]() -> std::optional<KernelSample> {
    if (kind == "gemm" || kind == "bmm" || kind == "grouped_mm") return gemm_of(row, kind);
    if (kind == "gemm_sustained") return sustained_gemm_of(row);
    if (kind == "attn_fwd" || kind == "attn_bwd" || kind == "attn_decode")
      return attention_of(row, kind == "attn_bwd" ? Pass::backward : Pass::forward);
    if (kind == "membound") return memory_of(row, row["op"].string());
    if (kind == "h2d" || kind == "d2h") return host_sample(kind == "h2d", positive(row["bytes"]), positive(row["t_s"]));
    if (traffic_of(kind) && row.has("moved")) return memory_of(row, kind);
    return {};
  };
  auto s = made();
  if (const auto f = row.find("regime"); s && f) s->regime = regime(*f);
  return s;
}

// State that a header record sets for the rows below it.
struct Header {
  bool host_timed = true;
  bool kernel_alone = false;  // timed on the device, from start to end
  std::optional<Regime> regime;
  int ranks = 0, per_node = 0;
  bool multicast = true;
  bool warm = false;  // operands lie in the second-level cache
};

class Reader {
  Samples& out_;
  Header header_;
  double call_ = 0;  // of the file's launch record
  // From one header to the next: what was measured together.
  struct Run {
    std::string file, machine;     // machine: name, driver and CUDA; empty = not said
    std::size_t first = 0, last = 0;  // collectives
    double gap = 0;                // seconds between dependent kernels of one stream, where a launch record says
  };
  std::vector<Run> runs_;

  void start_run(const std::string& file) {
    if (!runs_.empty()) runs_.back().last = out_.collectives.size();
    runs_.push_back({file, {}, out_.collectives.size(), out_.collectives.size(), 0});
  }
  // Other machines or software than the first header's are told, once a header.
  void compare_header(const Field& row) {
    constexpr std::array<std::string_view, 7> keys{"name", "compute_capability", "sms", "mem", "driver", "cuda", "nccl"};
    std::string differs;
    for (const auto key : keys) {
      const auto f = row.find(key);
      const auto at = out_.device.find(std::string(key));
      if (!f || at == out_.device.end()) continue;
      const auto text = f->is(Field::Type::string) ? f->string() : f->raw();
      if (text != at->second) differs += (differs.empty() ? "" : ", ") + std::string(key) + " " + one_line(text, 60) + " beside " + one_line(at->second, 60);
    }
    if (!differs.empty()) out_.notes.push_back(runs_.back().file + ": another machine or software than the first header's: " + differs);
    for (const auto key : {"name", "driver", "cuda"})
      if (const auto f = row.find(key)) runs_.back().machine += (f->is(Field::Type::string) ? f->string() : f->raw()) + '\n';
  }

  [[nodiscard]] bool host_timed(const Field& row) const {
    const auto f = row.find("timer");
    return f ? !sees_kernels(*f) : header_.host_timed;
  }
  void read_header(const Field& row) {
    start_run(runs_.back().file);
    compare_header(row);
    for (const auto& [key, value] : row.members())
      if (key != "kind" && key != "rows") out_.device.try_emplace(key, value.is(Field::Type::string) ? value.string() : value.raw());
    // What rows leave out stands in the header, or under its "rows".
    const auto rows = row.find("rows");
    for (const auto& said : {std::optional(row), rows}) {
      if (!said) continue;
      if (const auto f = said->find("timer")) header_.host_timed = !sees_kernels(*f), header_.kernel_alone = f->string() == "cupti";
      if (const auto f = said->find("regime")) header_.regime = regime(*f);
    }
    if (const auto f = rows ? rows->find("l2") : rows) header_.warm = f->string() == "warm";
    if (const auto f = row.find("nvls")) header_.multicast = f->boolean();
    for (const auto key : {"world", "ranks", "gpus"})
      if (const auto f = row.find(key)) header_.ranks = static_cast<int>(f->integer(1, most_ranks));
    if (const auto f = row.find("ranks_per_node")) header_.per_node = static_cast<int>(f->integer(1, most_ranks));
  }

  void add(const Field& row, KernelSample s) {
    s.host_timed = host_timed(row);
    if (!s.regime) s.regime = header_.regime;
    if (!s.regime && s.kind != KernelSample::Kind::memory && s.kind != KernelSample::Kind::host)
      out_.regime_stated = false;
    out_.kernels.push_back(std::move(s));
  }

  void read_collective(const Field& row, Operation operation) {
    if (const auto groups = row.find("groups"); groups && groups->number() > 1) {
      ++out_.unused[std::string(to_string(operation)) + ", several groups at once"];
      return;
    }
    const auto ranks = row.has("ranks") ? row.find("ranks") : row.find("world");
    const int n = ranks ? static_cast<int>(ranks->integer(1, most_ranks)) : header_.ranks;
    if (n < 1) row.fail("says nowhere how many ranks took part; write \"ranks\": 8, or \"world\" in the header");
    const auto node = row.find("ranks_per_node");
    const auto amortised = row.find("t_amortised");
    auto s = collective_sample(operation, n, node ? static_cast<int>(node->integer(1, most_ranks)) : header_.per_node,
                               positive(row["bytes"]), positive(amortised ? *amortised : row["t_s"]));
    s.host_timed = host_timed(row);
    s.multicast = header_.multicast;
    const auto timer = row.find("timer");
    s.kernel_alone = timer ? timer->string() == "cupti" : header_.kernel_alone;
    if (const auto a = row.find("algo"); a && a->string() != "auto") force(s, *a, row["proto"]);
    out_.collectives.push_back(std::move(s));
  }

  static void force(CollectiveSample& s, const Field& algorithm, const Field& protocol) {
    s.method = collective_method(algorithm.string(), protocol.string());
    if (!s.method) algorithm.fail("and /proto name no method that napkin knows; write Ring or Tree, LL, LL128 or Simple");
    const auto suffix = " by " + std::string(to_string(s.method->algorithm)) + "/" + std::string(to_string(s.method->protocol));
    s.group += suffix;
    s.shape += suffix;
  }

  // Operands that lie in the cache are not what a training step finds: counted, not used.
  bool is_warm(const Field& row, const std::string& what) {
    const auto f = row.find("l2");
    if (f ? f->string() != "warm" : !header_.warm) return false;
    ++out_.unused[what + ", cached operands"];
    return true;
  }

  void read_row(const Field& row) {
    const auto kind = row["kind"].string();
    ++out_.rows;
    if (kind == "device" || kind == "end") {
      --out_.rows;
      if (kind == "device") read_header(row);
    } else if (kind == "launch") {
      if (host_timed(row) && !row.has("timer")) call_ = std::max(call_, positive(row["t_s"]));
      if (const auto what = row.find("what"); what && what->string() == "stream gap") runs_.back().gap = positive(row["t_s"]);
      ++out_.unused[kind];
    } else if (kind == "attn_decode" && !row.has("backend")) {
      ++out_.unused["attn_decode by a kernel without a name"];
    } else if (const auto operation = collective_operation(kind)) {
      read_collective(row, *operation);
    } else if (auto sample = kernel_of(row, kind)) {
      // A product back to back finds its operands in the cache, where a sustained run leaves them.
      const bool cold = sample->regime == Regime::sustained || sample->kind == KernelSample::Kind::host ||
                        sample->kind == KernelSample::Kind::attention || !is_warm(row, kind == "membound" ? row["op"].string() : kind);
      if (cold) add(row, std::move(*sample));
    } else {
      ++out_.unused[kind == "membound" ? row["op"].string() : kind];
    }
  }

 public:
  explicit Reader(Samples& out) : out_(out) {}

  // Where kernels alone were timed, the gap of the same run, or of another on the same machine and software.
  void place_gaps() {
    if (!runs_.empty()) runs_.back().last = out_.collectives.size();
    for (const auto& run : runs_) {
      const auto from = run.gap > 0 ? &run : [&]() -> const Run* {
        for (const auto& other : runs_)
          if (other.gap > 0 && !run.machine.empty() && other.machine == run.machine) return &other;
        return nullptr;
      }();
      std::size_t n = 0;
      for (auto i = run.first; from != nullptr && i < run.last; ++i)
        if (out_.collectives[i].kernel_alone) out_.collectives[i].gap = from->gap, ++n;
      if (n > 0)
        out_.notes.push_back(run.file + ": " + std::to_string(n) + " collectives timed as kernels alone; the stream's gap of " +
                             format(Seconds::si(from->gap)) + (from == &run ? "" : " (" + from->file + ")") + " is added to them");
    }
  }

  void read_file(const std::string& path) {
    if (std::filesystem::is_directory(path)) throw InputError(path + ": is a folder; name the files in it");
    std::ifstream in(path);
    if (!in) throw InputError(path + ": cannot be read");
    const auto first_kernel = out_.kernels.size(), first_collective = out_.collectives.size();
    header_ = {};
    start_run(path);
    call_ = 0;
    std::string text;
    for (std::size_t line = 1; std::getline(in, text); ++line) {
      if (text.find_first_not_of(" \t\r") == text.npos) continue;
      const auto document = Document::parse_line(text, path, line);
      if (!document.root().is(Field::Type::object))
        document.root().fail("is not an object; a measurement is {\"kind\": \"gemm\", ...}");
      read_row(document.root());
    }
    // An event pair around one call cannot be shorter than the call.
    for (auto i = first_kernel; i < out_.kernels.size(); ++i)
      if (out_.kernels[i].host_timed) out_.kernels[i].call = call_;
    double least = std::numeric_limits<double>::infinity();
    for (auto i = first_collective; i < out_.collectives.size(); ++i) least = std::min(least, out_.collectives[i].seconds);
    for (auto i = first_collective; i < out_.collectives.size(); ++i)
      if (out_.collectives[i].host_timed) out_.collectives[i].call = least;
  }
};

}  // namespace

std::optional<KernelSample> read_kernel_row(const Field& row) {
  const auto kind = row.find("kind");
  return kind ? kernel_of(row, kind->string()) : std::nullopt;
}

Samples read_samples(const std::vector<std::string>& files) {
  Samples out;
  Reader reader(out);
  for (const auto& f : files) reader.read_file(f);
  reader.place_gaps();
  return out;
}

}  // namespace napkin::fit
