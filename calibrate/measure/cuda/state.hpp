// What NVML says of a device: clocks, power, why clocks are held down, and the modes that a run leaves as it found them.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace napkin::measure {

class State {
  struct Functions;
  std::unique_ptr<Functions> nvml_;  // null: there is no NVML, and records carry no clocks
  void* device_ = nullptr;

 public:
  // `bus`: the device's PCI address as the runtime prints it.
  State(const std::string& bus, const std::string& libraries);
  ~State();
  [[nodiscard]] bool present() const { return device_ != nullptr; }
  // {sm_mhz, mem_mhz, power_w, temperature_c, throttle[]}: now
  [[nodiscard]] nlohmann::ordered_json now() const;
  // Of the SMs, now; 0 when it is not told.
  [[nodiscard]] double sm_mhz() const;
  // {persistence, compute_mode, power_limit_w, application_sm_mhz, application_mem_mhz, ecc, mig}: what can be set
  [[nodiscard]] nlohmann::ordered_json modes() const;
  // {sm_mhz, mem_mhz}: the highest
  [[nodiscard]] nlohmann::ordered_json highest_clocks() const;
  [[nodiscard]] std::string driver() const;
};

// Names of the bits of NVML's clock event reasons; idle is not one that holds a measurement down.
[[nodiscard]] nlohmann::ordered_json throttle_words(unsigned long long reasons);

}  // namespace napkin::measure
