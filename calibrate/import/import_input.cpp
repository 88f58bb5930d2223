#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "calibrate/import/formats.hpp"
#include "model/input_error.hpp"

namespace napkin::fit {
namespace {

std::string whole_file(const std::string& path) {
  if (std::filesystem::is_directory(path)) throw InputError(path + ": is a folder; name the files in it");
  std::ifstream in(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in.is_open() || in.bad()) throw InputError(path + ": cannot be read");
  if (text.empty()) throw InputError(path + ": is empty");
  if (text.starts_with("\x1f\x8b")) throw InputError(path + ": is compressed; gunzip it first");
  return text;
}

// What the first lines tell.
std::optional<ImportFormat> recognise(std::string_view text) {
  const auto head = text.substr(0, 4096);
  const auto has = [&head](std::string_view part) { return head.find(part) != head.npos; };
  if (has("nvbandwidth")) return ImportFormat::nvbandwidth;
  if (has("memcpy CE") || has("memcpy SM")) return ImportFormat::nvbandwidth;
  if (has("out-of-place") || (head.starts_with("#") && has("nThread"))) return ImportFormat::nccl_tests;
  if (has("Total Time (ns)") && has("Name")) return ImportFormat::nsys;
  if (text.find("\"traceEvents\"") != text.npos && head.find_first_not_of(" \t\r\n") != head.npos &&
      head[head.find_first_not_of(" \t\r\n")] == '{')
    return ImportFormat::kineto;
  std::string first(head.substr(0, head.find('\n')));
  std::transform(first.begin(), first.end(), first.begin(), [](unsigned char c) { return std::tolower(c); });
  if (first.starts_with("{") || first.find("op") != first.npos) return ImportFormat::kernels;
  return {};
}

}  // namespace

void Collector::header(ImportJson h) { out_.lines.insert(out_.lines.begin(), h.dump()); }

void Collector::sample(const ImportJson& line) {
  out_.lines.push_back(line.dump());
  ++out_.samples;
}

void Collector::unmatched(const std::string& name, const std::string& why, double seconds) {
  auto& u = unmatched_.try_emplace(name + '\n' + why, Unmatched{name, why, 0, 0}).first->second;
  ++u.n;
  u.seconds += seconds;
}

Imported Collector::finish(ImportFormat format) && {
  out_.format = format;
  for (auto& [key, u] : unmatched_) out_.unmatched.push_back(std::move(u));
  std::stable_sort(out_.unmatched.begin(), out_.unmatched.end(),
                   [](const Unmatched& a, const Unmatched& b) { return a.seconds > b.seconds; });
  return std::move(out_);
}

Imported import_timings(const std::string& path, const ImportOptions& options) {
  const auto text = whole_file(path);
  const auto format = options.format ? options.format : recognise(text);
  if (!format)
    throw InputError(path + ": is none of the formats that napkin recognises; write --format nccl-tests, nvbandwidth, "
                            "kernels, kineto or nsys");
  Collector out;
  switch (*format) {
    case ImportFormat::nccl_tests: import_nccl_tests(text, path, out); break;
    case ImportFormat::nvbandwidth: import_nvbandwidth(text, path, out); break;
    case ImportFormat::kernels: import_kernels(text, path, options, out); break;
    case ImportFormat::kineto: import_kineto(text, path, out); break;
    case ImportFormat::nsys: import_nsys(text, path, options, out); break;
  }
  return std::move(out).finish(*format);
}

}  // namespace napkin::fit
