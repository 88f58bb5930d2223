#include "calibrate/measure/record.hpp"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "model/input_error.hpp"

namespace napkin::measure {
namespace {

// Members of a header that must agree for samples to belong together.
constexpr const char* identity[] = {"name", "devices", "driver", "cuda", "nccl", "cublaslt", "cudnn", "world", "nvls"};

double rounded(double seconds) { return std::round(seconds * 1e10) / 1e10; }

// Seconds under 10 µs carry all their digits: the clock of the records ticks in nanoseconds.
Json rounded(const std::vector<double>& seconds) {
  Json out = Json::array();
  for (const double s : seconds) out.push_back(rounded(s));
  return out;
}

}  // namespace

Json record(const Case& c, const Outcome& o) {
  const auto s = summarise(o.seconds);
  Json out = c.shape;
  // A shape's member keeps its meaning: nothing measured may take its place.
  const auto add = [&out](const std::string& key, const Json& value) {
    if (out.contains(key)) throw std::logic_error("a record has two members \"" + key + '"');
    out[key] = value;
  };
  add("group", c.group);
  add("t_s", rounded(s.median));
  add("t_min", rounded(s.min));
  add("t_p90", rounded(s.p90));
  add("iters", s.n);
  add("spread", std::round(s.spread() * 1e6) / 1e6);
  for (const auto& [key, value] : o.more.items()) add(key, value);
  out["case"] = c.shape;
  out["samples_s"] = rounded(o.seconds);
  return out;
}

Json skipped(const Case& c, const std::string& reason) {
  return {{"kind", "skipped"}, {"group", c.group}, {"case", c.shape}, {"reason", reason}};
}

Json failed(const Case& c, const std::string& reason) {
  auto out = skipped(c, reason);
  out["kind"] = "failed";
  return out;
}

std::string recorded_key(const Json& line) {
  if (!line.is_object() || !line.contains("case") || !line.contains("group")) return "";
  if (!line.contains("samples_s") && line.value("kind", "") != "failed") return "";
  return line["group"].get<std::string>() + ' ' + line["case"].dump();
}

RecordFile::RecordFile(const std::string& path, const Json& header, bool resume) : file_(nullptr, &std::fclose), path_(path) {
  const bool exists = std::filesystem::exists(path);
  if (exists && !resume)
    throw InputError(path + ": exists; write --resume to go on with it, or another --out FILE");
  if (exists) {
    std::ifstream in(path, std::ios::binary);
    if (!in) throw InputError(path + ": cannot be read");
    std::uintmax_t good = 0;
    std::size_t number = 0;
    for (std::string text; std::getline(in, text);) {
      ++number;
      const auto line = Json::parse(text, nullptr, false);
      if (line.is_discarded() || in.eof()) break;  // in.eof(): the newline is missing
      if (number == 1)
        for (const char* member : identity)
          if (line.value(member, Json()) != header.value(member, Json()))
            throw InputError(path + ":1: " + member + " is " + line.value(member, Json()).dump() + ", here it is " +
                             header.value(member, Json()).dump() + "; write another --out FILE");
      if (number == 1 && line.contains("rows")) usual_ = line["rows"];
      if (auto key = recorded_key(line); !key.empty()) done_.insert(std::move(key));
      good += text.size() + 1;
    }
    in.close();
    std::filesystem::resize_file(path, good);
    if (good == 0) resume = false;
  }
  file_.reset(std::fopen(path.c_str(), "ab"));
  if (!file_) throw InputError(path + ": cannot be written: " + std::strerror(errno));
  if (exists && resume) return;
  append(header);
  if (header.contains("rows")) usual_ = header["rows"];
}

// What a row need not repeat.
Json RecordFile::shortened(Json line) const {
  for (const auto& [key, value] : usual_.items())
    if (line.contains(key) && line[key] == value) line.erase(key);
  return line;
}

void RecordFile::append(const Json& line) {
  const auto text = (line.contains("samples_s") ? shortened(line) : line).dump() + '\n';
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() || std::fflush(file_.get()) != 0)
    throw InputError(path_ + ": cannot be written: " + std::strerror(errno));
  if (auto key = recorded_key(line); !key.empty()) done_.insert(std::move(key));
}

}  // namespace napkin::measure
