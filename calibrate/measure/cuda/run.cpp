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
#include <optional>
#include <thread>

#include "calibrate/measure/cuda/bench.hpp"
#include "calibrate/measure/measure.hpp"
#include "calibrate/measure/progress.hpp"
#include "calibrate/measure/world.hpp"
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

// Of this process: all, or under mpirun the one of its own.
std::vector<int> chosen_devices(const std::vector<int>& wanted, const World& world) {
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
  if (world.alone()) return out;
  const auto mine = static_cast<std::size_t>(world.local_rank());
  if (mine >= out.size())
    throw InputError(fmt::format("calibrate measure: more processes than GPUs on a host: {} are there; start one a GPU (mpirun --map-by ppr:{}:node)", out.size(), out.size()));
  return {out[mine]};
}

// Ends the process when a case hangs: a collective whose rank is lost waits for ever, and cannot be interrupted.
class Watchdog {
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
  const Case* case_ = nullptr;
  RecordFile* file_;  // null: another rank writes
  std::jthread thread_;

  void watch(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      wake_.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; });
      if (case_ == nullptr || std::chrono::steady_clock::now() < deadline_) continue;
      const auto why = fmt::format("hangs for {} s", stuck_after);
      if (file_ != nullptr) file_->append(failed(*case_, why));
      fmt::print(stderr, "napkin: {}: {}; --resume goes on after it\n", case_->key(), why);
      std::_Exit(2);
    }
  }

 public:
  explicit Watchdog(RecordFile* file) : file_(file), thread_([this](const std::stop_token& stop) { watch(stop); }) {}
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

std::unique_ptr<Bench> bench_of(const std::string& group, Context& c, const std::vector<int>& devices, const World& world) {
  if (group == "launch") return launch_bench(c);
  if (group == "memory") return memory_bench(c);
  if (group == "elementwise") return elementwise_bench(c);
  if (group == "gemm") return gemm_bench(c);
  if (group == "attention") return attention_bench(c);
  if (group == "metrics") return metrics_bench(c);
  if (group == "peer") return peer_bench(c, devices);
  return collective_bench(c, devices, world);
}

void print_plan(const std::vector<Case>& cases) {
  double seconds = 0;
  for (const auto& c : cases) {
    fmt::print("{}\n", c.key());
    seconds += c.seconds;
  }
  fmt::print(stderr, "napkin: {} cases, about {:.0f} s\n", cases.size(), seconds);
}

// Under mpirun the processes share their GPUs' links, and nothing else is measured by several at once.
std::vector<std::string> chosen_groups(const std::vector<std::string>& wanted, const World& world) {
  (void)plan(wanted, {}, true);  // a wrong word is told before anything is touched
  if (world.alone()) return wanted;
  for (const auto& word : wanted)
    if (word != "collective") throw InputError(fmt::format("--groups: {} is not measured under mpirun; write collective, or leave it out", word));
  return {"collective"};
}

// What is measured, and on which devices.
struct Setup {
  std::vector<int> devices;   // of this process
  std::vector<Device> known;  // the same
  std::vector<Case> cases;
};

Setup set_up(const Options& o, const World& world) {
  Setup out;
  const auto chosen = chosen_groups(o.groups, world);
  out.devices = chosen_devices(o.devices, world);
  for (const int d : out.devices) out.known.push_back(described(d));
  const auto& d = out.known.front();
  const int ranks = world.alone() ? static_cast<int>(out.devices.size()) : world.size();
  out.cases = plan(chosen, {ranks, static_cast<double>(d.memory), static_cast<double>(d.l2), d.major, d.minor}, o.quick);
  return out;
}

// The devices of all processes, as the header lists them.
struct Ranks {
  std::vector<std::string> names, places;
  int hosts = 1;
};

Ranks all_ranks(const Setup& setup, const World& world) {
  const auto& first = setup.known.front();
  if (!world.alone()) return {world.texts(first.name), world.texts(first.bus), world.hosts()};
  Ranks out;
  for (const auto& d : setup.known) out.names.push_back(d.name), out.places.push_back(d.bus);
  return out;
}

Json header(const Device& d, const Ranks& ranks, const State& state, const Options& o) {
  int driver = 0, runtime = 0;
  check(cudaDriverGetVersion(&driver));
  check(cudaRuntimeGetVersion(&runtime));
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  char time[32] = "";
  const auto clocks = state.highest_clocks();
  std::strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return {{"kind", "device"},
          {"schema", 1},
          {"name", d.name},
          {"devices", ranks.names},
          {"bus", ranks.places},
          {"world", ranks.names.size()},
          {"hosts", ranks.hosts},
          {"ranks_per_node", ranks.names.size() / static_cast<std::size_t>(ranks.hosts)},
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
          {"clocks_max", clocks},
          {"state", state.now()},
          {"modes", state.modes()},
          {"napkin", NAPKIN_VERSION},
          {"git", NAPKIN_GIT},
          {"time", time},
          {"quick", o.quick},
          // What holds of a row that does not say otherwise.
          {"rows",
           {{"timer", "cupti"}, {"l2", "cold"}, {"kernels", 1}, {"sm_mhz", clocks.value("sm_mhz", 0)}, {"mem_mhz", clocks.value("mem_mhz", 0)}, {"throttle", Json::array()}}}};
}

// What a process holds while it measures.
struct Bed {
  Timer timer;  // before the first context
  State state;
  Json modes;
  std::optional<RecordFile> file;  // of rank 0
  Context context;

