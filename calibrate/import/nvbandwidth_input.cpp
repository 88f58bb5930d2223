// The text that nvbandwidth prints: "Running TEST." and a matrix in GB/s, sources in rows, devices in columns.
#include <charconv>
#include <cctype>
#include <sstream>

#include "calibrate/import/formats.hpp"
#include "model/input_error.hpp"

namespace napkin::fit {
namespace {

constexpr double gigabyte = 1e9;
constexpr double default_buffer = 512.0 * 1024 * 1024;  // bytes of a copy unless -b says otherwise

std::vector<std::string> words(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> out;
  for (std::string w; in >> w;) out.push_back(std::move(w));
  return out;
}
bool is_number(const std::string& w) { return !w.empty() && std::isdigit(static_cast<unsigned char>(w.front())); }

}  // namespace

void import_nvbandwidth(std::string_view text, const std::string& name, Collector& out) {
  std::istringstream in{std::string(text)};
  std::string test, line, device, driver;
  std::size_t found = 0;
  for (std::size_t n = 1; std::getline(in, line); ++n) {
    const auto cells = words(line);
    if (cells.empty()) continue;
    if (cells.front() == "Running" && cells.size() >= 2) {
      test = cells[1];
      if (test.ends_with('.')) test.pop_back();
    } else if (line.starts_with("Driver Version:")) {
      driver = cells.back();
    } else if (line.starts_with("Device ") && device.empty() && line.find(": ") != line.npos) {
      device = line.substr(line.find(": ") + 2);
      device = device.substr(0, device.find(" ("));
    } else if (!test.empty() && cells.size() >= 2 && is_number(cells[0])) {
      // A row of the matrix has its index and then figures with a point; the line of column indices has none.
      for (std::size_t i = 1; i < cells.size(); ++i) {
        if (cells[i] == "N/A") continue;
        double rate = 0;
        const auto [end, error] = std::from_chars(cells[i].data(), cells[i].data() + cells[i].size(), rate);
        if (cells[i].find('.') == std::string::npos) break;
        if (error != std::errc{} || end != cells[i].data() + cells[i].size() || !(rate > 0))
          throw InputError(name + ":" + std::to_string(n) + ": \"" + cells[i] + "\" is not a bandwidth in GB/s");
        ++found;
        const double seconds = default_buffer / (rate * gigabyte);
        const bool one_way = test.find("bidirectional") == test.npos && test.find("all_to") == test.npos;
        if (test == "host_to_device_memcpy_ce" || test == "device_to_host_memcpy_ce")
          out.sample({{"kind", test.starts_with("host") ? "h2d" : "d2h"}, {"device", i - 1}, {"bytes", default_buffer}, {"t_s", seconds}});
        else if (one_way && test.starts_with("device_to_device_memcpy") && test.ends_with("_ce"))
          out.sample({{"kind", "p2p_copy"}, {"from", cells[0]}, {"to", i - 1}, {"bytes", default_buffer}, {"t_s", seconds}});
        else
          out.unmatched(test, "no constant of a machine stands for it", 0);
      }
    }
  }
  if (found == 0) throw InputError(name + ": holds no matrix of nvbandwidth");
  out.note("times follow from the bandwidths at nvbandwidth's default buffer of 512 MiB");
  ImportJson header{{"kind", "device"}};
  if (!device.empty()) header["name"] = device;
  if (!driver.empty()) header["driver"] = driver;
  header["timer"] = "kernel";
  header["source"] = "nvbandwidth";
  out.header(std::move(header));
}

}  // namespace napkin::fit
