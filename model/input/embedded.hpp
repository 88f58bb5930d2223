// Files compiled into the binary by cmake/Embed.cmake.
#pragma once

#include <span>
#include <string_view>

namespace napkin::embedded {

struct File {
  std::string_view name;  // file name without its last suffix
  std::string_view text;
};

std::span<const File> hardware_catalog();   // hardware/catalog/*.json
std::span<const File> collective_tunings(); // hardware/tuning/*.json
std::span<const File> model_presets();      // model/transformer/presets/*.json
std::span<const File> framework_profiles(); // model/frameworks/*.json
std::span<const File> launch_targets();     // model/frameworks/launch/*.json
std::span<const File> own_measurements();   // tests/own/*.jsonl
std::span<const File> published_runs();     // tests/published/runs/*.jsonl
std::span<const File> fitted_ledger();      // model/validation/ledger.json
std::span<const File> residual_classes();   // model/run/residuals.json

std::span<const File> question_bank();      // examples/questions/*.json

}  // namespace napkin::embedded