  Bed(const Options& o, const Setup& setup, const Ranks& ranks, bool writes)
      : timer(o.libraries), state(setup.known.front().bus, o.libraries), modes(state.modes()),
        context(on(setup.devices.front()), o.libraries, timer, state, setup.known.front().l2) {
    if (o.quick) context.rule = {.spread = 0.01, .least = 5, .most = 60, .seconds = 0.05};
    if (writes) file.emplace(o.out, header(setup.known.front(), ranks, state, o), o.resume);
  }
  static int on(int device) {
    check(cudaSetDevice(device));
    return device;
  }
};

// Errors that end a run, in the user's words.
template <class F>
auto explained(F f) {
  try {
    return f();
  } catch (const Unsupported& e) {
    throw InputError(fmt::format("calibrate measure: {}", e.what()));
  } catch (const DroppedRecords& e) {
    throw InputError(fmt::format("calibrate measure: {}: the samples have holes, and the run is not usable", e.what()));
  } catch (const CudaError& e) {
    throw InputError(fmt::format("calibrate measure: {}", e.what()));
  }
}

// Which cases an earlier run has settled; rank 0 knows.
std::vector<char> settled(const std::vector<Case>& cases, const Bed& bed, const World& world) {
  std::vector<char> out(cases.size(), 0);
  if (bed.file)
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = bed.file->has(cases[i]) ? 1 : 0;
  world.share(out.data(), out.size());
  return out;
}

Result measured(const Setup& setup, Bed& bed, const World& world) {
  auto* file = bed.file ? &*bed.file : nullptr;
  const auto write = [file](const Json& line) {
    if (file != nullptr) file->append(line);
  };
  auto& context = bed.context;
  const auto& cases = setup.cases;
  const auto before = settled(cases, bed, world);
  double planned = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) planned += before[i] != 0 ? 0 : cases[i].seconds;
  Result result;
  Progress progress(cases.size(), planned);
  Watchdog watchdog(file);
  std::unique_ptr<Bench> bench;
  std::string group, missing;
  std::size_t held_down = 0;
  for (std::size_t at = 0; at < cases.size(); ++at) {
    const auto& c = cases[at];
    if (world.first()) progress.show(at, c.group);
    if (before[at] != 0) {
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
        context.wake();
        try {
          bench = bench_of(c.group, context, setup.devices, world);
        } catch (const Unsupported& e) {
          missing = e.what();
        }
      }
      if (!bench) throw Unsupported(missing);
      const auto outcome = bench->measure(c);
      held_down += outcome.more.contains("held_down") ? 1 : 0;
      write(record(c, outcome));
      ++result.measured;
    } catch (const Unsupported& e) {
      write(skipped(c, e.what()));
      ++result.skipped;
    } catch (const DroppedRecords&) {
      throw;
    } catch (const InputError&) {
      throw;
    } catch (const std::exception& e) {
      write(failed(c, e.what()));
      ++result.failed;
      const auto* cuda = dynamic_cast<const CudaError*>(&e);
      if (cuda != nullptr && cuda->fatal)
        throw InputError(fmt::format("{}: {}: the device's context is lost; --resume goes on after this case", c.key(), e.what()));
      (void)cudaDeviceSynchronize();
      (void)bed.timer.collect();  // what the failed case left
    }
    watchdog.end();
    progress.finished(c.seconds);
  }
  bench.reset();
  result.seconds = progress.elapsed();
  write({{"kind", "end"},
         {"measured", result.measured},
         {"skipped", result.skipped},
         {"failed", result.failed},
         {"resumed", result.resumed},
         {"seconds", std::round(result.seconds * 10) / 10},
         {"held_down", held_down},
         {"state", bed.state.now()},
         {"modes", bed.state.modes()},
         {"left_as_found", bed.state.modes() == bed.modes}});
  return result;
}

// What f has to report to the user, "" when nothing.
template <class F>
std::string error_of(F f) {
  try {
    explained(f);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

// The first error of any rank, "" when there is none: every rank learns it.
std::string first_error(const World& world, const std::string& mine) {
  const auto all = world.texts(mine);
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (!all[rank].empty()) return rank == 0 ? all[rank] : fmt::format("rank {}: {}", rank, all[rank]);
  return "";
}

Result run_together(const Options& o, const World& world) {
  Setup setup;
  std::unique_ptr<Bed> bed;
  auto error = first_error(world, error_of([&] { setup = set_up(o, world); }));
  if (error.empty() && !o.list) {
    const auto ranks = all_ranks(setup, world);
    error = first_error(world, error_of([&] { bed = std::make_unique<Bed>(o, setup, ranks, world.first()); }));
  }
  Result result;
  if (world.first()) {
    if (!error.empty()) throw InputError(error);
    if (o.list) print_plan(setup.cases);
  }
  if (bed && error.empty()) {
    // From here on a rank that fails cannot wait for the others, which may be inside a collective.
    const auto fatal = error_of([&] { result = measured(setup, *bed, world); });
    if (!fatal.empty() && world.alone()) throw InputError(fatal);
    if (!fatal.empty()) {
      fmt::print(stderr, "napkin: rank {}: {}\n", world.rank(), fatal);
      world.abandon(2);
    }
  }
  result.silent = !world.first();
  return result;
}

}  // namespace

Result run(const Options& o) {
  // Multicast is a resource of the whole host: off unless asked for. NCCL reads the variable when it is loaded.
  if (!o.nvls) setenv("NCCL_NVLS_ENABLE", "0", 1);
  std::unique_ptr<World> world;
  try {
    world = std::make_unique<World>();
  } catch (const InputError&) {
    if (mpirun_rank() > 0) return {.silent = true};
    throw;
  }
  return run_together(o, *world);
}

}  // namespace napkin::measure
