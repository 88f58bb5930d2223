// What a sweep runs over: axes, the request at each point, and what a point comes to.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/run_flags.hpp"
#include "cli/space_flags.hpp"
#include "cli/sweep_axis.hpp"
#include "model/search/search.hpp"
#include "model/step/constants.hpp"

namespace napkin::cli {

struct Study {
  RunRequest base;           // a run record's, or empty
  std::string layout_words;  // "tp8 pp4 ...": the layout at every point
  SpaceFlags space;
  double margin = 1 - fits_below;
  bool fixed = false;           // one layout; false: the best at each point
  std::vector<SweepAxis> axes;  // also those with one value; x first

  [[nodiscard]] std::size_t points() const;  // InputError above max_values
  // The position on each axis; the last axis varies fastest.
  [[nodiscard]] std::vector<std::size_t> position(std::size_t point) const;
  // The axes with more than one value, by index.
  [[nodiscard]] std::vector<std::size_t> swept() const;
};

// An option of the sweep that takes a list of values.
struct SweepOption {
  const char* flag;  // without dashes
  SweepAxis::Of of;
  AxisKind kind;
  const char* help;
};
[[nodiscard]] const std::vector<SweepOption>& sweep_options();

// InputError where a flag and the words of --layout say different things of one axis.
void check_layout_axes(const Study& study);

// A point resolved. `words` instead of the study's layout where it is not empty.
struct PointJob {
  RunRequest request;
  Run run;
  Space space;
  std::vector<Scaling> scaled;
};
// InputError where the point is not valid.
[[nodiscard]] PointJob resolve_point(const Study& study, std::size_t point, const std::string& words = {});

// One point as JSON (docs/json.md, sweep: points[]). Never throws InputError: an invalid point says why.
[[nodiscard]] nlohmann::ordered_json evaluate_point(const Study& study, std::size_t point, const Executor& executor);
// The point under another layout.
[[nodiscard]] nlohmann::ordered_json evaluate_layout(const Study& study, std::size_t point, const std::string& words);

}  // namespace napkin::cli
