// Why a run is out of memory, as tables and as JSON (keys: docs/json.md).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/table.hpp"
#include "model/run/run.hpp"
#include "model/search/fixes.hpp"
#include "model/search/search.hpp"
#include "model/step/prediction.hpp"
#include "model/validation/oom_message_input.hpp"

namespace napkin::cli {

// The layout's side of the answer.
struct OomLayout {
  Run run;
  Prediction<Plain> prediction;
  std::size_t fullest = 0;          // of prediction.stages
  Bytes capacity{};                 // the message's, or the catalog's
  Bytes unexplained{};              // what the message's need exceeds the prediction by
  double margin = 0;
  std::vector<Fix> fixes;
  std::optional<RankedLayout> best;  // of the search over every layout
};
struct OomAnswer {
  std::optional<validation::OomMessage> message;
  std::optional<OomLayout> layout;
};

[[nodiscard]] std::string why_oom_text(const OomAnswer& a, OutputFormat format);
[[nodiscard]] nlohmann::ordered_json why_oom_json(const OomAnswer& a);

}  // namespace napkin::cli
