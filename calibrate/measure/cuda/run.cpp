// The run: finds the devices, walks through the plan, and writes each case as soon as it is measured.
#include <cupti_version.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <ctime>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>

#include "calibrate/measure/cuda/bench.hpp"
#include "calibrate/measure/measure.hpp"
#include "calibrate/measure/progress.hpp"
#include "model/input_error.hpp"

namespace napkin::measure {
namespace {

constexpr double stuck_after = 90;  // seconds of one case

struct Device {
  std::string name, bus;
  int sms = 0, major = 0, minor = 0;
  std::size_t memory = 0, l2 = 0;
};

Device described(int ordinal) {
  cudaDeviceProp p{};
  check(cudaGetDeviceProperties(&p, ordinal));
  return {p.name,  fmt::format("{:08x}:{:02x}:{:02x}.0", p.pciDomainID, p.pciBusID, p.pciDeviceID), p.multiProcessorCount, p.major, p.minor, p.totalGlobalMem,
          static_cast<std::size_t>(p.l2CacheSize)};
}

std::string version(int v) { return fmt::format("{}.{}", v / 1000, v % 1000 / 10); }

std::vector<int> chosen_devices(const std::vector<int>& wanted) {
  int count = 0;
  const auto error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0)
    throw InputError(fmt::format("calibrate measure: there is no CUDA GPU here ({}); run it on the machine to be measured",
                                 error == cudaSuccess ? "0 devices" : cudaGetErrorString(error)));
  std::vector<int> out = wanted;
  if (out.empty()) {
    out.resize(static_cast<std::size_t>(count));
    std::iota(out.begin(), out.end(), 0);
  }
  for (const int d : out) {
    if (d < 0 || d >= count) throw InputError(fmt::format("--devices: there is no device {}; {} are visible", d, count));
    if (std::count(out.begin(), out.end(), d) > 1) throw InputError(fmt::format("--devices: {} is there twice", d));
  }
  return out;
}

Json header(const std::vector<Device>& devices, const State& state, const Options& o) {
  int driver = 0, runtime = 0;
  check(cudaDriverGetVersion(&driver));
  check(cudaRuntimeGetVersion(&runtime));
  const auto& d = devices.front();
  Json names = Json::array(), places = Json::array();
  for (const auto& each : devices) names.push_back(each.name), places.push_back(each.bus);
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  char time[32] = "";
  std::strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return {{"kind", "device"},
          {"schema", 1},
          {"name", d.name},
          {"devices", names},
          {"bus", places},
          {"world", devices.size()},
          {"compute_capability", fmt::format("{}.{}", d.major, d.minor)},
          {"sms", d.sms},
          {"mem", d.memory},
          {"l2", d.l2},
          {"driver", state.driver()},
          {"driver_cuda", version(driver)},
          {"cuda", version(runtime)},
          {"cupti", CUPTI_API_VERSION},
          {"cublaslt", cublaslt_version(o.libraries)},
          {"cudnn", cudnn_version(o.libraries)},
          {"nccl", nccl_version(o.libraries)},
          {"nvls", o.nvls},
          {"clocks_max", state.highest_clocks()},
          {"state", state.now()},
          {"modes", state.modes()},
          {"napkin", NAPKIN_VERSION},
          {"git", NAPKIN_GIT},
          {"time", time},
          {"quick", o.quick}};
}

// Ends the process when a case hangs: a collective whose rank is lost waits for ever, and cannot be interrupted.
class Watchdog {
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
  const Case* case_ = nullptr;
  RecordFile& file_;
  std::jthread thread_;

  void watch(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      wake_.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; });
      if (case_ == nullptr || std::chrono::steady_clock::now() < deadline_) continue;
      const auto why = fmt::format("hangs for {} s", stuck_after);
      file_.append(failed(*case_, why));
      fmt::print(stderr, "napkin: {}: {}; --resume goes on after it\n", case_->key(), why);
      std::_Exit(2);
    }
  }

 public:
  explicit Watchdog(RecordFile& file) : file_(file), thread_([this](const std::stop_token& stop) { watch(stop); }) {}
  void begin(const Case& c) {
    const std::lock_guard lock(mutex_);
    case_ = &c;
    deadline_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(static_cast<int>(1000 * stuck_after));
  }
  void end() {
    const std::lock_guard lock(mutex_);
    case_ = nullptr;
  }
};

std::unique_ptr<Bench> bench_of(const std::string& group, Context& c, const std::vector<int>& devices) {
  if (group == "launch") return launch_bench(c);
  if (group == "memory") return memory_bench(c);
  if (group == "elementwise") return elementwise_bench(c);
  if (group == "gemm") return gemm_bench(c);
  if (group == "attention") return attention_bench(c);
  if (group == "metrics") return metrics_bench(c);
  if (group == "peer") return peer_bench(c, devices);
  return collective_bench(c, devices);
}

