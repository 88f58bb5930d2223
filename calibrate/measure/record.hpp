// The file of samples: JSON lines, the first describes the machine, then one line a case as soon as it is measured.
#pragma once

#include <cstdio>
#include <memory>
#include <set>
#include <string>

#include "calibrate/measure/case.hpp"
#include "calibrate/measure/statistics.hpp"

namespace napkin::measure {

// What a bench returns: seconds a sample in the order taken, and what else is worth a field.
struct Outcome {
  std::vector<double> seconds;
  Json more = Json::object();
};

// {shape..., group, t_s, t_min, t_p90, iters, spread, more..., case, samples_s[]}; samples rounded to a tenth of a
// nanosecond. logic_error when `more` holds a member of the shape.
[[nodiscard]] Json record(const Case& c, const Outcome& o);
// {kind: "skipped", group, case, reason}: the machine cannot run it.
[[nodiscard]] Json skipped(const Case& c, const std::string& reason);
// {kind: "failed", group, case, reason}: it went wrong; a resumed run does not try again.
[[nodiscard]] Json failed(const Case& c, const std::string& reason);
// The key of the case that a line settles; "" for other lines (header, skipped, end).
[[nodiscard]] std::string recorded_key(const Json& line);

class RecordFile {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::string path_;
  std::set<std::string> done_;
  Json usual_ = Json::object();  // the header's "rows"

  [[nodiscard]] Json shortened(Json line) const;

 public:
  // Starts a new file, or with `resume` reads what an earlier run wrote and goes on after it; a line cut short is
  // removed. InputError when the file exists and is not to be resumed, when it cannot be read or written, or when its
  // header names another machine.
  RecordFile(const std::string& path, const Json& header, bool resume);
  [[nodiscard]] bool has(const Case& c) const { return done_.contains(c.key()); }
  [[nodiscard]] std::size_t done() const { return done_.size(); }
  // Writes and flushes one line; a measured case without the members that the header's "rows" gives for all. InputError when the disk does not take it.
  void append(const Json& line);
};

}  // namespace napkin::measure
