// What a kernel costs beside its work: on the device between kernels, on the host to launch, and until the host sees it.
#include <algorithm>
#include <chrono>
#include <functional>

#include "calibrate/measure/cuda/bench.hpp"

namespace napkin::measure {
namespace {

constexpr int chain = 200;              // kernels in a row
constexpr std::uint64_t ahead = 5'000'000;  // nanoseconds the device is kept busy while the host enqueues them

class Graph {
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;

 public:
  Graph(cudaStream_t stream, int kernels_of_graph) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < kernels_of_graph; ++i) kernels::empty(stream);
    check(cudaStreamEndCapture(stream, &graph_));
    check(cudaGraphInstantiate(&exec_, graph_, 0));
  }
  ~Graph() {
    if (exec_ != nullptr) cudaGraphExecDestroy(exec_);
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void launch(cudaStream_t stream) const { check(cudaGraphLaunch(exec_, stream)); }
};

class Event {
  cudaEvent_t event_ = nullptr;

 public:
  Event() { check(cudaEventCreate(&event_)); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator cudaEvent_t() const { return event_; }  // NOLINT: the runtime's own handle
};

class LaunchBench final : public Bench {
  Context& c_;
  static constexpr int rounds = 30;

  // From the end of one kernel to the start of the next, from the records.
  Outcome gaps(const Launch& enqueue) {
    Outcome out;
    enqueue(c_.stream);
    c_.synchronise();
    (void)c_.timer.collect();
    constexpr int few = 3;
    for (int round = 0; round < few; ++round) {
      kernels::spin(ahead, c_.stream);
      enqueue(c_.stream);
      check(cudaGetLastError());
      c_.synchronise();
      auto seen = c_.timer.collect();
      std::sort(seen.begin(), seen.end(), [](const Activity& a, const Activity& b) { return a.start < b.start; });
      for (std::size_t i = 2; i < seen.size(); ++i)  // 0 is the spin
        out.seconds.push_back((static_cast<double>(seen[i].start) - static_cast<double>(seen[i - 1].end)) * 1e-9);
    }
    out.more["timer"] = "cupti";
    return out;
  }

  // Per kernel of the chain, from events around it, untraced.
  Outcome per_node(const Launch& enqueue) {
    const Untraced off(c_.timer);
    const Event begin, end;
    Outcome out;
    enqueue(c_.stream);
    c_.synchronise();
    for (int round = 0; round < rounds; ++round) {
      kernels::spin(ahead, c_.stream);
      check(cudaEventRecord(begin, c_.stream));
      enqueue(c_.stream);
      check(cudaEventRecord(end, c_.stream));
      c_.synchronise();
      float ms = 0;
      check(cudaEventElapsedTime(&ms, begin, end));
      out.seconds.push_back(ms * 1e-3 / chain);
    }
    out.more["timer"] = "events";
    return out;
  }

  // Host clock over `times` calls and, when `wait`, until the host sees the work done.
  Outcome host(const Launch& enqueue, int times, bool wait) {
    using Clock = std::chrono::steady_clock;
    const Untraced off(c_.timer);
    Outcome out;
    for (int round = -3; round < rounds * (wait ? 10 : 1); ++round) {
      const auto start = Clock::now();
      for (int i = 0; i < times; ++i) enqueue(c_.stream);
      if (wait) c_.synchronise();
      const double s = std::chrono::duration<double>(Clock::now() - start).count();
      if (!wait) c_.synchronise();
      if (round >= 0) out.seconds.push_back(s / times);
    }
    out.more["timer"] = "host";
    return out;
  }

 public:
  explicit LaunchBench(Context& c) : c_(c) {}
  Outcome measure(const Case& c) override {
    const auto what = c.shape.at("what").get<std::string>();
    const Launch one = [](cudaStream_t s) { kernels::empty(s); };
    const Launch many = [](cudaStream_t s) {
      for (int i = 0; i < chain; ++i) kernels::empty(s);
    };
    if (what == "kernel") return c_.sample(one, false);
    if (what == "stream gap") return gaps(many);
    if (what == "stream node") return per_node(many);
    if (what == "stream rate") return host(one, chain, false);
    if (what == "host latency") return host(one, 1, true);
    const Graph graph(c_.stream, what == "graph launch" ? 1 : chain);
    const Launch replay = [&graph](cudaStream_t s) { graph.launch(s); };
    if (what == "graph gap") return gaps(replay);
    if (what == "graph node") return per_node(replay);
    if (what == "graph launch") return host(replay, 1, true);
    throw Unsupported("no launch figure " + what);
  }
};

}  // namespace

std::unique_ptr<Bench> launch_bench(Context& context) { return std::make_unique<LaunchBench>(context); }

}  // namespace napkin::measure
