// A plot of characters, for a terminal.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace napkin::cli {

struct Plot {
  std::string x_title, y_title;
  std::vector<double> x;           // strictly increasing; empty: `words` are the points
  std::vector<std::string> words;  // of each point
  struct Series {
    std::string name;
    std::vector<std::optional<double>> y;  // not negative; none = not plotted
  };
  std::vector<Series> series;
};

// Numbers: points over logarithmic axes where values span enough (x: 8 times, y: 8 times; all positive), joined by
// dots. Words: a bar for each. Empty when nothing has a value.
[[nodiscard]] std::string draw(const Plot& plot);

}  // namespace napkin::cli
