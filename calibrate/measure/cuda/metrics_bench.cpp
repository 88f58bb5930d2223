// Hardware counters of a few kernels of the other groups: do they move the bytes and make the operations that the model
// counts? Needs the driver's permission to read counters; without it the cases are skipped with the reason.
#include <cuda.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include "calibrate/measure/cuda/bench.hpp"

namespace napkin::measure {
namespace {

// What is asked for, and the record's name for it. Counters that a chip lacks are left out of the record.
struct Metric {
  const char *name, *field;
};
constexpr Metric metrics[] = {{"gpu__time_duration.sum", "duration_ns"},
                              {"dram__bytes_read.sum", "dram_read"},
                              {"dram__bytes_write.sum", "dram_written"},
                              {"lts__t_bytes.sum", "l2_bytes"},
                              {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", "tensor_active_pct"},
                              {"sm__throughput.avg.pct_of_peak_sustained_elapsed", "sm_busy_pct"},
                              {"sm__ops_path_tensor_src_bf16_dst_fp32.sum", "tensor_ops"},
                              {"sm__ops_path_tensor_src_fp8_dst_fp32.sum", "tensor_ops_fp8"}};

struct Cupti {
  Library library;
  template <class F>
  F get(const char* name) const {
    return library.symbol<F>(name);
  }
  explicit Cupti(const std::string& folders) : library({"libcupti.so.13", "libcupti.so.12", "libcupti.so"}, folders) {}
#define NAPKIN_CUPTI(f) decltype(&::f) f = get<decltype(&::f)>(#f)
  NAPKIN_CUPTI(cuptiGetResultString);
  NAPKIN_CUPTI(cuptiProfilerInitialize);
  NAPKIN_CUPTI(cuptiProfilerDeInitialize);
  NAPKIN_CUPTI(cuptiProfilerGetCounterAvailability);
  NAPKIN_CUPTI(cuptiDeviceGetChipName);
  NAPKIN_CUPTI(cuptiProfilerHostInitialize);
  NAPKIN_CUPTI(cuptiProfilerHostDeinitialize);
  NAPKIN_CUPTI(cuptiProfilerHostConfigAddMetrics);
  NAPKIN_CUPTI(cuptiProfilerHostGetConfigImageSize);
  NAPKIN_CUPTI(cuptiProfilerHostGetConfigImage);
  NAPKIN_CUPTI(cuptiProfilerHostEvaluateToGpuValues);
  NAPKIN_CUPTI(cuptiRangeProfilerEnable);
  NAPKIN_CUPTI(cuptiRangeProfilerDisable);
  NAPKIN_CUPTI(cuptiRangeProfilerGetCounterDataSize);
  NAPKIN_CUPTI(cuptiRangeProfilerCounterDataImageInitialize);
  NAPKIN_CUPTI(cuptiRangeProfilerSetConfig);
  NAPKIN_CUPTI(cuptiRangeProfilerStart);
  NAPKIN_CUPTI(cuptiRangeProfilerStop);
  NAPKIN_CUPTI(cuptiRangeProfilerPushRange);
  NAPKIN_CUPTI(cuptiRangeProfilerPopRange);
  NAPKIN_CUPTI(cuptiRangeProfilerDecodeData);
#undef NAPKIN_CUPTI
  void check(CUptiResult r, const char* what) const {
    if (r == CUPTI_SUCCESS) return;
    const char* why = nullptr;
    cuptiGetResultString(r, &why);
    throw Unsupported(std::string("counters: ") + what + ": " + (why == nullptr ? "unknown error" : why));
  }
};

// The metrics that the chip has, and the configuration that counts them.
class Plan {
  const Cupti& cupti_;
  CUpti_Profiler_Host_Object* host_ = nullptr;
  std::vector<const char*> names_;
  std::vector<std::string> fields_;

 public:
  std::vector<std::uint8_t> image;

  Plan(const Cupti& cupti, CUcontext context, int device) : cupti_(cupti) {
    CUpti_Device_GetChipName_Params chip{CUpti_Device_GetChipName_Params_STRUCT_SIZE};
    chip.deviceIndex = static_cast<std::size_t>(device);
    cupti_.check(cupti_.cuptiDeviceGetChipName(&chip), "naming the chip");
    CUpti_Profiler_GetCounterAvailability_Params a{CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE};
    a.ctx = context;
    cupti_.check(cupti_.cuptiProfilerGetCounterAvailability(&a), "asking what may be counted");
    std::vector<std::uint8_t> available(a.counterAvailabilityImageSize);
    a.pCounterAvailabilityImage = available.data();
    cupti_.check(cupti_.cuptiProfilerGetCounterAvailability(&a), "asking what may be counted");
    const auto host_with = [&](const std::vector<const char*>& wanted) {
      CUpti_Profiler_Host_Initialize_Params p{CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE};
      p.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
      p.pChipName = chip.pChipName;
      p.pCounterAvailabilityImage = available.data();
      cupti_.check(cupti_.cuptiProfilerHostInitialize(&p), "preparing");
      host_ = p.pHostObject;
      CUpti_Profiler_Host_ConfigAddMetrics_Params m{CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE};
      m.pHostObject = host_;
      auto list = wanted;
      m.ppMetricNames = list.data();
      m.numMetrics = list.size();
      return cupti_.cuptiProfilerHostConfigAddMetrics(&m) == CUPTI_SUCCESS;
    };
    for (const auto& [name, field] : metrics) {
      if (host_with({name})) {
        names_.push_back(name);
        fields_.emplace_back(field);
      }
      drop();
    }
    if (names_.empty() || !host_with(names_)) throw Unsupported("counters: the chip has none of those asked for");
    CUpti_Profiler_Host_GetConfigImageSize_Params size{CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE};
    size.pHostObject = host_;
    cupti_.check(cupti_.cuptiProfilerHostGetConfigImageSize(&size), "configuring");
    image.resize(size.configImageSize);
    CUpti_Profiler_Host_GetConfigImage_Params get{CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE};
    get.pHostObject = host_;
    get.configImageSize = image.size();
    get.pConfigImage = image.data();
    cupti_.check(cupti_.cuptiProfilerHostGetConfigImage(&get), "configuring");
  }
  ~Plan() { drop(); }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  void drop() {
    if (host_ == nullptr) return;
    CUpti_Profiler_Host_Deinitialize_Params p{CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE};
    p.pHostObject = std::exchange(host_, nullptr);
    cupti_.cuptiProfilerHostDeinitialize(&p);
  }
  [[nodiscard]] std::vector<const char*> names() const { return names_; }
  [[nodiscard]] Json values(const std::vector<std::uint8_t>& counters) const {
    std::vector<double> v(names_.size());
    auto list = names_;
    CUpti_Profiler_Host_EvaluateToGpuValues_Params p{CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE};
    p.pHostObject = host_;
    p.pCounterDataImage = counters.data();
    p.counterDataImageSize = counters.size();
    p.rangeIndex = 0;
    p.ppMetricNames = list.data();
    p.numMetrics = list.size();
    p.pMetricValues = v.data();
    cupti_.check(cupti_.cuptiProfilerHostEvaluateToGpuValues(&p), "reading the counters");
    Json out = Json::object();
    for (std::size_t i = 0; i < v.size(); ++i) out[fields_[i]] = v[i];
    return out;
  }
};

// Counting is on while this lives.
class Session {
  const Cupti& cupti_;
  CUpti_RangeProfiler_Object* range_ = nullptr;

 public:
  std::vector<std::uint8_t> counters;

  Session(const Cupti& cupti, CUcontext context, Plan& plan) : cupti_(cupti) {
    CUpti_RangeProfiler_Enable_Params on{CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE};
    on.ctx = context;
    cupti_.check(cupti_.cuptiRangeProfilerEnable(&on), "switching on (the driver may keep counters to administrators)");
    range_ = on.pRangeProfilerObject;
    auto names = plan.names();
    CUpti_RangeProfiler_GetCounterDataSize_Params size{CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE};
    size.pRangeProfilerObject = range_;
    size.pMetricNames = names.data();
    size.numMetrics = names.size();
    size.maxNumOfRanges = 1;
    size.maxNumRangeTreeNodes = 1;
    cupti_.check(cupti_.cuptiRangeProfilerGetCounterDataSize(&size), "making room");
    counters.resize(size.counterDataSize);
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params start{CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE};
    start.pRangeProfilerObject = range_;
    start.counterDataSize = counters.size();
    start.pCounterData = counters.data();
    cupti_.check(cupti_.cuptiRangeProfilerCounterDataImageInitialize(&start), "making room");
    CUpti_RangeProfiler_SetConfig_Params set{CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE};
    set.pRangeProfilerObject = range_;
    set.configSize = plan.image.size();
    set.pConfig = plan.image.data();
    set.counterDataImageSize = counters.size();
    set.pCounterDataImage = counters.data();
    set.range = CUPTI_UserRange;
    set.replayMode = CUPTI_UserReplay;
    set.maxRangesPerPass = 1;
    set.numNestingLevels = 1;
    set.minNestingLevel = 1;
    set.passIndex = 0;
    set.targetNestingLevel = 1;
    cupti_.check(cupti_.cuptiRangeProfilerSetConfig(&set), "configuring");
  }
  ~Session() {
    CUpti_RangeProfiler_Disable_Params off{CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE};
    off.pRangeProfilerObject = range_;
    cupti_.cuptiRangeProfilerDisable(&off);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Runs `work` once; true when every counter has been read.
  template <class F>
  bool pass(F work) {
    CUpti_RangeProfiler_Start_Params start{CUpti_RangeProfiler_Start_Params_STRUCT_SIZE};
    start.pRangeProfilerObject = range_;
    cupti_.check(cupti_.cuptiRangeProfilerStart(&start), "starting a pass");
    CUpti_RangeProfiler_PushRange_Params push{CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE};
    push.pRangeProfilerObject = range_;
    push.pRangeName = "work";
    cupti_.check(cupti_.cuptiRangeProfilerPushRange(&push), "opening a range");
    work();
    CUpti_RangeProfiler_PopRange_Params pop{CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE};
    pop.pRangeProfilerObject = range_;
    cupti_.check(cupti_.cuptiRangeProfilerPopRange(&pop), "closing a range");
    CUpti_RangeProfiler_Stop_Params stop{CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE};
    stop.pRangeProfilerObject = range_;
    cupti_.check(cupti_.cuptiRangeProfilerStop(&stop), "ending a pass");
    return stop.isAllPassSubmitted != 0;
  }
  void decode() {
    CUpti_RangeProfiler_DecodeData_Params p{CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE};
    p.pRangeProfilerObject = range_;
    cupti_.check(cupti_.cuptiRangeProfilerDecodeData(&p), "decoding");
    if (p.numOfRangeDropped > 0) throw std::runtime_error("counters: a range was dropped");
  }
};

class MetricsBench final : public Bench {
  Context& c_;
  Cupti cupti_;
  std::unique_ptr<Bench> of_;
  std::string of_kind_;

  Work work(const Json& shape) {
    const auto kind = shape.at("kind").get<std::string>();
    if (of_kind_ != kind) {
      of_.reset();
      of_ = kind == "gemm" ? gemm_bench(c_) : kind == "membound" || kind == "adamw_fused_fp32" ? elementwise_bench(c_) : kind.starts_with("attn") ? attention_bench(c_) : memory_bench(c_);
      of_kind_ = kind;
    }
    return of_->prepare({"metrics", shape});
  }

 public:
  explicit MetricsBench(Context& c) : c_(c), cupti_(c.libraries) {
    CUpti_Profiler_Initialize_Params p{CUpti_Profiler_Initialize_Params_STRUCT_SIZE};
    cupti_.check(cupti_.cuptiProfilerInitialize(&p), "initialising");
  }
  ~MetricsBench() override {
    CUpti_Profiler_DeInitialize_Params p{CUpti_Profiler_DeInitialize_Params_STRUCT_SIZE};
    cupti_.cuptiProfilerDeInitialize(&p);
  }
  Outcome measure(const Case& c) override {
    const auto w = work(c.shape.at("of"));
    w.launch(c_.stream);
    c_.synchronise();
    (void)c_.timer.collect();
    const Untraced off(c_.timer);
    const Library driver({"libcuda.so.1"}, "");
    CUcontext context = nullptr;
    if (driver.symbol<decltype(&cuCtxGetCurrent)>("cuCtxGetCurrent")(&context) != CUDA_SUCCESS || context == nullptr) throw Unsupported("counters: no current context");
    Plan plan(cupti_, context, c_.device);
    Session session(cupti_, context, plan);
    constexpr int most_passes = 50;
    int passes = 0;
    for (bool done = false; !done; ++passes) {
      if (passes == most_passes) throw Unsupported("counters: more than 50 passes");
      kernels::mark_cold(c_.sweep.data(), c_.sweep.bytes(), c_.stream);
      c_.synchronise();
      done = session.pass([&] {
        w.launch(c_.stream);
        c_.synchronise();
      });
    }
    session.decode();
    Outcome out;
    out.more = plan.values(session.counters);
    if (!out.more.contains("duration_ns")) throw Unsupported("counters: the chip does not count the time");
    out.seconds.push_back(out.more["duration_ns"].get<double>() * 1e-9);
    out.more["timer"] = "counters";
    out.more["passes"] = passes;
    out.more["expected"] = w.more;
    return out;
  }
};

}  // namespace

std::unique_ptr<Bench> metrics_bench(Context& context) { return std::make_unique<MetricsBench>(context); }

}  // namespace napkin::measure
