// The text that nccl-tests prints: comment lines that name the ranks, then a row for each size:
//   size count type redop root   time algbw busbw #wrong   time algbw busbw #wrong      (out of place, in place)
#include <charconv>
#include <map>
#include <set>
#include <sstream>

#include "calibrate/import/formats.hpp"
#include "calibrate/samples/collective_sample.hpp"
#include "model/input_error.hpp"

namespace napkin::fit {
namespace {

constexpr double microsecond = 1e-6;
constexpr std::size_t columns_behind = 8;  // two blocks of time, algbw, busbw, #wrong
constexpr std::size_t fewest_columns = columns_behind + 2;

std::optional<double> number(const std::string& word) {
  double v = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), v);
  if (error != std::errc{} || end != word.data() + word.size()) return {};
  return v;
}

std::vector<std::string> words(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> out;
  for (std::string w; in >> w;) out.push_back(std::move(w));
  return out;
}

// "all_reduce" of "..../all_reduce_perf", wherever it stands in a line or the file's name.
std::optional<Operation> operation_in(std::string_view text) {
  constexpr std::string_view tests[] = {"all_reduce", "all_gather", "reduce_scatter", "alltoall",
                                        "sendrecv",   "broadcast",  "reduce"};
  for (const auto t : tests)
    if (text.find(t) != text.npos) return collective_operation(t);
  return {};
}

struct Run {
  std::optional<Operation> operation;
  std::map<std::string, std::set<std::string>> ranks;  // by host
  std::string device;
  bool open = false;  // rows have begun
};

}  // namespace

void import_nccl_tests(std::string_view text, const std::string& name, Collector& out) {
  std::istringstream in{std::string(text)};
  Run run;
  std::string library, device;
  std::size_t rows = 0;
  std::string line;
  for (std::size_t n = 1; std::getline(in, line); ++n) {
    const auto fail = [&](const std::string& message) { throw InputError(name + ":" + std::to_string(n) + ": " + message); };
    const auto cells = words(line);
    if (cells.empty()) continue;
    if (const auto at = line.find("_perf"); at != line.npos) {
      if (run.open) run = {};
      run.operation = operation_in(line);
    }
    if (cells.front().starts_with('#')) {
      //   #  Rank  0 Group  0 Pid   1234 on    host1 device  0 [0x1b] NVIDIA H100 80GB HBM3
      const auto rank = line.find("Rank"), on = line.find(" on "), dev = line.find(" device ");
      if (rank != line.npos && on != line.npos && dev != line.npos && on < dev) {
        if (run.open) run = {.operation = {}, .ranks = {}, .device = {}, .open = false};
        const auto host = words(line.substr(on + 4, dev - on - 4)), id = words(line.substr(rank + 4));
        if (host.empty() || id.empty()) fail("names a rank without a host");
        run.ranks[host.front()].insert(id.front());
        if (const auto bracket = line.find("] "); bracket != line.npos) device = line.substr(bracket + 2);
      }
      if (const auto at = line.find("NCCL version"); at != line.npos) library = words(line.substr(at + 12)).front();
      continue;
    }
    if (cells.size() < fewest_columns || !number(cells[0]) || !number(cells[1])) continue;
    const auto seconds = number(cells[cells.size() - columns_behind]);
    if (!seconds || !(*seconds > 0)) fail("the out-of-place time is \"" + cells[cells.size() - columns_behind] + "\", not a number above zero");
    run.open = true;
    if (*number(cells[0]) <= 0) continue;
    if (!run.operation) run.operation = operation_in(name.substr(name.find_last_of('/') + 1));
    if (!run.operation)
      throw InputError(name + ": says nowhere which collective ran; give the file its name, such as all_reduce_perf.txt");
    if (run.ranks.empty()) throw InputError(name + ": has no \"# Rank 0 ... on HOST device 0\" lines: how many ranks ran is unknown");
    std::size_t ranks = 0, most = 0;
    for (const auto& [host, ids] : run.ranks) {
      ranks += ids.size();
      most = std::max(most, ids.size());
    }
    std::string kind(to_string(*run.operation));
    std::replace(kind.begin(), kind.end(), '-', '_');
    ImportJson row{{"kind", kind}, {"bytes", *number(cells[0])}, {"ranks", ranks}};
    if (run.ranks.size() > 1) row["ranks_per_node"] = most;
    row["t_s"] = *seconds * microsecond;
    out.sample(row);
    ++rows;
  }
  if (rows == 0) throw InputError(name + ": holds no row of nccl-tests");
  // Calls follow each other without a wait: the host's part is hidden.
  ImportJson header{{"kind", "device"}};
  if (!device.empty()) header["name"] = device;
  if (!library.empty()) header["nccl"] = library;
  header["timer"] = "loop";
  header["source"] = "nccl-tests";
  out.header(std::move(header));
}

}  // namespace napkin::fit
