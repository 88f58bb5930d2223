// The constants a job's prediction rests on, by path, and the job with some of them scaled.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/step/layout.hpp"

namespace napkin {

struct ConstantInfo {
  std::string path;   // "/memory/bandwidth"; of the communication library "/library/ring/simple/hop", of the profile
                      // "/framework/host/step"
  std::string label;  // the same with a tier's name for its number: "/network/nvlink/bandwidth"
  Dim dim;
  double si = 0;                         // value
  std::shared_ptr<const Source> source;  // may be null
  std::string place;                     // file and member
};

// In the order of hardware/constants.hpp, the library behind the machine, the profile last.
[[nodiscard]] std::vector<ConstantInfo> constants_of(const Job& job);

// Those that `pattern` names. Its words, between '.' or '/', stand in a path in this order; the first stands first, and
// the last stands last or is a group of one kind ("peak": a rate for each format). "network.bandwidth" is the bandwidth
// of every tier, "network.nvlink.bandwidth" of one. Empty when there is none.
[[nodiscard]] std::vector<ConstantInfo> constants_named(const Job& job, std::string_view pattern);

// What a constant can be at most and at least: a share of a peak, of a window or of a time is no more than all of it.
struct Bounds {
  double least, most;
};
[[nodiscard]] Bounds bounds_of(std::string_view path, Dim dim);

struct Scaling {
  std::string path;  // as in ConstantInfo
  double factor = 1;
};

// A job whose machine, library and profile are copies with some constants multiplied. The model is shared.
class ScaledJob {
 public:
  // A path that the job does not have changes nothing. InputError where a factor takes a constant out of its bounds.
  ScaledJob(const Job& job, std::span<const Scaling> by);
  ScaledJob(const ScaledJob&) = delete;
  ScaledJob& operator=(const ScaledJob&) = delete;
  [[nodiscard]] const Job& job() const { return job_; }
  [[nodiscard]] std::shared_ptr<const Hardware> hardware() const { return hardware_; }
  [[nodiscard]] std::shared_ptr<const Profile> profile() const { return profile_; }

 private:
  Job job_;
  std::shared_ptr<const Hardware> hardware_;
  std::shared_ptr<const Profile> profile_;
};

}  // namespace napkin
