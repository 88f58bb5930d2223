#include "calibrate/measure/cuda/state.hpp"

#include <array>

#include "calibrate/measure/library.hpp"

namespace napkin::measure {

using Json = nlohmann::ordered_json;

namespace {
// NVML's ABI is stable; its header is not in every toolkit package.
using Handle = void*;
constexpr int success = 0;
enum Clock { clock_sm = 1, clock_mem = 2 };
}  // namespace

struct State::Functions {
  Library library;
  int (*init)();
  int (*shutdown)();
  int (*by_bus)(const char*, Handle*);
  int (*clock)(Handle, int, unsigned*);
  int (*highest)(Handle, int, unsigned*);
  int (*application)(Handle, int, unsigned*);
  int (*power)(Handle, unsigned*);
  int (*power_limit)(Handle, unsigned*);
  int (*temperature)(Handle, int, unsigned*);
  int (*reasons)(Handle, unsigned long long*);
  int (*persistence)(Handle, int*);
  int (*compute_mode)(Handle, int*);
  int (*ecc)(Handle, int*, int*);
  int (*mig)(Handle, unsigned*, unsigned*);
  int (*driver)(char*, unsigned);

  template <class F>
  void load(F& f, const char* name) {
    f = library.symbol<F>(name);
  }
  template <class F>
  void maybe(F& f, const char* name) {
    try {
      load(f, name);
    } catch (const Unsupported&) {
      f = nullptr;
    }
  }
  explicit Functions(const std::string& folders) : library({"libnvidia-ml.so.1"}, folders) {
    load(init, "nvmlInit_v2");
    load(shutdown, "nvmlShutdown");
    load(by_bus, "nvmlDeviceGetHandleByPciBusId_v2");
    maybe(clock, "nvmlDeviceGetClockInfo");
    maybe(highest, "nvmlDeviceGetMaxClockInfo");
    maybe(application, "nvmlDeviceGetApplicationsClock");
    maybe(power, "nvmlDeviceGetPowerUsage");
    maybe(power_limit, "nvmlDeviceGetEnforcedPowerLimit");
    maybe(temperature, "nvmlDeviceGetTemperature");
    maybe(reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
    maybe(persistence, "nvmlDeviceGetPersistenceMode");
    maybe(compute_mode, "nvmlDeviceGetComputeMode");
    maybe(ecc, "nvmlDeviceGetEccMode");
    maybe(mig, "nvmlDeviceGetMigMode");
    maybe(driver, "nvmlSystemGetDriverVersion");
  }
};

State::State(const std::string& bus, const std::string& libraries) {
  try {
    nvml_ = std::make_unique<Functions>(libraries);
  } catch (const Unsupported&) {
    return;
  }
  if (nvml_->init() != success) {
    nvml_.reset();
    return;
  }
  if (nvml_->by_bus(bus.c_str(), &device_) != success) device_ = nullptr;
}

State::~State() {
  if (nvml_) nvml_->shutdown();
}

Json State::now() const {
  Json out = Json::object();
  if (!present()) return out;
  unsigned v = 0;
  constexpr int gpu_sensor = 0;
  if (nvml_->clock && nvml_->clock(device_, clock_sm, &v) == success) out["sm_mhz"] = v;
  if (nvml_->clock && nvml_->clock(device_, clock_mem, &v) == success) out["mem_mhz"] = v;
  if (nvml_->power && nvml_->power(device_, &v) == success) out["power_w"] = v / 1000.0;
  if (nvml_->temperature && nvml_->temperature(device_, gpu_sensor, &v) == success) out["temperature_c"] = v;
  unsigned long long reasons = 0;
  if (nvml_->reasons && nvml_->reasons(device_, &reasons) == success) out["throttle"] = throttle_words(reasons);
  return out;
}

double State::sm_mhz() const {
  unsigned v = 0;
  return present() && nvml_->clock && nvml_->clock(device_, clock_sm, &v) == success ? v : 0;
}

Json State::modes() const {
  Json out = Json::object();
  if (!present()) return out;
  unsigned v = 0, pending = 0;
  int i = 0, later = 0;
  if (nvml_->persistence && nvml_->persistence(device_, &i) == success) out["persistence"] = i;
  if (nvml_->compute_mode && nvml_->compute_mode(device_, &i) == success) out["compute_mode"] = i;
  if (nvml_->power_limit && nvml_->power_limit(device_, &v) == success) out["power_limit_w"] = v / 1000.0;
  if (nvml_->application && nvml_->application(device_, clock_sm, &v) == success) out["application_sm_mhz"] = v;
  if (nvml_->application && nvml_->application(device_, clock_mem, &v) == success) out["application_mem_mhz"] = v;
  if (nvml_->ecc && nvml_->ecc(device_, &i, &later) == success) out["ecc"] = i;
  if (nvml_->mig && nvml_->mig(device_, &v, &pending) == success) out["mig"] = v;
  return out;
}

Json State::highest_clocks() const {
  Json out = Json::object();
  unsigned v = 0;
  if (present() && nvml_->highest && nvml_->highest(device_, clock_sm, &v) == success) out["sm_mhz"] = v;
  if (present() && nvml_->highest && nvml_->highest(device_, clock_mem, &v) == success) out["mem_mhz"] = v;
  return out;
}

std::string State::driver() const {
  std::array<char, 96> text{};
  if (!nvml_ || !nvml_->driver || nvml_->driver(text.data(), text.size()) != success) return "unknown";
  return text.data();
}

Json throttle_words(unsigned long long reasons) {
  struct Bit {
    unsigned long long mask;
    const char* word;
  };
  constexpr Bit bits[] = {{0x2, "application clocks"}, {0x4, "power cap"},      {0x8, "hardware slowdown"},
                          {0x10, "sync boost"},        {0x20, "thermal"},       {0x40, "hardware thermal"},
                          {0x80, "power brake"},       {0x100, "display clocks"}};
  Json out = Json::array();
  for (const auto& [mask, word] : bits)
    if (reasons & mask) out.push_back(word);
  return out;
}

}  // namespace napkin::measure