void print_plan(const std::vector<Case>& cases) {
  double seconds = 0;
  for (const auto& c : cases) {
    fmt::print("{}\n", c.key());
    seconds += c.seconds;
  }
  fmt::print(stderr, "napkin: {} cases, about {:.0f} s\n", cases.size(), seconds);
}

// Wakes the clocks: an idle device takes a while to leave its lowest state.
void wake(Context& c) {
  constexpr int sweeps = 2000;
  for (int i = 0; i < sweeps; ++i) kernels::mark_cold(c.sweep.data(), c.sweep.bytes(), c.stream);
  c.synchronise();
  (void)c.timer.collect();
}

}  // namespace

Result run(const Options& o) {
  (void)plan(o.groups, {}, true);  // a wrong --groups is told before anything is touched
  // Multicast is a resource of the whole host: off unless asked for. NCCL reads the variable when it is loaded.
  if (!o.nvls) setenv("NCCL_NVLS_ENABLE", "0", 1);
  const auto devices = chosen_devices(o.devices);
  std::vector<Device> known;
  for (const int d : devices) known.push_back(described(d));
  const auto& first = known.front();
  const auto cases = plan(o.groups, {static_cast<int>(devices.size()), static_cast<double>(first.memory), static_cast<double>(first.l2), first.major, first.minor}, o.quick);
  if (o.list) {
    print_plan(cases);
    return {};
  }
  try {
    Timer timer(o.libraries);  // before the first context
    State state(first.bus, o.libraries);
    check(cudaSetDevice(devices.front()));
    const auto modes = state.modes();
    RecordFile file(o.out, header(known, state, o), o.resume);
    Context context(devices.front(), o.libraries, timer, state, first.l2);
    if (o.quick) context.rule = {.spread = 0.01, .least = 5, .most = 60, .seconds = 0.04};
    double planned = 0;
    for (const auto& c : cases) planned += file.has(c) ? 0 : c.seconds;
    Result result;
    Progress progress(cases.size(), planned);
    Watchdog watchdog(file);
    std::unique_ptr<Bench> bench;
    std::string group, missing;
    Json throttled = Json::object();
    std::size_t at = 0;
    for (const auto& c : cases) {
      progress.show(at++, c.group);
      if (file.has(c)) {
        ++result.resumed;
        continue;
      }
      watchdog.begin(c);
      try {
        if (std::exchange(group, c.group) != c.group) {
          bench.reset();
          missing.clear();
          context.inputs.release();
          context.results.release();
          wake(context);
          try {
            bench = bench_of(c.group, context, devices);
          } catch (const Unsupported& e) {
            missing = e.what();
          }
        }
        if (!bench) throw Unsupported(missing);
        auto outcome = bench->measure(c);
        for (const auto& word : outcome.more.value("throttle", Json::array())) throttled[word.get<std::string>()] = throttled.value(word.get<std::string>(), 0) + 1;
        file.append(record(c, outcome));
        ++result.measured;
      } catch (const Unsupported& e) {
        file.append(skipped(c, e.what()));
        ++result.skipped;
      } catch (const DroppedRecords&) {
        throw;
      } catch (const InputError&) {
        throw;
      } catch (const std::exception& e) {
        file.append(failed(c, e.what()));
        ++result.failed;
        const auto* cuda = dynamic_cast<const CudaError*>(&e);
        if (cuda != nullptr && cuda->fatal)
          throw InputError(fmt::format("{}: {}: the device's context is lost; --resume goes on after this case", c.key(), e.what()));
        (void)cudaDeviceSynchronize();
        (void)timer.collect();  // what the failed case left
      }
      watchdog.end();
      progress.finished(c.seconds);
    }
    bench.reset();
    result.seconds = progress.elapsed();
    file.append({{"kind", "end"},
                 {"measured", result.measured},
                 {"skipped", result.skipped},
                 {"failed", result.failed},
                 {"resumed", result.resumed},
                 {"seconds", std::round(result.seconds * 10) / 10},
                 {"throttled_cases", throttled},
                 {"state", state.now()},
                 {"modes", state.modes()},
                 {"left_as_found", state.modes() == modes}});
    return result;
  } catch (const Unsupported& e) {
    throw InputError(fmt::format("calibrate measure: {}", e.what()));
  } catch (const DroppedRecords& e) {
    throw InputError(fmt::format("calibrate measure: {}: the samples have holes, and the run is not usable", e.what()));
  } catch (const CudaError& e) {
    throw InputError(fmt::format("calibrate measure: {}", e.what()));
  }
}

}  // namespace napkin::measure
